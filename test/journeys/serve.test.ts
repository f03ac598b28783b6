import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pithHere } from './pith-here.ts';
import { linesOf, putFiles, runPith, startPith, type Folder, type PithProcess } from './pith-process.ts';
import { bare, extensionFiles } from './sandbox-files.ts';
import { freePort, ownFolder } from './until-test-ends.ts';
import { isAlive } from '../core/process/hosts.ts';
import { within } from '../waiting.ts';

let folder: Folder;

/** A service inside the kernel that runs `body` as soon as it is started; `{}` is granted nothing. */
const service = (id: string, body: string) =>
  extensionFiles(id, { provides: ['service'], main: `export default class {\n  async runBackground(signal) { ${body} }\n}\n` });
const WAIT = 'await new Promise((resolve) => signal.addEventListener("abort", resolve));';
const CRASH = '(await import("node:child_process")).execFileSync("kill", ["-SEGV", String(process.pid)]);';

/** `pith serve`, until the test ends. */
function serve(env: Readonly<Record<string, string>> = {}, ...more: readonly string[]): PithProcess {
  const serving = startPith(['serve', ...(more.length === 0 ? ['--json'] : more)], { cwd: folder.path, env, input: null });
  onTestFinished(async () => {
    serving.child.kill('SIGKILL');
    await serving.ended;
  });
  return serving;
}

/** What it has said on the error stream until now. */
function errorsOf({ child }: PithProcess): () => string {
  let said = '';
  child.stderr.on('data', (text) => (said += String(text)));
  return () => said;
}

type Started = { readonly pid: number; readonly quarantined: readonly string[] };
const starts = ({ out }: PithProcess) => linesOf(out().slice(0, out().lastIndexOf('\n') + 1)) as unknown as readonly Started[];

async function started(process: PithProcess, count = 1): Promise<Started> {
  await expect.poll(() => starts(process).length).toBeGreaterThanOrEqual(count);
  return starts(process)[count - 1]!;
}

const log = () => readFile(path.join(folder.sandbox, 'data', 'logs', 'pith.log'), 'utf8');

