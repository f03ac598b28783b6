import { floodLimit } from '@pith/process-rpc';
import fc from 'fast-check';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandIO } from '../../../core/contract/index.ts';
import { testKernel, type TestKernel } from 'pith/testing';
import { CALL } from '../kernel/extensions.ts';
import { inProcesses, main, manifest, tools } from './extension.ts';
import { words } from '../../words.ts';

const NEVER = new AbortController().signal;

/** Frames that are written past what Pith gives an extension. */
const HEAD = `import fs from 'node:fs';
const send = (message) => sendBytes(Buffer.from(JSON.stringify(message)));
const sendBytes = (body) => { const head = Buffer.alloc(4); head.writeUInt32LE(body.length); let rest = Buffer.concat([head, body]);
  while (rest.length > 0) try { rest = rest.subarray(fs.writeSync(3, rest)); } catch (error) { if (error.code !== 'EAGAIN') throw error; } };
const doubled = (levels) => { let value = 'x'; for (let at = 0; at < levels; at += 1) value = [value, value]; return value; };
const length = [0xc0, 0x94, 0xde, 0x0f]; // 33 million
const sparse = [0x41, 24, ...Array.from({ length: 24 }, () => [0x61, ...length, 0x40, 0, ...length]).flat(), 0x24, 0, 24];
const odd = { toString: 1, valueOf: 1, length: -1, then: 1 };`;

const hostile = fc.constantFrom<unknown>(
  { toString: 1, valueOf: 1 },
  { toJSON: 1 },
  { map: 1, constructor: 1, length: -1 },
  [],
  {},
  '',
  -1,
  2 ** 40,
  0.5,
  null,
);
const anything = fc.oneof(hostile, fc.object({ maxDepth: 3 }), fc.string());
const operations = words(`
  log note failure crashed background kv.get kv.set kv.delete kv.keys events.publish events.handle events.off agents.list
  agents.check agents.run use io.print io.ask io.input constructor __proto__ nonsense
`);
const frame = fc.oneof(
  fc
    .oneof(
      { weight: 6, arbitrary: fc.tuple(fc.nat(10), fc.nat(20), fc.constantFrom(...operations), fc.array(anything, { maxLength: 5 })) },
      { weight: 2, arbitrary: fc.tuple(fc.nat(10), fc.nat(20), anything, anything, anything) },
      { weight: 1, arbitrary: anything },
    )
    .map((message) => Buffer.from(JSON.stringify(message) ?? '')),
  fc.uint8Array({ maxLength: 200 }),
);

const CALM = `defineTool({ name: 'calm', description: 'd', input: z.object({}), execute: () => 'well' })`;

/** One kernel for all of them: each sender is an extension of its own, beside one that is calm. */
let test: TestKernel;
beforeAll(async () => {
  const files = {
    'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [calm] }\n',
    ...manifest('calm', { provides: ['tool'] }),
    ...tools('calm', CALM),
  };
  test = await testKernel({ isolation: 'process', only: [], files });
});
afterAll(() => test.stop());

let made = 0;
/** One extension more, whose tool does `act`. `first`: what it does before it offers the tool. */
async function sender(act: string, first = '0') {
  const id = `mine_${(made += 1)}`;
  const tool = `defineTool({ name: 'act', description: 'd', input: z.object({}), timeoutMs: 5000, execute: async () => { ${act}; return 'sent'; } })`;
  for (const [name, text] of Object.entries({ ...manifest(id, { provides: ['tool'] }), ...tools(id, `(${first}, ${tool})`, HEAD) }))
    await test.write(name, text);
  const { extensions, providers } = test.kernel.host;
  await extensions.refresh();
  return { id, act: () => providers.tools.call(id, 'act', {}, { ...CALL, signal: NEVER }), shown: () => extensions.show(id) };
}

/** Answers whatever the kernel waits for. */
const everyCall = (message: string): string => `[...Array(20).keys()].forEach((id) => send(${message}))`;

/** The kernel answers for others, whatever one extension has sent. */
async function answers(): Promise<void> {
  expect(await test.kernel.agents.callTool('asker', 'calm', {})).toMatchObject({ ok: true, output: 'well' });
}

