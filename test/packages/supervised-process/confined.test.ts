import { chmod, open, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createConfinedPrograms, probeSandboxing, type ConfinedProgram } from '@pith/supervised-process';
import { runs } from '../../core/process/hosts.ts';
import { folderWith, onDisk, writeFiles } from '../../places.ts';
import { until } from '../../waiting.ts';
import { words } from '../../words.ts';

onDisk();

const isLinux = process.platform === 'linux';
const { available } = await probeSandboxing();
let folder: string;
beforeEach(() => void (folder = folderWith({ 'open/file.txt': 'seen', 'closed.txt': 'never seen' })));

const confined = () => createConfinedPrograms({ env: { LANG: 'C.UTF-8', SECRET_KEY: 'canary' } });

/** A shell script under `sandbox`, at work in the folder `open`. */
function sh(script: string, options: Partial<ConfinedProgram> = {}, signal?: AbortSignal) {
  const open = path.join(folder, 'open');
  const limits = { timeoutMs: 10_000, maxOutputBytes: 100_000, sandbox: 'required' } as const;
  return confined().run({ argv: ['/bin/sh', '-c', script], cwd: open, readOnly: [open], ...limits, ...options }, signal);
}

/** The same of a program for Node, which is given no folder. */
const node = (code: string, options: Partial<ConfinedProgram> = {}) =>
  sh('', { argv: [process.execPath, '-e', code], cwd: '/tmp', readOnly: [], ...options });

/** A number of seconds that no other process sleeps. */
let sleeps = 0;
const napOf = () => `7${process.pid}.${++sleeps}`;
const CHILDREN = (nap: string) =>
  `sleep ${nap} & (setsid sleep ${nap} &) & (setsid sh -c 'sleep ${nap} & sleep ${nap}' & exit) ; trap '' TERM INT HUP; sleep ${nap}`;