describe('pith serve', () => {
  it('K21 starts a kernel that died again; use.md 3 says what an edit left wrong when it comes, once; B9 SIGTERM ends the kernel and its supervisor', async () => {
    folder = await ownFolder(bare(['skill_registry']));
    const supervisor = serve();
    const errors = errorsOf(supervisor);
    const { pid } = await started(supervisor);
    expect(pid).not.toBe(supervisor.child.pid);
    await putFiles(folder.sandbox, bare(['skill_registry'], { skills: { disabled: ['debuging'] } }));
    const line = "pith: skills.disabled names 'debuging', which no source has; it counts as 'debugging'; correct the id or remove it\n";
    await expect.poll(errors).toBe(line);
    process.kill(pid, 'SIGKILL');
    const next = await started(supervisor, 2);
    expect(next.pid).not.toBe(pid);
    supervisor.child.kill('SIGTERM');
    const ended = await within(10_000, supervisor.ended);
    expect(ended).toMatchObject({ code: 143, err: `${line}pith: the kernel crashed: ended by SIGKILL; it starts again\n${line}` });
    for (const kernel of [pid, next.pid]) expect(isAlive(kernel)).toBe(false);
  });

  it('says where it listens; where it cannot listen it says why once, and ends with exit code 1', async () => {
    folder = await ownFolder(bare(['http']));
    const first = serve({}, '--port', '0');
    await expect
      .poll(() => first.out())
      .toMatch(/^http: Listening on http:\/\/127\.0\.0\.1:\d+; to call it, make a token: pith tokens new$/mu);
    const [, port = ''] = /127\.0\.0\.1:(\d+)/u.exec(first.out()) ?? [];
    const refused = async (...words: readonly string[]) => {
      const { code, out, err } = await within(30_000, serve({}, ...words).ended);
      expect([code, out]).toEqual([1, '']);
      return err;
    };
    expect(await refused('--port', port)).toMatch(
      /^pith: [^\n]*'http' cannot run: port \d+ of 127\.0\.0\.1 is taken; .*another port with --port N\n$/u,
    );
    expect(await refused('--host', '127.0.0.1', '--port', port, '--quiet')).toContain('is taken');
  });

  it('T2 says once that nobody has trusted its sandbox, though two processes open it', async () => {
    folder = await ownFolder(bare(['http']));
    const supervisor = serve({ PITH_TRUST: '' });
    const errors = errorsOf(supervisor);
    await started(supervisor);
    expect(errors().match(/pith: restricted /gu)).toHaveLength(1);
  });

  it('W1 a kernel that starts again where the port was taken meanwhile is tried again, and listens once it is free', async () => {
    const port = await freePort();
    folder = await ownFolder(bare(['http']));
    const supervisor = serve({}, '--json', '--port', String(port));
    const errors = errorsOf(supervisor);
    const health = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    const { pid } = await started(supervisor);
    await expect.poll(health).toBe(true);
    supervisor.child.kill('SIGSTOP'); // it starts no kernel before the port is taken
    process.kill(pid, 'SIGKILL');
    const other = createServer();
    onTestFinished(() => void other.close());
    const take = () =>
      new Promise((resolve) => {
        other.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
      });
    await expect.poll(take).toBe(true);
    supervisor.child.kill('SIGCONT');
    await expect.poll(errors).toContain('pith: the kernel could not start: exit code 1; it starts again');
    other.close();
    await expect.poll(health).toBe(true);
    expect(supervisor.child.exitCode).toBeNull();
  });

  it('W2 W3 other machines reach it only once somebody has a token, which commands make and revoke while it serves', async () => {
    folder = await ownFolder(bare(['http']));
    const wide = ['--host', '0.0.0.0', '--port', '0'];
    const refused = serve({}, ...wide);
    const { code, err } = await within(30_000, refused.ended);
    expect(err).toContain("'http' cannot run: other machines reach 0.0.0.0, and nobody has a token yet; make one first: pith tokens new");
    expect(code).toBe(1);
    expect(refused.out()).not.toContain('Listening');
    const pith = (...words: readonly string[]) => runPith([...words, '--json'], { cwd: folder.path });
    const { token, id } = JSON.parse((await pith('tokens', 'new', '--user', 'ada')).out) as { readonly token: string; readonly id: string };
    const nowhere = await within(30_000, serve({}, '--host', '192.0.2.1').ended);
    expect(nowhere).toMatchObject({
      code: 1,
      err: expect.stringMatching(/cannot listen on 192\.0\.2\.1, port \d+: EADDRNOTAVAIL; .*--host ADDRESS\n$/u),
    });
    const serving = serve({}, ...wide);
    await expect
      .poll(() => serving.out())
      .toMatch(/^http: Listening on http:\/\/0\.0\.0\.0:\d+, which other machines reach, unencrypted; /mu);
    const [, port = ''] = /0\.0\.0\.0:(\d+)/u.exec(serving.out()) ?? [];
    const signIn = () =>
      fetch(`http://127.0.0.1:${port}/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      });
    expect((await signIn()).status).toBe(200);
    expect(JSON.parse((await pith('tokens', 'revoke', id)).out)).toEqual({ revoked: id });
    expect((await signIn()).status).toBe(401);
    expect(await log()).not.toContain(token);
  });

  it('K21 B9: SIGTERM ends it at once also while an extension does not come to start', async () => {
    const hanging = "initialize() { fs.writeFileSync('began', ''); return new Promise(() => {}); }";
    const main = `import fs from 'node:fs';\nexport default class { ${hanging} async runBackground() {} }\n`;
    folder = await ownFolder({ ...bare(), ...extensionFiles('hang', { provides: ['service'], main }) });
    const supervisor = serve();
    await expect.poll(() => existsSync(path.join(folder.sandbox, 'data/extensions/hang/began'))).toBe(true);
    supervisor.child.kill('SIGTERM');
    expect(await within(5000, supervisor.ended)).toMatchObject({ code: 143, out: '' });
  });

  it('K21 counts it when a kernel cannot start again, goes on when it can, and tries a database that cannot be opened any more again; blames nobody', async () => {
    folder = await ownFolder({ ...bare(), ...service('innocent', WAIT) });
    const supervisor = serve({ PITH_SANDBOX: folder.sandbox });
    const errors = errorsOf(supervisor);
    const { pid } = await started(supervisor);
    const away = `${folder.sandbox}.away`;
    await rename(folder.sandbox, away);
    process.kill(pid, 'SIGKILL');
    await expect.poll(errors).toContain('pith: the kernel could not start');
    await rename(away, folder.sandbox);
    const next = await started(supervisor, 2);
    expect(next.pid).not.toBe(pid);
    const file = path.join(folder.sandbox, 'data', 'pith.db');
    process.kill(next.pid, 'SIGSTOP');
    for (const name of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(name)) await rename(name, `${name}.away`);
    await writeFile(file, 'garbage'.repeat(1000));
    process.kill(next.pid, 'SIGKILL');
    const { code, err } = await within(40_000, supervisor.ended);
    expect(code).toBe(1);
    expect(err).toContain('pith: the kernel could not start: exit code 1; it starts again\n');
    expect(err).toMatch(
      /pith: the kernel could not start 5 times in 5 minutes: exit code 1; correct the error above, then start again: pith serve\n$/u,
    );
    expect(existsSync(path.join(folder.sandbox, 'data', 'quarantine.json'))).toBe(false);
  });

  it('K21 a database that cannot be opened is no extension that is to blame, and says so at once', async () => {
    folder = await ownFolder({ ...bare(), ...service('innocent', WAIT), 'data/pith.db': 'garbage'.repeat(1000) });
    const { code, err } = await within(30_000, serve().ended);
    expect(code).toBe(1);
    expect(err).toMatch(/^pith: database .*pith\.db: it is damaged [^\n]*\n$/u);
    expect(existsSync(path.join(folder.sandbox, 'data', 'quarantine.json'))).toBe(false);
  });

  it('K21 goes on, and says it once, where what it leaves out cannot be kept', async () => {
    folder = await ownFolder({ ...bare(['crasher']), ...service('crasher', CRASH) });
    const supervisor = serve();
    const errors = errorsOf(supervisor);
    await expect.poll(errors).toContain('the kernel crashed');
    await mkdir(path.join(folder.sandbox, 'data', 'quarantine.json'));
    const unkept = "it starts with 'crasher' again, which could not be left out: ";
    await expect.poll(errors).toContain(unkept);
    await expect.poll(() => errors().slice(errors().indexOf(unkept))).toContain('it starts again');
    expect(supervisor.child.exitCode).toBeNull();
    expect(errors().split(unkept)).toHaveLength(2);
  });

  it('K21 a restart that is asked for is no crash; a kernel that answers no more is started again; after five crashes it starts without the newest changed extension and names it, until that is reloaded; kill -9 of the supervisor leaves no kernel behind', async () => {
    // Asks for a restart, then stands still, then stays.
    const main = `
import { appendFileSync, readFileSync } from 'node:fs';
import { CommandProvider } from 'pith';
import { captureCommand } from '@pith/command-line';
export default class {
  constructor(context) { this.context = context; }
  async runBackground(signal) {
    const runs = this.context.dataDirectory + '/runs';
    appendFileSync(runs, '.');
    const run = readFileSync(runs, 'utf8').length;
    const kernel = this.context.find(CommandProvider).find(({ extensionId }) => extensionId === 'kernel');
    if (run === 1) await captureCommand(kernel, 'restart', { arguments: { reason: ['new', 'native', 'module'] } }, signal);
    if (run === 2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    ${WAIT}
  }
}
`;
    folder = await ownFolder({ ...bare(['steady']), ...extensionFiles('steady', { provides: ['service'], main }) });
    const first = serve({ PITH_SERVE_SILENCE_MS: '4000', PITH_SERVE_HEALTHY_MS: '200' });
    const asked = await started(first);
    const last = await started(first, 2); // the one between stood still before it said so
    expect(last.pid).not.toBe(asked.pid);
    expect(last.quarantined).toEqual([]);
    await expect.poll(() => readFile(path.join(folder.sandbox, 'data', 'last-good.json'), 'utf8').catch(() => '')).toContain('steady');
    first.child.kill('SIGTERM');
    expect(await first.ended).toMatchObject({
      code: 143,
      err: 'Restarting the kernel: new native module\npith: the kernel crashed: it stopped answering; it starts again\n',
    });

    await putFiles(folder.sandbox, { ...bare(['crasher', 'steady']), ...service('crasher', CRASH) });
    const supervisor = serve();
    await expect.poll(() => starts(supervisor).some(({ quarantined }) => quarantined.length > 0)).toBe(true);
    expect(starts(supervisor).at(-1)!.quarantined).toEqual(['crasher']);
    await expect.poll(log).toContain('crasher was not started');
    const { out, code } = await pithHere(['doctor', '--json'], { cwd: folder.path });
    expect(code).toBe(1);
    const report = JSON.parse(out) as { extensions: { id: string; state: string; code?: string; cure?: string }[] };
    expect(report.extensions.find(({ id }) => id === 'crasher')).toMatchObject({ state: 'failed', code: 'quarantined' });
    expect(report.extensions.find(({ id }) => id === 'crasher')?.cure).toContain('pith extensions reload crasher');
    expect(report.extensions.find(({ id }) => id === 'steady')).toMatchObject({ state: 'active' });

    const { pid } = starts(supervisor).at(-1)!;
    supervisor.child.kill('SIGKILL');
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect((await supervisor.ended).err).toMatch(
      /crashed 5 times in 5 minutes.*'crasher', the newest changed extension; edit it, or run: pith extensions reload crasher/u,
    );
  }, 120_000);
});
