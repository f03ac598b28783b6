import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKernel, readSandbox } from '../../../core/compose/index.ts';
import { folderWith } from '../../places.ts';
import { extension } from '../declarations/sandbox-folder.ts';

interface Given {
  readonly yaml?: string;
  readonly home?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: { readonly data_dir: string };
}

/** A sandbox in a folder with a home, and from where in that folder things are asked. */
function given({ yaml = '', home = '', env = {}, flags }: Given = {}) {
  const root = folderWith({ 'sandbox/pith.yaml': yaml, 'home/.pith/config.yaml': home, 'here/.keep': '', ...sandboxed(extension('one')) });
  return {
    root,
    sandbox: path.join(root, 'sandbox'),
    home: path.join(root, 'home'),
    env,
    flags,
    workingDirectory: path.join(root, 'here'),
  };
}

describe('what ships, where only some of it is asked for', () => {
  it.each<[readonly string[], readonly string[]]>([
    [[], ['one']],
    [['skill_webhooks'], ['http', 'one', 'saved_skills', 'skill_registry', 'skill_webhooks']],
  ])('of %j and what the sandbox has: %j', async (only, there) => {
    const { sandbox, env, home } = given();
    const kernel = await createKernel({ accepts: true, sandbox, env, home, only });
    expect((await kernel.doctor()).extensions.map(({ id }) => id).sort()).toEqual(there);
    await kernel.stop();
  });

  it('a name that nothing has is refused', async () => {
    const { sandbox, env, home } = given();
    const made = createKernel({ accepts: true, sandbox, env, home, only: ['skill_registri'] });
    await expect(made).rejects.toThrow("extensions: nothing that ships is named 'skill_registri' (did you mean 'skill_registry'");
  });
});

describe('the data directory', () => {
  it.each<[string, Given, string]>([
    ['the default', {}, 'sandbox/data'],
    ['an empty variable', { env: { PITH_DATA_DIR: '' } }, 'sandbox/data'],
    ['a variable below the home folder', { env: { PITH_DATA_DIR: '~/d' } }, 'home/d'],
    ['a relative variable', { env: { PITH_DATA_DIR: 'd' } }, 'here/d'],
    ['the settings', { yaml: 'data_dir: state # here\n' }, 'sandbox/state'],
    ['the settings, in quotes', { yaml: 'default_agent: x\ndata_dir: "the state"\n' }, 'sandbox/the state'],
    ['the settings, as nobody writes it', { yaml: '? data_dir\n: &x >-\n  state\n' }, 'sandbox/state'],
    ['a comment', { yaml: '# data_dir: state\nskills:\n  data_dir: x\n' }, 'sandbox/data'],
    ["the user's settings", { home: 'data_dir: ~/mine\n' }, 'home/mine'],
    ['the settings above those of the user', { home: 'data_dir: mine\n', yaml: 'data_dir: state\n' }, 'sandbox/state'],
    ['a flag above all', { yaml: 'data_dir: state\n', env: { PITH_DATA_DIR: '/x' }, flags: { data_dir: 'flagged' } }, 'here/flagged'],
  ])('K7 holds the index too, by one rule: %s', async (_name, what, expected) => {
    const options = { ...given(what), accepts: true };
    const { settings, index } = await readSandbox({ ...options, accepts: true });
    expect(path.relative(options.root, settings.data_dir)).toBe(expected);
    expect(path.relative(options.root, index.file)).toBe(`${expected}/.cache/index.json`);
  });

  it('K7 takes all that a kernel and a command without one write', async () => {
    const { root, sandbox, home, env } = given({ yaml: 'data_dir: state\n' });
    const kernel = await createKernel({ accepts: true, sandbox, env, home, only: [] });
    await kernel.host.extensions.activateAll();
    await kernel.stop();
    const quiet = await createKernel({ accepts: true, sandbox, env, home, only: [] });
    quiet.host.providers.commands.contextOf('one').logger.info('here');
    await quiet.stop();
    expect(fs.readdirSync(path.join(root, 'sandbox')).sort()).toEqual(['extensions', 'pith.yaml', 'state']);
    expect(fs.readFileSync(path.join(sandbox, 'state/.cache/index.json'), 'utf8')).toContain('extensions/one');
  });
});

describe('a kernel that nothing was asked of', () => {
  it('K2 names the commands of manifests: none of what is switched off, broken or blocked', async () => {
    const { sandbox, env } = given({ yaml: 'extensions: { off: { enabled: false } }\n' });
    const declare = (id: string, more: string) => {
      const directory = path.join(sandbox, 'extensions', id);
      fs.mkdirSync(directory);
      fs.writeFileSync(path.join(directory, 'main.ts'), 'export default class {}\n');
      const declared = `id: ${id}\nentrypoint: main.ts\nprovides: [command]\ncommands: [{ path: ${id} }]\n${more}`;
      fs.writeFileSync(path.join(directory, 'manifest.yaml'), declared);
    };
    declare('well', '');
    declare('off', '');
    declare('broken', 'enabled: perhaps\n');
    declare('blocked', 'depends_on: [off]\n');
    declare('further', 'depends_on: [blocked]\n');
    const kernel = await createKernel({ accepts: true, sandbox, env });
    const commands = kernel.host.providers.commands.declared();
    expect(commands.map(({ path: words }) => words)).toEqual(expect.arrayContaining(['well', 'skills', 'chat']));
    for (const id of ['off', 'broken', 'blocked', 'further']) expect(commands.map(({ extensionId }) => extensionId)).not.toContain(id);
    expect(kernel.host.extensions.show('further')).toMatchObject({ state: 'blocked' });
    await kernel.stop();
  });

  it('K62 logs as much as PITH_LOG says', async () => {
    const { sandbox } = given();
    const kernel = await createKernel({ accepts: true, sandbox, env: { PITH_LOG: 'debug' } });
    kernel.host.providers.commands.contextOf('one').logger.debug('a detail');
    await kernel.stop();
    expect(fs.readFileSync(path.join(sandbox, 'data/logs/pith.log'), 'utf8')).toContain('a detail');
  });
});

function sandboxed(files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([file, text]) => [`sandbox/${file}`, text]));
}
