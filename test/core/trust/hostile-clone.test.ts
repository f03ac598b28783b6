import { chownSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openKernel } from '../../../core/cli/index.ts';
import { hostileClone, type HostileClone } from '../../fixtures/hostile-clone.ts';
import { cli } from '../cli/fakes.ts';
import { words } from '../../words.ts';

let server: Server;
let requests: string[] = [];
let clone: HostileClone;

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());

beforeEach(() => {
  requests = [];
  clone = hostileClone(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  vi.stubEnv('HOME', clone.home);
});
afterEach(() => {
  vi.unstubAllEnvs();
  clone.remove();
});

const run = (cwd: string, argv: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  cli(argv, { cwd, openKernel, input: 'hello\n', env: { PITH_TRUST: '0', STORED_KEY: 'ghp_canary_stored', HOME: clone.home, ...more } });

/** Forty command lines, each as somebody types it who has just cloned something. */
const COMMANDS: readonly (readonly string[])[] = [
  ['skills', 'list'],
  ['skills', 'list', '--all', '--json'],
  ['skills', 'show', 'code-review'],
  ['skills', 'show', 'hello'],
  ['skills', 'search', 'greet'],
  ['skills', 'validate', 'code-review'],
  ['skills', 'lint', 'code-review'],
  ['skills', 'explain', 'code-review'],
  ['skills', 'stats'],
  ['skills', 'trust', 'sandbox/skills'],
  ['skills', 'install', '../outside', '--yes'],
  ['skills', 'new', 'mine'],
  ['skills', 'remove', 'hello', '--yes'],
  ['skills', 'update'],
  ['chat', '-p', 'hello'],
  ['chat', '-p', 'review my extension', '--json'],
  ['chat', '--agent', 'evil', '-p', 'hello'],
  ['chat', '--recipe', 'greet', '-p', 'x'],
  ['chat', '--lines'],
  ['doctor'],
  ['doctor', '--json'],
  ['agents', 'list'],
  ['agents', 'show', 'orchestrator'],
  ['agents', 'prompt', 'orchestrator', '--text', 'hi'],
  ['agents', 'new', 'mine'],
  ['tools', 'list'],
  ['tools', 'call', 'list_skills'],
  ['tools', 'call', 'file', '--input', '{"action":"list","path":"."}'],
  ['extensions', 'list'],
  ['extensions', 'show', 'skill_registry'],
  ['extensions', 'new', 'mine'],
  ['extensions', 'validate', 'evil'],
  ['extensions', 'reload', 'core_tools'],
  ['extensions', 'allow', 'skill_registry'],
  ['threads', 'list'],
  ['approvals'],
  ['recipes', 'list'],
  ['mcp', 'list'],
  ['secrets', 'list'],
  ['--help'],
];

describe('a hostile clone that nobody has trusted', () => {
  it('T1 T2 F2: forty commands run, write no canary, send nothing, change nothing outside, and say that it is restricted', async () => {
    expect(COMMANDS).toHaveLength(40);
    const before = clone.bytes();
    const places = [clone.project, clone.sandbox, clone.deep];
    for (const [index, argv] of COMMANDS.entries()) {
      const ran = await run(places[index % places.length] as string, argv);
      const said = `${argv.join(' ')}: ${ran.out}${ran.err}`;
      expect(ran.err, said).toContain(`pith: restricted ${clone.sandbox}`);
      expect([0, 1, 2], said).toContain(ran.code);
      const isLook = argv[0] === 'skills' && argv[1] === 'show'; // a person may look at what waits for them
      expect(said.includes('CLONED') && !isLook, said).toBe(false);
      expect(said).not.toContain('ghp_canary_stored');
    }
    expect(readdirSync(clone.canaries)).toEqual([]);
    expect(requests).toEqual([]);
    expect(clone.bytes()).toEqual(before);
  }, 180_000);

  it('T2 works for what ships, and lists its skills as untrusted', async () => {
    const listed = await run(clone.deep, ['skills', 'list', '--all', '--json']);
    const skills = JSON.parse(listed.out) as readonly { id: string; state: string; source: string }[];
    expect(skills).toContainEqual(expect.objectContaining({ id: 'code-review', state: 'offered' }));
    for (const id of ['hello', 'cloned']) expect(skills).toContainEqual(expect.objectContaining({ id, state: 'untrusted' }));
    const chat = await run(clone.project, ['chat', '-p', 'review my extension for best practices']);
    expect(chat).toMatchObject({ code: 0, out: expect.stringContaining('code-review') });
    const report = JSON.parse((await run(clone.project, ['doctor', '--json'])).out);
    expect(report.sandbox).toMatchObject({ path: clone.sandbox, trust: 'restricted' });
    expect(report.model.ref).toBe('offline/librarian');
  });

  it('T3 F15: one of another user is not even read, and --trust does not lift that', async ({ skip }) => {
    if (process.getuid?.() !== 0) skip('only root can give a folder to another user');
    chownSync(clone.sandbox, 1234, 1234);
    const ran = await run(clone.deep, ['skills', 'list', '--all', '--trust']);
    expect(ran.err).toContain('belongs to another user (1234)');
    expect(ran.out).not.toMatch(/^hello /m);
    expect((await run(clone.project, ['trust', '--yes'])).code).toBe(0);
    expect((await run(clone.project, ['agents', 'list'])).err).not.toContain('restricted');
  });

  it('T1 T6: pith trust shows what it will allow, and then it works; its state is not believed', async () => {
    const shown = await run(clone.project, ['trust']);
    expect(shown.code).toBe(2);
    for (const text of ['evil, which asks to', 'the secret STORED_KEY', 'the network', 'read ~/.ssh', 'sh -c touch', '/v1'])
      expect(shown.out).toContain(text);
    const settings = 'extensions_sandbox extensions.evil.isolation skills.scripts.sandbox skills.trusted_links';
    for (const text of words(`${settings} AGENTS.md .mcp.json .env .claude/skills`)) expect(shown.out).toContain(text);
    expect(readdirSync(clone.canaries)).toEqual([]);
    expect((await run(clone.project, ['trust', '--yes'])).code).toBe(0);
    const listed = await run(clone.deep, ['agents', 'list']);
    expect(listed.err).not.toContain('restricted');
    expect(listed.out).toContain('evil');
  });

  it('T1 a person at a terminal is asked once; no is kept, and pith untrust takes yes back', async () => {
    const ask = (answer: string) =>
      cli(['agents', 'list'], { cwd: clone.project, openKernel, terminal: true, input: `${answer}\n`, env: { PITH_TRUST: '0' } });
    const asked = await ask('no');
    expect(asked.out).toContain('Do you trust this folder?');
    expect(asked.err).toContain('restricted');
    const again = await ask('yes');
    expect(again.out).not.toContain('Do you trust this folder?');
    expect(again.err).toContain('restricted');
    await run(clone.project, ['trust', '--yes']);
    expect((await run(clone.project, ['trust', '--list'])).out).toContain(`trusted      ${clone.sandbox}`);
    await run(clone.project, ['untrust']);
    expect((await run(clone.project, ['agents', 'list'])).err).toContain('restricted');
  });
});
