import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openKernel } from '../../../core/cli/index.ts';
import { openTrustFile } from '../../../core/trust/index.ts';
import { cli } from '../cli/fakes.ts';
import { folderWith, writeFiles } from '../../places.ts';

let root: string;
let home: string;
let project: string;
let sandbox: string;

beforeEach(() => {
  root = folderWith({ 'home/.keep': '', 'project/.keep': '' });
  [home, project] = [path.join(root, 'home'), path.join(root, 'project')];
  sandbox = path.join(project, 'sandbox');
  vi.stubEnv('HOME', home);
});
afterEach(() => void vi.unstubAllEnvs());

interface More {
  readonly env?: Readonly<Record<string, string>>;
  readonly terminal?: boolean;
  readonly input?: string;
}
const run = (argv: readonly string[], { env = {}, ...more }: More = {}) =>
  cli(argv, { cwd: project, openKernel, input: '', ...more, env: { PITH_TRUST: '0', ...env } });
const recorded = () => openTrustFile(home).read();

/** An extension whose tool tells whether it is given a key. */
function dropIn(): void {
  writeFiles(path.join(sandbox, 'extensions/peeker'), {
    'manifest.yaml': 'id: peeker\nentrypoint: main.ts\nprovides: [tool]\nsecrets: [CITY_KEY]\npermissions: { network: true }\n',
    'main.ts': `import { defineTool, z } from 'pith';
    export default class {
      constructor(context) { this.context = context; }
      getTools() {
        const execute = () => this.context.getSecret('CITY_KEY');
        return [defineTool({ name: 'peek', description: 'Peeks.', input: z.object({}), effect: 'read', execute: () => execute()?.length ?? null })];
      }
    }`,
  });
}
const asks = async () => {
  const { out } = await run(['extensions', 'show', 'peeker', '--json']);
  const { asks: all } = JSON.parse(out) as { asks: readonly { ask: string; withheld: boolean }[] };
  return all.filter(({ withheld }) => withheld).map(({ ask }) => ask);
};
const peeked = async () => JSON.parse((await run(['tools', 'call', 'peek', '--json'], { env: { CITY_KEY: 'canary-1234' } })).out);