describe('what the process of an extension sends', () => {
  it.each([
    ['a message that is none', `send('hello')`],
    ['an operation that is no text', `send([7, 0, odd, []])`],
    ['a call without a number', `send([0, odd, 'kv.get', ['x']])`],
    ['F8: two dozen lists with nothing in them, as v8 writes them', `sendBytes(Buffer.from([0xff, 0x0f, ...sparse]))`],
    ['F8: a list in a list, four million deep', `sendBytes(Buffer.alloc(4194304, '['))`],
    ['F8: four million lists', `sendBytes(Buffer.from('[0,5,"kv.set",["k",[[]' + ',[]'.repeat(2700000) + ']]]'))`],
    ['F8: four million names', `sendBytes(Buffer.from('[0,5,"kv.set",["k",{"a":0' + ',"a":0'.repeat(1390000) + '}]]'))`],
    ['F8: what is longer than it says', `sendBytes(Buffer.from('[0,5,"kv.get",["k"]]]]]]]]]'))`],
    ['F8: a text without an end', `sendBytes(Buffer.from('[0,5,"kv.get",["k'))`],
    ['a value that doubles twenty times', `send([0, 5, 'kv.set', ['k', doubled(20)]])`],
    ['a value that doubles in a log line', `send([7, 0, 'log', ['info', 'm', { a: doubled(20) }]])`],
    ['room for parts that is no number', `send([6, 5, odd])`],
    ['a value that is too deep', `let deep = []; for (let at = 0; at < 500; at += 1) deep = [deep]; send([0, 5, 'kv.set', ['k', deep]])`],
  ])('K10 T11: %s ends that process and nothing else', async (_, act) => {
    const mine = await sender(`${act}; await new Promise(() => undefined)`);
    expect(await mine.act()).toMatchObject({ ok: false });
    await answers();
    expect(mine.shown()).toMatchObject({ code: 'process_ended', message: expect.stringMatching(/it (sent an invalid message|asked)/) });
  });

  it.each([
    ['a note that nobody knows', `send([7, 0, 'nonsense', []]); send([7, 0, 'constructor', []]); send([7, 0, '__proto__', []])`],
    ['a word to a terminal that is gone', `send([7, 0, 'io.print', [999, 'late']])`],
    [
      'words that are none',
      `send([7, 0, 'log', ['info', odd, odd]]); send([7, 0, 'note', [odd, odd]]); send([7, 0, 'failure', [{ name: odd, message: odd, code: odd, phase: odd, cause: odd, responseHeaders: odd }]])`,
    ],
    [
      'answers that nobody waits for',
      `for (let at = 900; at < 950; at += 1) { send([2, at, odd]); send([3, at, { message: odd, name: odd }]); send([4, at, odd]); send([5, at, odd]); send([9]); }`,
    ],
    [
      'names of prototypes',
      `for (const name of ['kv.set', 'events.publish', 'agents.check', 'agents.run', 'use', 'log', 'note', 'failure'])
        sendBytes(Buffer.from('[0,' + (900 + name.length) + ',"' + name + '",[{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}},"__proto__","constructor",{"__proto__":{"polluted":1}}]]'))`,
    ],
    [
      'calls with what is no text',
      `for (const name of ['kv.get', 'kv.set', 'kv.keys', 'events.publish', 'events.handle', 'agents.check', 'agents.run', 'use']) send([0, 900 + name.length, name, [odd, odd, odd, odd]])`,
    ],
  ])('K10: %s ends nothing', async (_, act) => {
    const mine = await sender(act);
    expect(await mine.act()).toMatchObject({ ok: true, output: 'sent' });
    await answers();
    expect(await mine.act()).toMatchObject({ ok: true });
    expect('polluted' in {}).toBe(false);
  });

  it('K10: whatever it sends, the kernel answers afterwards, or says why it hears no more', async () => {
    const { id, act, shown } = await sender(
      `for (const body of JSON.parse(fs.readFileSync(context.dataDirectory + '/frames', 'utf8'))) sendBytes(Buffer.from(body, 'base64'))`,
    );
    for (const frames of fc.sample(fc.array(frame, { maxLength: 8 }), {
      numRuns: process.env['PITH_TEST_LONG'] === '1' ? 60 : 10,
      seed: 1,
    })) {
      await test.write(`data/extensions/${id}/frames`, JSON.stringify(frames.map((each) => Buffer.from(each).toString('base64'))));
      const sent = await act();
      await answers();
      if (sent.ok) continue;
      expect([frames, shown()?.message]).toEqual([frames, expect.stringMatching(/it (sent an invalid message|asked)/)]);
      await test.kernel.host.extensions.reload(id); // also after three crashes
    }
  });

  it('K10: what may be logged in a second is bounded, and what is left out is told once', async () => {
    const mine = await sender(`for (let at = 0; at < 100; at += 1) send([7, 0, 'log', ['info', 'line ' + 'x'.repeat(8000), {}]])`);
    await mine.act();
    await test.restart(); // what was buffered is written
    const log = await readFile(path.join(test.sandbox, 'data/logs/pith.log'), 'utf8');
    const lines = log.split('\n').filter((line) => line.includes(mine.id));
    const times = lines.filter((line) => line.includes('line xxx')).map((line) => Number(/"time":(\d+)/.exec(line)![1]));
    const seconds = 1 + Math.floor((times.at(-1)! - times[0]!) / 1000); // on a slow machine the lines come in more than one
    expect(times.length).toBeGreaterThanOrEqual(32);
    expect(times.length).toBeLessThanOrEqual(32 * seconds);
    expect([1, seconds]).toContain(lines.filter((line) => line.includes('left out')).length);
  });

  it('K5: an offer that doubles is refused in words, and its process ended', async () => {
    const schema = `let a = { type: 'string' }; for (let at = 0; at < 24; at += 1) a = { anyOf: [a, a] };`;
    const tool = `Object.assign(defineTool({ name: 'act', description: 'd', input: z.object({}), execute: () => 1 }), { inputSchema: a })`;
    const { kernel } = await inProcesses({
      files: { ...manifest('mine', { provides: ['tool'] }), ...main('mine', `getTools() { ${schema} return [${tool}]; }`) },
    });
    await expect(kernel.host.providers.tools.of('mine')).rejects.toThrow(/mine/);
    expect(kernel.host.extensions.show('mine')).toMatchObject({ state: 'failed', message: expect.stringContaining('parts') });
  });

  it.each([
    'odd',
    '{ operations: odd, descriptor: odd }',
    '{ operations: [odd], descriptor: { tools: [odd], warnings: [odd], constants: odd } }',
  ])('K10 T11: an offer that is none fails its extension alone: %s', async (offer) => {
    const { id } = await sender('', everyCall(`[2, id, ${offer}]`));
    expect(await test.kernel.host.extensions.activate(id)).toMatchObject({ state: 'failed', message: expect.any(String) });
    await answers();
  });

  it.each([
    '[2, id, { ok: odd, error: odd, output: odd }]',
    '[2, id, odd]',
    '[3, id, odd]',
    '[3, id, { name: odd, message: odd, cause: odd }]',
  ])('K10 T11: an answer that is none fails its call alone: %s', async (message) => {
    const mine = await sender(everyCall(message));
    expect(await mine.act()).toMatchObject({ ok: false, error: { code: expect.any(String) } });
    await answers();
  });

  it('K10: what comes slowly is no flood, however much it is', () => {
    let now = 0;
    const floods: string[] = [];
    const count = floodLimit(
      (why) => floods.push(why),
      () => now,
    );
    for (let at = 0; at < 40_000; at += 1) count((now += 1) && 10_000);
    expect(floods).toEqual([]);
    for (let at = 0; at < 40_000; at += 1) count(10);
    expect(floods).toHaveLength(1);
  });

  it('K10: a thousand long notes leave the last few, cut', async () => {
    const mine = await sender(`for (let at = 0; at < 1000; at += 1) send([7, 0, 'note', ['odd', at + 'x'.repeat(3000)]])`);
    expect(await mine.act()).toMatchObject({ ok: true });
    const notes = mine.shown()?.notes ?? [];
    expect(notes.length).toBeGreaterThan(0);
    expect(notes.length).toBeLessThanOrEqual(50);
    expect(JSON.stringify(notes).length).toBeLessThan(50 * 2500);
  });

  it('K10: a command that prints after it returned is not heard, and ends nothing', async () => {
    const { kernel } = await inProcesses({
      files: {
        ...manifest('mine', { provides: ['tool'], commands: [{ path: 'mine look', needs: 'index', entry: 'commands.ts' }] }),
        ...main('mine', `getTools() { return []; }`),
        'extensions/mine/commands.ts': `export default () => [{ path: 'mine look', description: 'd', run: async (input, io) => {
          if (globalThis.before) { await globalThis.before; io.print('then'); return; }
          globalThis.before = new Promise((resolve) => setTimeout(() => { io.print('late'); resolve(); }, 500)); io.print('now'); } }];`,
      },
    });
    const { commands } = kernel.host.providers;
    const [command] = await (await commands.importEntry('mine', 'commands.ts'))(commands.contextOf('mine'));
    const said: string[] = [];
    const io = { print: (text: string) => said.push(text) } as unknown as CommandIO;
    await command?.run({ arguments: {}, options: {} }, io, NEVER);
    await command?.run({ arguments: {}, options: {} }, io, NEVER);
    expect(said).toEqual(['now', 'then']);
  });
});
