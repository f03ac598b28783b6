import { existsSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { firstWord, hostFolder, isAlive, type HostFolder, stopped } from './hosts.ts';
import { until } from '../../waiting.ts';

const isLinux = process.platform === 'linux';
let folder: HostFolder;
beforeEach(async () => void (folder = await hostFolder()));

it('K10 a process has nothing of the environment but path, zone and language, and works in its data folder', async () => {
  process.env['PITH_TEST_SECRET'] = 'canary';
  const host = await folder.launch('say({ env: process.env, cwd: process.cwd(), argv: process.execArgv });', {
    env: { PATH: process.env['PATH'], TZ: 'UTC', HOME: '/somewhere', NODE_OPTIONS: '--inspect', OPENAI_API_KEY: 'sk' },
    memoryMb: 400,
  });
  const { env, cwd, argv } = (await firstWord(host, folder.lines)) as { env: Record<string, string>; cwd: string; argv: string[] };
  host.kill({ code: 'stopped', message: 'enough' });
  delete process.env['PITH_TEST_SECRET'];
  expect(Object.keys(env).sort()).toEqual(['PATH', 'PITH_HOST', 'TZ']);
  expect(cwd).toBe(`${folder.data}/mine`);
  expect(argv).toContain('--max-old-space-size=200');
  expect(await host.ended).toEqual({ code: 'stopped', message: 'enough' });
});

it('K10 says how a process ended: exit code, signal, full heap', async () => {
  const exit = await folder.launch('process.exit(3)');
  expect(await exit.ended).toEqual({ code: 'process_ended', message: 'its process ended with exit code 3' });
  const abort = await folder.launch('process.abort()');
  expect(await abort.ended).toEqual({ code: 'process_ended', message: 'its process was ended by the signal SIGABRT' });
  const heap = await folder.launch('const kept = []; for (;;) kept.push({ at: kept.length });', { memoryMb: 320 });
  expect(await heap.ended).toMatchObject({
    code: 'process_limit',
    message: 'its heap was full at 160 MB',
    cure: expect.stringContaining('extensions.mine.memory_mb'),
  });
});

it.runIf(isLinux)('K10 a process that has ended by itself is not said to have hung up, also while what it left is swept', async () => {
  const host = await folder.launch("process.kill(process.pid, 'SIGKILL')");
  for (let isGone = false; !isGone; await new Promise(setImmediate)) isGone = !existsSync(`/proc/${host.pid}`);
  host.kill({ code: 'process_ended', message: 'it closed its connection' });
  expect(await host.ended).toEqual({ code: 'process_ended', message: 'its process was ended by the signal SIGKILL' });
});

it.runIf(isLinux)('K10 memory outside of the heap counts too, also that of children', async () => {
  const own = await folder.launch("const kept = []; setInterval(() => kept.push(Buffer.alloc(8e6, 'x')), 20);", { memoryMb: 160 });
  expect(await own.ended).toMatchObject({
    code: 'process_limit',
    message: expect.stringMatching(/^it took \d+ MB of memory; its limit is 160 MB$/u),
  });
  const code = `spawn(process.execPath, ['-e', "globalThis.kept = Buffer.alloc(150e6, 'x'); setInterval(() => {}, 1e6)"], { detached: true, stdio: 'ignore' });`;
  const child = await folder.launch(code, { memoryMb: 200 });
  expect(await child.ended).toMatchObject({ code: 'process_limit' });
});

it.each(['process.stdout.write(text)', 'fs.writeSync(1, text)', 'fs.writeSync(2, text)'])(
  'K10 a flood of output ends it, and is kept out of the log and of memory: %s',
  async (write) => {
    const before = process.memoryUsage().rss;
    const host = await folder.launch(`const text = ('x'.repeat(99) + '\\n').repeat(10_000); for (let n = 0; n < 100; n += 1) ${write};`);
    expect(await host.ended).toMatchObject({ code: 'process_limit', message: 'it printed more than 16 MB within 10 s' });
    expect(folder.lines.join('\n').length).toBeLessThan(1024 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  },
);

it('K10 lines of output are passed on, also the last one, and a burst is cut with a note', async () => {
  const host = await folder.launch(
    `console.log('one'); console.error('two'); fs.writeSync(1, ('y'.repeat(999) + '\\n').repeat(900) + 'end'); process.exit(0);`,
  );
  expect(await host.ended).toMatchObject({ message: 'its process ended with exit code 0' });
  expect(folder.lines).toContain('one');
  expect(folder.lines).toContain('two');
  expect(folder.lines.length).toBeLessThan(200);
  const printed = folder.lines.filter((line) => line !== 'two'); // the other stream may be read later
  expect(printed.at(-1)).toMatch(/more characters were printed at once, and left out$/u);
});

it.runIf(isLinux)('K10 nothing that a process started is left when it ends: of its group, and detached', async () => {
  const code = `
    const start = (options) => spawn('sleep', ['60'], { stdio: 'ignore', ...options }).pid;
    say([start({}), start({ detached: true }), start({ detached: true, env: { PATH: process.env.PATH } })]);
  `;
  const killed = await folder.launch(code);
  const pids = (await firstWord(killed, folder.lines)) as number[];
  await stopped(killed);
  expect(pids.filter(isAlive)).toEqual([]);

  const exited = await folder.launch(`${code}; setTimeout(() => process.exit(0), 600);`);
  const left = (await firstWord(exited, folder.lines)) as number[];
  await exited.ended;
  await until(() => !left.some(isAlive));
});
