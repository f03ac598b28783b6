import { existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Diagnostic, ToolResult } from 'pith';
import { fakeClock, type FakeClock, scriptedModel, type TestKernel } from 'pith/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { folderWith, kernelOf } from '../../places.ts';
import { serverRows, settled, type ServerRow } from './settled.ts';

const signal = new AbortController().signal;
const SERVER = path.resolve('test/fixtures/mcp-odd-server.mjs');
const odd = (way: string, more: object = {}, ...args: string[]) => ({ command: process.execPath, args: [SERVER, way, ...args], ...more });

async function start(servers: object, env: Record<string, string> = {}, clock?: FakeClock): Promise<TestKernel> {
  const settings = { extensions: { mcp: { secrets: Object.keys(env), servers } } };
  const test = await kernelOf({ only: ['mcp'], files: { 'pith.yaml': JSON.stringify(settings) }, env, ...(clock && { clock }) });
  if (clock) endsWith(clock, test);
  return test;
}

/** What an end waits for passes, too. */
function endsWith(clock: FakeClock, test: TestKernel): void {
  onTestFinished(async () => {
    const stopping = test.stop().then(() => true);
    const isOver = () => Promise.race([stopping, clock.advance(1000).then(() => setImmediate(false))]);
    while (!(await isOver()));
  });
}
const names = async (test: TestKernel) => (await test.kernel.host.providers.tools.of('mcp')).map(({ name }) => name);
const call = async (test: TestKernel, tool: string): Promise<ToolResult> =>
  test.kernel.host.providers.tools.call('mcp', tool, {}, { turn: {} as never, idempotencyKey: 'k', signal });
async function row(test: TestKernel, name = 'it'): Promise<ServerRow> {
  return (await serverRows(test)).find((each) => each.name === name)!;
}
const said = async (test: TestKernel): Promise<readonly Diagnostic[]> =>
  (await test.kernel.problems()).filter(({ message }) => message.includes('MCP server'));
/** What there is once so much time has passed. */
const later = <Value>(clock: ReturnType<typeof fakeClock>, ms: number, look: () => Promise<Value>) => clock.advance(ms).then(look);