describe('what a person decided', () => {
  it('T1: pith init records that what it makes is trusted, and only that', async () => {
    expect((await run(['init', '.'])).code).toBe(0);
    expect(recorded().sandboxes).toEqual({ [sandbox]: true });
    const listed = await run(['agents', 'list']);
    expect(listed.err).not.toContain('restricted');
    expect(listed.out).toContain('assistant');
  });

  it('T1 T10 A3: pith extensions allow gives what is asked for; --revoke takes it back, and pith untrust all of it', async () => {
    await run(['init', '.']);
    dropIn();
    expect(await asks()).toEqual(['network', 'secret CITY_KEY']);
    expect(await peeked()).toEqual({ ok: true, output: null });
    const unasked = await run(['extensions', 'allow', 'peeker']);
    expect(unasked).toMatchObject({ code: 2, err: expect.stringContaining('Pith cannot ask here') });
    expect(recorded().grants[sandbox]?.['peeker']).toBeUndefined();

    const allowed = await run(['extensions', 'allow', 'peeker', '--yes']);
    expect(allowed).toMatchObject({ code: 0, out: expect.stringContaining('the secret CITY_KEY') });
    expect(recorded().grants[sandbox]).toEqual({ peeker: ['network', 'secret CITY_KEY'] });
    expect(await asks()).toEqual([]);
    expect(await peeked()).toEqual({ ok: true, output: 'canary-1234'.length });

    expect(await run(['extensions', 'allow', 'peeker', '--revoke'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^peeker may no longer .*; .*CITY_KEY/u),
    });
    expect(recorded().grants[sandbox]).toEqual({});
    expect(await run(['extensions', 'allow', 'peekre', '--revoke'])).toMatchObject({
      code: 0,
      out: 'You had agreed to nothing for peekre\n',
    });
    expect(await asks()).toEqual(['network', 'secret CITY_KEY']);
    await run(['extensions', 'allow', 'peeker', '--yes']);
    renameSync(path.join(sandbox, 'extensions/peeker'), path.join(home, 'peeker'));
    expect((await run(['extensions', 'allow', 'peeker', '--revoke'])).code).toBe(0); // of one that is gone, too
    renameSync(path.join(home, 'peeker'), path.join(sandbox, 'extensions/peeker'));
    expect(await asks()).toEqual(['network', 'secret CITY_KEY']);
    await run(['extensions', 'allow', 'peeker', '--yes']);
    expect((await run(['untrust'])).code).toBe(0);
    expect(recorded()).toMatchObject({ sandboxes: { [sandbox]: false }, grants: {} });
    expect(await run(['extensions', 'allow', 'peeker', '--yes'])).toMatchObject({ code: 1 });
    expect(recorded().grants).toEqual({});
    expect((await run(['trust', '--list', '--json'])).out).toBe(`${JSON.stringify([{ sandbox, trusted: false, extensions: {} }])}\n`);
  }, 120_000);

  it('T1 T2: a damaged trust.json trusts nothing, is said, asks nobody, and is not written over', async () => {
    await run(['init', '.']);
    const file = path.join(home, '.pith/trust.json');
    for (const damaged of [`{"sandboxes":{${JSON.stringify(sandbox)}:true}`, '[]', '']) {
      writeFileSync(file, damaged, { mode: 0o600 });
      const ran = await run(['agents', 'list'], { terminal: true, input: 'yes\n' });
      expect(ran.err).toContain('restricted');
      expect(ran.err).toContain(`${file} cannot be read`);
      expect(ran.out).not.toContain('assistant');
      expect(ran.out).not.toContain('Do you trust it?');
      for (const argv of [['trust', '--yes'], ['untrust']])
        expect(await run(argv)).toMatchObject({ code: 1, err: expect.stringContaining('nothing was recorded') });
      expect(await run(['trust', '--list'])).toMatchObject({ code: 1, err: expect.stringContaining('correct it') });
      expect(readFileSync(file, 'utf8')).toBe(damaged);
    }
  }, 120_000);

  it.each([
    ['extensions', 'new', 'mine'],
    ['extensions', 'rollback', 'mine'],
    ['agents', 'new', 'mine'],
    ['skills', 'install', '../elsewhere', '--yes'],
    ['skills', 'new', 'mine'],
    ['skills', 'remove', 'hello', '--yes'],
    ['skills', 'trust', 'sandbox/skills'],
    ['skills', 'update'],
  ])('T2: a command that would change a restricted sandbox is refused: %s %s', async (...argv) => {
    await run(['init', '.']);
    await run(['untrust']);
    const ran = await run(argv);
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(new RegExp(`'${argv[0]} ${argv[1]}' .*sandbox.*pith trust`));
    expect(ran.err).toContain(sandbox);
    expect(existsSync(path.join(sandbox, argv[0] as string, 'mine'))).toBe(false);
  });

  it('T6: state that cannot be marked as the user’s is not begun: fresh state is used, and is the same the next time', async () => {
    await run(['init', '.']);
    writeFileSync(path.join(home, '.pith/states.json'), '{"ids":', { mode: 0o600 });
    expect(await run(['chat', '-p', 'remember this'])).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^pith: started with fresh state: .* cannot be marked as yours; make it writable$/mu),
    });
    expect(existsSync(path.join(sandbox, 'data/pith.db'))).toBe(false);
    expect(JSON.parse((await run(['threads', 'list', '--json'])).out)).toHaveLength(1);
    const { notes } = JSON.parse((await run(['doctor', '--json'])).out);
    const unmarked = { code: 'trust_failed', message: expect.stringContaining('cannot be marked as yours') };
    expect(notes).toContainEqual(expect.objectContaining(unmarked));
    expect(readFileSync(path.join(home, '.pith/states.json'), 'utf8')).toBe('{"ids":');
  });
});
