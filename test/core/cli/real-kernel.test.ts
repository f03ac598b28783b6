import { cp, mkdir, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { shippedSandbox } from 'pith';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openKernel } from '../../../core/cli/open-kernel.ts';
import { cli } from './fakes.ts';

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-kernel-')));
  await cli(['init'], { cwd: folder });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const run = (...argv: string[]) => cli(argv, { cwd: folder, openKernel });

describe('a new sandbox with the real kernel', () => {
  it('has its own agent as the default, and the commands of the extensions that ship', async () => {
    const agents = await run('agents', 'list', '--json');
    expect(agents).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(agents.out)).toContainEqual(expect.objectContaining({ id: 'assistant', state: 'active', default: true }));
    expect((await run('--help')).out).toMatch(/^ {2}chat {2,}Talk to an agent/mu);
  });

  it('calls the tool of its own extension as its agent would', async () => {
    expect(await run('tools', 'call', 'hello', '--input', '{"name":"Ada"}', '--json')).toEqual({
      code: 0,
      out: '{"ok":true,"output":"Hello, Ada! Welcome to Pith."}\n',
      err: '',
    });
    expect(await run('tools', 'call', 'helo', '--json')).toMatchObject({ code: 1, out: expect.stringContaining('"code":"tool_unknown"') });
  });

  it('K7 reads relative paths of the environment from where it was called', async () => {
    const at = (file: string) => path.join(folder, 'state', file);
    const called = (...argv: string[]) => cli(argv, { cwd: folder, openKernel, env: { PITH_DATA_DIR: 'state' } });
    await called('skills', 'list');
    await expect(stat(at('.cache/index.json'))).resolves.toBeTruthy();
    await rm(at(''), { recursive: true });
    await called('agents', 'list');
    await expect(stat(at('.cache/index.json'))).resolves.toBeTruthy();
  });

  it('says that the extension of a command is switched off', async () => {
    await writeFile(path.join(folder, 'sandbox/pith.yaml'), 'default_agent: assistant\nextensions:\n  cli_channel: { enabled: false }\n');
    expect(await run('chat')).toMatchObject({
      code: 2,
      err: expect.stringContaining("no command 'chat': its extension 'cli_channel' is switched off"),
    });
  });

  it('names the extension of a command that throws', async () => {
    const at = (file: string) => path.join(folder, 'sandbox/extensions/teller', file);
    await mkdir(at(''), { recursive: true });
    await writeFile(
      at('manifest.yaml'),
      'id: teller\nname: T\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [command]\ncommands:\n  - { path: tell, needs: initialized, description: Tells }\n',
    );
    await writeFile(
      at('main.ts'),
      "export default class {\n  getCommands() {\n    return [{ path: 'tell', description: 'Tells', run: async () => { throw new TypeError('boom'); } }];\n  }\n}\n",
    );
    const { code, err } = await run('tell');
    expect(code).toBe(1);
    expect(err).toMatch(/^pith: the command 'tell' of the extension 'teller' failed(?: in \S*teller\/main\.ts:3)?: boom; /u);
    await writeFile(at('main.ts'), "export default class {\n  getCommands() {\n    throw new TypeError('boom');\n  }\n}\n");
    expect((await run('tell')).err).toMatch(/^pith: the commands of the extension 'teller' failed.*: boom; /u);
  });

  it('lists its skill', async () => {
    const ran = await cli(['skills', 'list', '--json'], {
      cwd: folder,
      openKernel,
    });
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(ran.out)).toContainEqual(expect.objectContaining({ id: 'hello', state: 'offered', source: 'sandbox/skills' }));
  });

  it('S10 lists what ships also when the registry is a copy in the sandbox', async () => {
    await cp(path.join(shippedSandbox(), 'extensions/skill_registry'), path.join(folder, 'sandbox/extensions/skill_registry'), {
      recursive: true,
    });
    const ran = await run('skills', 'list', '--json');
    expect(ran).toMatchObject({ code: 0, err: '' });
    const ids = (JSON.parse(ran.out) as { id: string }[]).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['extension-development', 'hello']));
  });

  it('S82 explains a skill for an agent wherever the settings let it be found', async () => {
    await mkdir(path.join(folder, 'team/scout'), { recursive: true });
    await writeFile(path.join(folder, 'team/scout/AGENT.md'), '---\nname: scout\nallow_skills: false\n---\nYou scout.\n');
    await mkdir(path.join(folder, 'sandbox/agents/broken'));
    await writeFile(path.join(folder, 'sandbox/agents/broken/manifest.yaml'), 'id: broken\nagnet: {}\n');
    const explain = (agent: string) =>
      cli(['skills', 'explain', 'hello', '--agent', agent, '--json'], {
        cwd: folder,
        env: { PITH_AGENTS_PATHS: path.join(folder, 'team') },
        openKernel,
      });
    const scout = await explain('scout');
    expect(scout).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(scout.out)).toMatchObject({
      catalog: { agent: 'scout', offered: false, why: expect.stringContaining('skills.mode') },
    });
    expect((await explain('assistant')).out).toContain('"offered":true');
    expect((await explain('broken')).err).toMatch(/^pith: the agent 'broken' cannot run \S+manifest\.yaml:2: unknown key 'agnet'/u); // N15: with the reason
  });

  it('chats offline', async () => {
    const ran = await cli(['chat', '-p', 'greet Ada', '--json'], { cwd: folder, openKernel, env: {} });
    expect(ran.code).toBe(0);
    const events = ran.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; agent?: string; reason?: string });
    expect(events[0]).toMatchObject({ type: 'turn-start', agent: 'assistant' });
    expect(events.at(-1)).toMatchObject({ type: 'turn-end', reason: 'done' });
  });
});