describe('MCP servers that are odd', () => {
  it('V5: one that says why and ends: its last lines, without secrets, are where a person looks', async () => {
    const test = await start(
      { it: odd('dead', { env: { ODD_KEY: '${ODD_KEY}' } }), fine: odd('plain') },
      { ODD_KEY: 'sk-odd-9931-xyz' },
      fakeClock(),
    ); // nothing is tried again
    await settled(test);
    await expect.poll(() => names(test)).toEqual(['fine_do']);
    const { state, reason, stderr: lines } = await row(test);
    expect(state).toBe('failed');
    expect(reason).toMatch(/^it ended with code 2; it said: Error: the key \[secret ODD_KEY\] is refused$/u);
    expect(lines).toEqual(['starting', expect.stringContaining('[secret ODD_KEY]'), '    at start (main.js:3:1)']);
    expect(await said(test)).toEqual([
      expect.objectContaining({
        severity: 'warning',
        message: `the MCP server 'it' is not connected: ${reason}`,
        cure: expect.stringContaining('pith mcp'),
      }),
    ]);
    const { text } = await test.command('mcp');
    expect(text).toContain('\n  | starting\n  |     at start (main.js:3:1)\n');
    expect(text.split('is refused')).toHaveLength(2); // V10.16: once
    const report = JSON.stringify(await test.kernel.doctor());
    expect(report).toContain("the MCP server 'it' is not connected");
    expect(report).not.toContain('9931');
  });

  it('V5: one that does not answer is said once and joins when it is there; the next time its tools are there at once, and a call waits', async () => {
    const clock = fakeClock();
    const test = await start({ it: odd('slow', {}, '800') }, {}, clock);
    const first = names(test);
    await expect.poll(() => clock.advance(3000).then(() => Promise.race([first, 'not yet']))).toEqual([]);
    expect(await said(test)).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/'it' has not answered yet: its tools come/u) }),
    ]);
    await expect.poll(() => names(test), { timeout: 30_000 }).toContain('it_do');
    expect(await said(test)).toEqual([]);
    await test.restart();
    await test.kernel.host.extensions.activate('mcp'); // no time passes: nothing is waited for
    expect(await names(test)).toContain('it_do');
    expect(await call(test, 'it_do')).toMatchObject({ ok: true, output: 'done' });
  });

  it('V10.2: one that installs and has not answered puts its lock away before it ends', async () => {
    const lock = path.join(folderWith(), 'lock');
    const clock = fakeClock();
    const test = await start({ it: odd('locks', {}, lock) }, {}, clock);
    const first = names(test);
    await expect.poll(() => existsSync(lock), { timeout: 30_000 }).toBe(true);
    await clock.advance(3000);
    await first;
    await test.kernel.host.extensions.activate('mcp');
    await test.stop();
    expect(existsSync(lock)).toBe(false);
  });

  it('V10.4: one that is away keeps the tools that it had, and a call says why', async () => {
    const test = await start({ it: odd('once', {}, path.join(folderWith(), 'marker')) });
    await settled(test);
    await test.restart();
    await expect.poll(async () => (await said(test)).map(({ message }) => message).join()).toContain("'it' is not connected");
    expect(await names(test)).toContain('it_do');
    const error = { message: expect.stringContaining('cannot be reached: it ended with code 3') };
    expect(await call(test, 'it_do')).toMatchObject({ ok: false, error });
  });

  it('V12: one whose next list is none keeps the tools that it had, and that is said; an empty list empties it', async () => {
    const clock = fakeClock();
    const test = await start({ it: odd('relists', {}, '{"tools":"x"}'), none: odd('relists', {}, '{"tools":null}') }, {}, clock);
    await settled(test);
    expect(await names(test)).toEqual(['it_do', 'none_do']);
    for (const tool of await names(test)) await call(test, tool);
    await expect.poll(() => later(clock, 1000, () => names(test))).toEqual(['it_do']);
    expect((await said(test)).map(({ message }) => message)).toEqual(["the MCP server 'it': page 1 of its list has no list of tools"]);
  });

  it('V10.4: a call of a tool of a server that has not answered yet says so', async () => {
    const clock = fakeClock();
    const model = scriptedModel([{ calls: [{ name: 'it_do', input: {} }] }, { text: 'x' }]);
    const settings = { extensions: { mcp: { servers: { it: odd('mute') } } } };
    const test = await kernelOf({ only: ['mcp', 'orchestrator'], files: { 'pith.yaml': JSON.stringify(settings) }, model, clock });
    endsWith(clock, test);
    const first = names(test);
    await expect.poll(() => clock.advance(3000).then(() => Promise.race([first, 'not yet']))).toEqual([]);
    await test.run('go');
    const answers = JSON.stringify(model.requests.at(-1));
    expect(answers).toContain("there is no tool 'it_do'");
    expect(answers).toContain("the MCP server 'it' has not answered yet");
  });

  it('V10.3: who waits is told for what, waits through the second attempt, and may end it', async () => {
    const test = await start({ it: odd('slow', { start_timeout: 1.5 }, '2000'), never: odd('mute', { start_timeout: 0.1 }) });
    expect(Object.fromEntries((await serverRows(test, { wait: true })).map(({ name, state }) => [name, state]))).toEqual({
      it: 'connected',
      never: 'failed',
    });
    const clock = fakeClock();
    const mute = await start({ it: odd('mute') }, {}, clock);
    const first = names(mute);
    await expect.poll(() => clock.advance(3000).then(() => Promise.race([first, 'not yet']))).toEqual([]);
    const command = (await mute.kernel.host.providers.commands.of('mcp')).find((each) => each.path === 'mcp')!;
    const [lines, stop]: [string[], AbortController] = [[], new AbortController()];
    const io = { interactive: true, quiet: false, json: () => undefined, print: (line: string) => void lines.push(line) };
    const looking = command.run({ arguments: {}, options: { wait: true } }, io as never, stop.signal);
    await expect.poll(() => clock.advance(1000).then(() => lines[0])).toMatch(/^Waiting for it … \d+ s$/u);
    stop.abort(new Error('enough'));
    await expect(looking).rejects.toThrow('enough');
  });

  it('V5: a start that takes too long is said, and the next one has twice as long', async () => {
    const clock = fakeClock();
    const test = await start({ it: odd('slow', { start_timeout: 0.3 }, '450'), mute: odd('mute', { start_timeout: 0.2 }) }, {}, clock);
    await expect.poll(async () => (await row(test, 'mute')).reason).toMatch(/^it did not answer within 0\.2 s$/u);
    await expect.poll(() => later(clock, 100, () => names(test)), { timeout: 30_000 }).toContain('it_do');
  });

  it('V5 V12: of each that cannot be used the reason is said', async () => {
    const servers: Record<string, readonly [server: object, reason: RegExp]> = {
      program: [{ command: 'no-such-program-here' }, /no program 'no-such-program-here'.*install it/u],
      folder: [{ ...odd('plain'), cwd: '/no/such/folder' }, /there is no folder '\/no\/such\/folder'/u],
      text: [odd('banner', { start_timeout: 0.5 }), /did not answer.*other text where its messages belong: Server listening on stdio/u],
      version: [odd('version'), /speaks version '1999-01-01' of the protocol/u],
      line: [odd('line'), /sent a message longer than 4194304 bytes/u],
      pings: [odd('pings'), /asks and does not take the answers/u],
      batch: [odd('long-batch'), /sent more than 1000 messages in one line/u],
    };
    const test = await start(Object.fromEntries(Object.entries(servers).map(([name, [server]]) => [name, server])));
    await names(test);
    const reasons = async () => Object.fromEntries((await serverRows(test)).map(({ name, reason }) => [name, reason]));
    const expected = Object.entries(servers).map(([name, [, reason]]) => [name, expect.stringMatching(reason)]);
    await expect.poll(reasons, { timeout: 30_000 }).toEqual(Object.fromEntries(expected));
  });

  it('V5 V12: one that prints lines without end is ended, and that is said', async () => {
    const clock = fakeClock();
    const test = await start({ it: odd('news') }, {}, clock);
    const reason = () => later(clock, 500, async () => (await row(test)).reason);
    await expect.poll(reason, { timeout: 30_000 }).toMatch(/^it prints more than 20000 lines in 10 s to its output$/u);
  });

  it('V5 V12: what is noisy, long or without tools works', async () => {
    const test = await start(Object.fromEntries(['noisy', 'stderr', 'batch', 'no-tools'].map((way) => [way, odd(way)])));
    await settled(test);
    for (const way of ['noisy', 'stderr', 'batch']) expect(await call(test, `${way}_do`)).toMatchObject({ ok: true, output: 'done' });
    const { notes } = await test.kernel.doctor();
    const output = notes.filter(({ code }) => code === 'mcp_non_protocol_output').map(({ message }) => message);
    expect(output).toEqual([expect.stringMatching(/'noisy'.*Server listening on stdio/u)]);
    expect(await row(test, 'no-tools')).toMatchObject({ state: 'connected', tools: [], reason: null });
  });

  it('V5 V6: one that ends in a call says its last words there, and is there again', async () => {
    const clock = fakeClock();
    const test = await start({ it: odd('crash') }, {}, clock);
    await settled(test);
    const lost = "the MCP server 'it' was lost in the call: it ended with code 7; it said: panic: out of cheese";
    expect(await call(test, 'it_do')).toMatchObject({ ok: false, error: { message: lost } });
    expect(await call(test, 'it_do')).toMatchObject({ ok: false, error: { message: lost } }); // V10.5: it was tried at once
    await expect.poll(() => later(clock, 1000, async () => (await row(test)).state), { timeout: 30_000 }).toBe('connected');
  });

  it('V12: a list that does not come after a change is waited for once, and again when one has come', async () => {
    const clock = fakeClock();
    const test = await start({ it: odd('lists', {}, '+--+-') }, {}, clock);
    await settled(test);
    const waited = async () => {
      const begun = clock.now();
      const done = call(test, 'it_do');
      await expect
        .poll(() => later(clock, 250, () => Promise.race([done, setImmediate()])), { timeout: 30_000 })
        .toMatchObject({ ok: true });
      return clock.now() - begun;
    };
    expect(await waited()).toBeGreaterThanOrEqual(1000);
    for (const list of ['that does not come either', 'that comes']) {
      await clock.advance(1000);
      expect(await call(test, 'it_do'), list).toMatchObject({ ok: true, output: 'done' }); // no time passes
    }
    await expect.poll(() => names(test)).toContain('it_more');
    await clock.advance(1000);
    expect(await waited()).toBeGreaterThanOrEqual(1000);
  }, 30_000); // a list that is waited for to its end takes a minute

  it('V6: progress extends the limit of a call, ten times at most', async () => {
    const test = await start({ it: odd('progress', { timeout: 0.3 }), more: odd('endless', { timeout: 0.1 }) });
    await settled(test);
    const [all, some] = await Promise.all([call(test, 'it_do'), call(test, 'more_do')]);
    expect(all).toMatchObject({ ok: true, output: 'done' });
    expect(some).toMatchObject({
      ok: false,
      error: { code: 'tool_timeout', message: expect.stringContaining('timeout') },
    });
  });

  it('V6: an answer is read that is of another form', async () => {
    const answers = [
      ['no version of JSON-RPC', '{"id":"ID","result":{"content":[{"type":"text","text":"well"}]}}', { ok: true, output: 'well' }],
      ['a list as the result', '{"jsonrpc":"2.0","id":"ID","result":[{"type":"text","text":"well"}]}', { ok: true, output: 'well' }],
      [
        'a text as the error',
        '{"jsonrpc":"2.0","id":"ID","error":"closed"}',
        { ok: false, error: { message: expect.stringContaining('closed') } },
      ],
      [
        'an error with details',
        '{"jsonrpc":"2.0","id":"ID","error":{"code":-32602,"message":"bad","data":{"field":"q"}}}',
        { ok: false, error: { code: 'mcp_error', message: expect.stringMatching(/bad\n\{"field":"q"\}/u) } },
      ],
      [
        'one odd part',
        '{"jsonrpc":"2.0","id":"ID","result":{"content":[{"type":7},{"type":"text","text":"well"}]}}',
        { ok: true, output: expect.stringMatching(/\nwell$/u) },
      ],
    ] as const;
    const test = await start(Object.fromEntries(answers.map(([, answer], at) => [`it${at}`, odd('answer', {}, answer)])));
    await settled(test);
    for (const [at, [what, , result]] of answers.entries()) expect(await call(test, `it${at}_do`), what).toMatchObject(result);
  });
});
