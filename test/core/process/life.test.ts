import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fakeClock, recordEvents, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { isAlive } from './hosts.ts';
import { until, within } from '../../waiting.ts';
import { mine, mineWith, tools } from './extension.ts';

/** A process in a sandbox does not know its own number. */
const unheld: TestKernelOptions = { flags: { extensions_sandbox: 'off' } };
/** `mine` with these tools beside the one that says which process it is in. */
const open = (more: readonly string[] = [], options: Parameters<typeof mineWith>[1] = {}) =>
  mineWith([PID, ...more].join(), { ...unheld, ...options });

const call = (test: TestKernel, name: string, signal?: AbortSignal) => test.kernel.agents.callTool('asker', name, {}, signal);
const tool = (name: string, body: string, more = '') =>
  `defineTool({ name: '${name}', description: 'd', input: z.object({}), ${more} execute: async (_, call) => { ${body} } })`;
const PID = tool('pid', 'return process.pid;');

async function pidOf(test: TestKernel): Promise<number> {
  const result = await call(test, 'pid');
  if (!result.ok) throw new Error(result.error.message);
  return result.output as number;
}

describe('the life of an extension’s process', () => {
  it('K3: nothing starts until a tool is called, once its tools are known', async () => {
    const test = await open();
    const first = await pidOf(test);
    await test.restart();
    expect(isAlive(first)).toBe(false);
    expect((await test.kernel.agents.toolsOf('asker')).map(({ modelName }) => modelName)).toEqual(['pid']);
    expect(test.kernel.host.extensions.state('mine')).toBe('idle');
    expect(await pidOf(test)).not.toBe(first);
  });

  it('K10: a process that ends by itself fails its open call with the reason, and the next call starts another', async () => {
    const die = tool('die', 'execSync("kill -9 " + process.pid); await new Promise(() => {});');
    const test = await open([die], { head: "import { execSync } from 'node:child_process';" });
    const first = await pidOf(test);
    const failed = record(test);
    process.kill(first, 'SIGKILL');
    await until(() => failed().length > 0);
    const [failure] = failed();
    expect(failure).toMatchObject({ extensionId: 'mine', code: 'process_ended', message: expect.stringContaining('SIGKILL') });
    expect(await pidOf(test)).not.toBe(first);
    expect(await call(test, 'die')).toMatchObject({ ok: false, error: { code: 'tool_failed' } });
  });

  it.each([
    ['imported', { head: "fs.writeFileSync('began', String(process.pid)); await new Promise(() => {});", body: '' }],
    ['constructed', { head: '', body: "stopped = (fs.writeFileSync('began', String(process.pid)), (() => { for (;;); })());" }],
  ])('B9: a process whose code does not come to be %s is ended with Pith', async (_, { head, body }) => {
    const test = await mine({ provides: ['tool'] }, body, { ...unheld, head: `import fs from 'node:fs';\n${head}` });
    void test.kernel.host.extensions.activate('mine');
    const began = path.join(test.kernel.settings.data_dir, 'extensions/mine/began');
    const pidOfBegun = () => (existsSync(began) ? Number(readFileSync(began, 'utf8')) : 0);
    await until(() => pidOfBegun() > 0); // the file is there before its text
    const pid = pidOfBegun();
    await within(8000, test.kernel.stop());
    await until(() => !isAlive(pid)); // on a busy machine a moment later
    expect(isAlive(pid)).toBe(false);
  });

  it('K10: process.exit is refused and errors that nobody caught are told with their phase; the process goes on', async () => {
    const bad = tool(
      'bad',
      `queueMicrotask(() => { throw new Error('astray'); }); try { process.exit(3); } catch (error) { return error.code; }`,
    );
    const test = await open([bad]);
    const failed = record(test);
    const first = await pidOf(test);
    expect(await call(test, 'bad')).toEqual({ ok: true, output: 'exit_refused' });
    await until(() => failed().length > 1);
    const said = failed().map(({ code, phase }) => `${code} ${phase}`);
    expect(said.sort()).toEqual(['exit_refused tool call', 'stray_error tool call']);
    expect(await pidOf(test)).toBe(first);
  });

  it('K11: the third crash in five minutes stops it until it is reloaded by hand', async () => {
    const test = await open();
    const failed = record(test);
    for (let crash = 1; crash <= 3; crash += 1) {
      process.kill(await pidOf(test), 'SIGKILL');
      await until(() => failed().filter(({ code }) => code === 'process_ended').length === crash);
    }
    await expect(call(test, 'pid')).rejects.toMatchObject({ code: 'tool_unknown', message: expect.stringContaining("'mine' failed") });
    expect(test.kernel.host.extensions.show('mine')).toMatchObject({ state: 'failed', code: 'breaker_open' });
    await test.kernel.host.extensions.reload('mine');
    expect(await pidOf(test)).toBeGreaterThan(0);
  });

  it('K10: what is too large to cross fails its own call only', async () => {
    const big = tool('big', `return 'x'.repeat(9 * 1024 * 1024);`);
    const test = await open([big]);
    const first = await pidOf(test);
    expect(await call(test, 'big')).toMatchObject({
      ok: false,
      error: { code: 'not_serialisable', message: expect.stringContaining('8.0 MiB may cross') },
    });
    expect(await pidOf(test)).toBe(first);
  });

  it('K5: an abort reaches the signal of the call', async () => {
    const wait = tool(
      'wait',
      `await new Promise((resolve) => call.signal.addEventListener('abort', resolve)); context.events.publish('provider.changed', { protocol: 'aborted' });`,
    );
    const test = await open([wait]);
    await pidOf(test);
    const controller = new AbortController();
    const aborted = new Promise((resolve) => test.kernel.events.handle('provider.changed', resolve));
    const waiting = call(test, 'wait', controller.signal);
    await pidOf(test);
    controller.abort();
    expect(await waiting).toMatchObject({ ok: false, error: { code: 'aborted' } });
    expect(await aborted).toMatchObject({ protocol: 'aborted' });
  });

  it('K10: after five minutes without a call the process is ended, and started again when it is needed', async () => {
    const clock = fakeClock();
    const test = await open([], { clock });
    const first = await pidOf(test);
    await clock.advance(4 * 60_000);
    expect(await pidOf(test)).toBe(first);
    await clock.advance(4 * 60_000);
    expect(isAlive(first)).toBe(true);
    await clock.advance(60_000);
    await until(() => !isAlive(first));
    expect(test.kernel.host.extensions.state('mine')).toBe('idle');
    expect(await pidOf(test)).not.toBe(first);
  });

  it('K20: the new version stands in its own process before the old one stops; a broken one leaves the old as it is', async () => {
    const test = await open();
    const first = await pidOf(test);
    await test.write('extensions/mine/main.ts', 'export default class { constructor() { throw new Error("broken"); } }');
    await test.kernel.host.extensions.refresh();
    expect(await pidOf(test)).toBe(first);
    expect(test.kernel.host.extensions.show('mine')).toMatchObject({ state: 'active', phase: 'reload' });
    for (const [file, text] of Object.entries(tools('mine', tool('pid', 'return -process.pid;')))) await test.write(file, text);
    await test.kernel.host.extensions.refresh();
    expect(await pidOf(test)).toBeLessThan(0);
    expect(isAlive(first)).toBe(false);
  });

  it('K10: what is printed while it stops goes out before the process ends, and too much of it is told', async () => {
    const flood = `getTools() { return [${PID}]; } stop() { process.stdout.write('x'.repeat(20 * 1024 * 1024)); }`;
    const test = await mine({ provides: ['tool'] }, flood, unheld);
    await pidOf(test);
    await test.kernel.host.extensions.reload('mine');
    expect(test.kernel.host.extensions.show('mine')).toMatchObject({
      phase: 'stop',
      message: expect.stringContaining('printed more than 16 MB'),
    });
  });

  it('K10: a service runs in the process, is aborted by a stop, and the process ends with the kernel', async () => {
    const serves = `getTools() { return [${PID}]; }
       async runBackground(signal) { this.context.events.publish('provider.changed', { protocol: 'running' }); await new Promise((resolve) => signal.addEventListener('abort', resolve)); }`;
    const test = await mine({ provides: ['tool', 'service'] }, serves, unheld);
    const runs = new Promise((resolve) => test.kernel.events.handle('provider.changed', resolve));
    await test.kernel.start();
    expect(await runs).toMatchObject({ protocol: 'running' });
    const pid = await pidOf(test);
    await test.kernel.stop();
    expect(isAlive(pid)).toBe(false);
  });
});

function record(test: TestKernel) {
  const events = recordEvents(test.kernel.events);
  return () => events.of('extension.failed');
}