describe.skipIf(!available)('U3 a command of the person', () => {
  const user = () => ({ home: path.join(folder, 'home'), fileMb: 64 });

  it('U3 has the tools of PATH and of home, reads no credential of them, and writes its home in memory only', async () => {
    const home = path.join(folder, 'home');
    writeFiles(home, {
      '.nvm/node/bin/tool': '#!/bin/sh\ncat $(dirname $0)/../lib.txt\n',
      '.nvm/node/lib.txt': 'from its library\n',
      '.cargo/credentials.toml': 'token = "canary"',
      'diary.txt': 'canary',
    });
    await chmod(path.join(home, '.nvm/node/bin/tool'), 0o755);
    const env = { PATH: `relative:${home}/.nvm/node/bin:/usr/bin`, TZ: 'Europe/Rome', AWS_SECRET: 'canary' };
    const programs = createConfinedPrograms({ env });
    const open = path.join(folder, 'open');
    const script =
      'tool; cat ~/.cargo/credentials.toml ~/diary.txt; echo x > ~/new && cat ~/new; echo $TZ $AWS_SECRET ${PATH%%:*}; echo y > ~/.nvm/z';
    const limits = { timeoutMs: 10_000, maxOutputBytes: 10_000, sandbox: 'required' } as const;
    const ran = await programs.run({ argv: ['/bin/sh', '-c', script], cwd: open, readOnly: [open], user: user(), ...limits });
    expect(ran.stdout).toBe(`from its library\nx\nEurope/Rome ${home}/.nvm/node/bin\n`);
    expect(ran.stderr).toMatch(/diary\.txt.*No such file/u);
    expect(ran.stderr).toMatch(/\.nvm\/z.*Read-only/u);
    await expect(readFile(path.join(home, 'new'))).rejects.toThrow('ENOENT');
  });

  it('U3 does not see what is covered as empty, and cannot change what is covered as read only', async () => {
    const open = path.join(folder, 'covered');
    writeFiles(open, { '.env': 'canary', 'state/row': 'canary', 'code/main.ts': 'kept' });
    const empty = ['.env', 'state', 'gone'].map((name) => ({ at: path.join(open, name), as: 'empty' }) as const);
    const covered = [...empty, { at: path.join(open, 'code'), as: 'read_only' } as const];
    const script = 'cat .env; ls state; cat code/main.ts; echo x > code/main.ts; rm -rf code; mv code other; echo ok > new; cat new';
    const { stdout, stderr } = await sh(script, { cwd: open, readOnly: [], writable: [open], covered });
    expect(stdout).toBe('keptok\n');
    expect(stderr).toContain('Read-only file system');
    expect(await readFile(path.join(open, 'code/main.ts'), 'utf8')).toBe('kept');
    expect((await readdir(open)).sort()).toEqual(['.env', 'code', 'new', 'state']);
  });

  it('U3 shows its output as it comes, and too much of it ends nothing', async () => {
    const shown: string[] = [];
    const { stdout, exit, truncated } = await sh('echo out; echo err >&2; head -c 300000 /dev/zero | tr "\\0" x; echo; echo last', {
      maxOutputBytes: 1000,
      onOutput: (text) => shown.push(text),
    });
    expect({ exit, truncated }).toEqual({ exit: 0, truncated: true });
    expect([996, 1000]).toContain(stdout.length); // with what came on the other stream, or before it
    expect(shown.join('')).toContain('err\n');
    expect(shown.join('').replace('err\n', '')).toMatch(/^out\nx+\nlast\n$/u); // the two streams are not in step
  });

  it('U3 reaches the network only where that is asked for', async () => {
    const server = createServer((socket) => socket.end('reached')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    const script = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;
    const asked = (network: boolean) => sh('', { argv: ['/bin/bash', '-c', script], network });
    expect((await asked(false)).stdout).toBe('');
    expect((await asked(true)).stdout).toBe('reached');
    server.close();
  });
});

describe.skipIf(!available)('S73 a confined program', () => {
  it('S73 sees what it is given, read only, a private home and temporary folder, and nothing else', async () => {
    const { exit, stdout, stderr } = await sh(
      `cat file.txt; pwd; ls -A ${folder} $HOME; test -e ${os.homedir()}/.profile && echo home; cat /etc/shadow; ls /home /root /var /work;
       echo x > file.txt; echo x > ${folder}/new; echo x > /usr/new; echo x > /new; echo kept > $TMPDIR/own && cat /tmp/own; exit 3`,
    );
    expect(exit).toBe(3);
    expect(stdout).toBe(`seen${folder}/open\n/tmp/home:\n\n${folder}:\nopen\nkept\n`);
    expect(stderr.match(/Read-only file system/gu)).toHaveLength(3); // what is new in `folder` stands in its own /tmp
    expect(stderr).toMatch(/shadow.*No such file/u);
  });

  it('S73 has no environment but PATH, HOME, TMPDIR, LANG and what it is given, and no input', async () => {
    process.env['PITH_TEST_SECRET'] = 'canary';
    const { stdout } = await sh('env; cat; cat /proc/1/environ', { env: { OWN: 'mine', PATH: '/nowhere', LD_PRELOAD: '' } });
    delete process.env['PITH_TEST_SECRET'];
    expect(stdout).not.toContain('canary');
    const names = stdout.split('\n').map((line) => line.split('=')[0]);
    const own = names.filter((name) => !/^(PWD|PITH_HOST|)/u.exec(name ?? '')?.[0]);
    expect(own.sort()).toEqual(words('HOME LANG LD_PRELOAD OWN PATH TMPDIR'));
    expect(stdout).toMatch(/^PATH=\/usr\/bin:/mu);
  });

  it('S73 has no network: not even what listens on this machine', async () => {
    let asked = 0;
    const server = createServer((socket) => {
      asked += 1;
      socket.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const code = `require('net').connect(${port}, '127.0.0.1').on('error', (e) => console.log(e.code)).on('connect', () => console.log('reached'))`;
    const { stdout } = await node(code);
    server.close();
    expect([stdout.trim(), asked]).toEqual(['ECONNREFUSED', 0]);
  });

  it('S73 has other processes and descriptors out of sight', async () => {
    const file = await open(path.join(folder, 'closed.txt'));
    const { stdout } = await sh('ls -d /proc/[0-9]* | wc -l; ls -l /proc/self/fd');
    await file.close();
    expect(Number(stdout.split('\n')[0])).toBeLessThan(8);
    const descriptors = [...stdout.matchAll(/ (\d+) -> (.*)$/gmu)].filter(([, number]) => Number(number) > 2);
    expect(descriptors.filter(([, , target]) => !/^\/proc\/|^\/dev\/null$/u.test(target ?? ''))).toEqual([]);
  });

  it('S73 has a temporary folder of limited size, and no memory beside it', async () => {
    const { stdout, stderr } = await sh(
      'dd if=/dev/zero of=/tmp/big bs=1M count=80; dd if=/dev/zero of=/dev/big bs=1M count=1; ls -l /tmp/big | cut -d" " -f5',
    );
    expect(stderr).toMatch(/No space left|[Ff]ile (too large|size limit)/u);
    expect(Number(stdout)).toBeLessThanOrEqual(64 * 1024 * 1024);
  });

  it('S73 ends when it holds more memory than it may', async () => {
    const code = "const kept = []; setInterval(() => kept.push(Buffer.alloc(8e6, 'x')), 10)";
    const outcome = await node(code, { memoryMb: 160 });
    expect(outcome).toMatchObject({ exit: null, stopped: expect.stringMatching(/^it took \d+ MB of memory; its limit is 160 MB$/u) });
  });

  it('S73 says what could not be started', async () => {
    await expect(sh('true', { readOnly: [path.join(folder, 'missing')] })).rejects.toMatchObject({
      code: 'process_ended',
      message: expect.stringContaining('missing'),
    });
  });

  it('S73 sees a path where it is said to stand', async () => {
    const { stdout } = await sh('cat /elsewhere/file.txt', {
      readOnly: [{ from: path.join(folder, 'open'), at: '/elsewhere' }],
      cwd: '/elsewhere',
    });
    expect(stdout).toBe('seen');
  });
});

const KINDS = [...(available ? (['required'] as const) : []), 'none'] as const;

describe.skipIf(!isLinux)('what is left of a program', () => {
  it.each(KINDS)('S72 nothing after a timeout, however it hid: sandbox %s', async (sandbox) => {
    const nap = napOf();
    const outcome = await sh(CHILDREN(nap), { timeoutMs: 500, sandbox });
    expect(runs(nap)).toBe(false);
    expect(outcome).toMatchObject({ exit: null, timedOut: true, truncated: false, stopped: 'it took longer than 0.5 s' });
  });

  it.each(KINDS)('S72 nothing after its own end: sandbox %s', async (sandbox) => {
    const nap = napOf();
    const outcome = await sh(`(setsid sleep ${nap} >/dev/null 2>&1 &) ; echo done; exit 4`, { sandbox });
    expect(runs(nap)).toBe(false);
    expect(outcome).toMatchObject({ exit: 4, stdout: 'done\n', timedOut: false, stopped: null });
  });

  it.each(KINDS)('S72 nothing when it is aborted: sandbox %s', async (sandbox) => {
    const nap = napOf();
    const controller = new AbortController();
    const run = sh(CHILDREN(nap), { sandbox }, controller.signal);
    await until(() => runs(nap));
    controller.abort(new Error('enough'));
    await expect(run).rejects.toMatchObject({ code: 'aborted' });
    expect(runs(nap)).toBe(false);
    await expect(sh('true', { sandbox }, controller.signal)).rejects.toMatchObject({ code: 'aborted' });
  });

  it.each(KINDS)('S72 output is read to its limit, then all ends and it is marked: sandbox %s', async (sandbox) => {
    const nap = napOf();
    const before = process.memoryUsage().rss;
    const outcome = await sh(`sleep ${nap} & echo first; yes 0123456789 >&2`, { maxOutputBytes: 5000, sandbox });
    expect(outcome).toMatchObject({ exit: null, truncated: true, timedOut: false, stopped: 'its output was longer than 5000 bytes' });
    expect(outcome.stdout.length + outcome.stderr.length).toBe(5000);
    expect(runs(nap)).toBe(false);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  it.each(KINDS)('S73 more processes than it may have end it: sandbox %s', async (sandbox) => {
    const nap = napOf();
    const outcome = await sh(`n=0; while [ $n -lt 400 ]; do sleep ${nap} & n=$((n+1)); done; wait`, { maxProcesses: 40, sandbox });
    expect(outcome).toMatchObject({ exit: null, stopped: 'it started more than 40 processes' });
    expect(runs(nap)).toBe(false);
  });

  it.each(KINDS)('S73 what doubles again and again is ended before it has become many, at little cost: sandbox %s', async (sandbox) => {
    const nap = napOf();
    const before = process.cpuUsage();
    // 4095 in all, each of which writes one character.
    const outcome = await sh(`b() { printf .; if [ $1 -gt 1 ]; then b $(($1-1)) & b $(($1-1)) & fi; exec sleep ${nap}; }; b 12`, {
      sandbox,
    });
    const { user, system } = process.cpuUsage(before);
    expect(outcome).toMatchObject({ exit: null, stopped: 'it started more than 128 processes' });
    expect(outcome.stdout.length).toBeLessThan(3000); // 4095, where nothing ends it
    expect((user + system) / 1e6).toBeLessThan(3); // others of this process go on
    await until(() => !runs(nap)); // a hundred killed processes take a moment to be gone on a busy machine
  });
});

it('S73 without bubblewrap it is refused with the reason and the cure, and still runs where a person wants none', async () => {
  const missing = { available: false, why: 'bubblewrap is not installed', cure: 'install it' } as const;
  const programs = createConfinedPrograms({ env: {} }, async () => missing);
  expect(await programs.unavailable()).toEqual({ why: missing.why, cure: missing.cure });
  const program = {
    argv: ['/bin/sh', '-c', 'echo $HOME; pwd; touch $TMPDIR/x; test -w $HOME'],
    cwd: folder,
    readOnly: [],
    timeoutMs: 5000,
    maxOutputBytes: 100,
  };
  await expect(programs.run({ ...program, sandbox: 'required' })).rejects.toMatchObject({
    code: 'sandbox_unavailable',
    message: 'the program was not run: bubblewrap is not installed',
    cure: 'install it',
  });
  const { exit, stdout } = await programs.run({ ...program, sandbox: 'none' });
  expect([exit, stdout.split('\n')[1]]).toEqual([0, folder]);
  expect(stdout).not.toContain(`${os.homedir()}\n`);
});
