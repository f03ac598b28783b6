import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CommandIO, JsonValue } from '../../../core/contract/index.ts';
import { main, manifest, mine } from './extension.ts';
import { until } from '../../waiting.ts';

function terminal(answers: readonly string[], lines: readonly string[]) {
  const said: JsonValue[] = [];
  const left = [...answers];
  const io: CommandIO = {
    print: (text) => void said.push(`out ${text}`),
    error: (text) => void said.push(`err ${text}`),
    json: (value) => void said.push(value),
    ask: async (question) => {
      said.push(`ask ${question}`);
      return left.shift() ?? null;
    },
    input: (async function* () {
      yield* lines;
    })(),
    interactive: true,
    wantsJson: false,
    quiet: false,
    colour: false,
    columns: 80,
    workingDirectory: '/home/ada',
    userId: 'ada',
  };
  return { said, io };
}

describe('other protocols across processes', () => {
  it('K5: a command speaks to the terminal of the kernel, in order', async () => {
    const test = await mine(
      { provides: ['command'], commands: [{ path: 'mine' }] },
      `getCommands() { return [{ path: 'mine greet', description: 'd', run: async (input, io, signal) => {
         io.print('hello ' + input.arguments.who + ' ' + io.columns + ' in ' + io.workingDirectory); const answer = await io.ask('name?'); io.error(String(answer));
         for await (const line of io.input) io.print(line); io.json({ pid: process.pid }); return 4; } }]; }`,
    );
    const [command] = await test.kernel.host.providers.commands.of('mine');
    const { said, io } = terminal(['Ada'], ['one', 'two']);
    expect(await command?.run({ arguments: { who: 'you' }, options: {} }, io, new AbortController().signal)).toBe(4);
    expect(said).toEqual(['out hello you 80 in /home/ada', 'ask name?', 'err Ada', 'out one', 'out two', { pid: expect.any(Number) }]);
    expect((said.at(-1) as { pid: number }).pid).not.toBe(process.pid);
  });

  it('K5 W21: a command in another process keeps its other functions there, whatever it says that they are', async () => {
    const test = await mine(
      { provides: ['command'], commands: [{ path: 'mine' }] },
      `getCommands() { const run = async () => 5; return [
         { path: 'mine told', description: 'd', result: async () => z.string(), runBeforeStart: async () => 7, own: () => 1, run },
         { path: 'mine odd', description: 'd', result: { toJSON: () => 'text' }, runBeforeStart: 'text', run }]; }`,
    );
    const commands = await test.kernel.host.providers.commands.of('mine');
    expect(commands.map(({ path: name, result, runBeforeStart }) => [name, result, runBeforeStart])).toEqual([
      ['mine told', undefined, undefined],
      ['mine odd', undefined, undefined],
    ]);
    const { io } = terminal([], []);
    expect(await commands[0]?.run({ arguments: {}, options: {} }, io, new AbortController().signal)).toBe(5);
  });

  it('S92: a command in another process sends the next message of its conversation, which stays a conversation here', async () => {
    const test = await mine(
      { provides: ['command'], commands: [{ path: 'mine' }] },
      `getCommands() { return [{ path: 'mine', description: 'd', rawArgument: true, overridable: true, runBeforeStart: async () => 7,
         run: async (input, io) => { io.session.send('in ' + io.session.threadId + ' with ' + io.session.agentId); } }]; }`,
    );
    const [command] = await test.kernel.host.providers.commands.of('mine');
    expect(command).toMatchObject({ rawArgument: true, overridable: true });
    expect(command?.runBeforeStart).toBeUndefined(); // it stays where it was made
    const sent: string[] = [];
    const session = { threadId: 't1', agentId: 'main', send: (text: string) => void sent.push(text) };
    await command?.run({ arguments: {}, options: {} }, { ...terminal([], []).io, session }, new AbortController().signal);
    expect(sent).toEqual(['in t1 with main']);
  });

  it('K5: what a command throws keeps its code, its cure and the fields that are wrong', async () => {
    const test = await mine(
      { provides: ['command'], commands: [{ path: 'mine' }] },
      `getCommands() { return [{ path: 'mine', description: 'd', run: async () => { throw new PithError('usage', 'no', { cure: 'say yes', retryAfterMs: 9, problems: [{ path: ['a', 0], message: 'is no' }, 'odd'] }); } }]; }`,
    );
    const [command] = await test.kernel.host.providers.commands.of('mine');
    const run = command?.run({ arguments: {}, options: {} }, terminal([], []).io, new AbortController().signal);
    await expect(run).rejects.toMatchObject({
      code: 'usage',
      message: 'no',
      cure: 'say yes',
      retryAfterMs: 9,
      problems: [{ path: ['a', 0], message: 'is no' }],
    });
  });

  it('K5: a model streams from another process, with credit, and its errors keep what retries need', async () => {
    const test = await mine(
      { provides: ['model'], models: [{ prefix: 'mine' }] },
      `async models() { return [{ name: 'm', contextWindow: 100 }]; }
       getModel(name) { return { contextWindow: 100, model: { specificationVersion: 'v3', provider: 'mine', modelId: name, doStream: async ({ prompt }) => {
         if (name === 'broken') throw Object.assign(new Error('slow down'), { statusCode: 429, isRetryable: true, responseHeaders: { 'retry-after': '2' } });
         const say = async function* () { for (let n = 0; n < 300; n += 1) yield { type: 'text-delta', id: '0', delta: String(n) + ' ' }; yield { type: 'error', error: Object.assign(new Error('late'), { statusCode: 500 }) }; };
         return { stream: say() }; } } }; }`,
    );
    const provider = await test.kernel.host.providers.models.of('mine');
    expect(await provider.models('mine')).toEqual([{ name: 'm', contextWindow: 100 }]);
    const { model, contextWindow } = await provider.getModel('m', 'mine');
    expect({ id: model.modelId, contextWindow }).toEqual({ id: 'm', contextWindow: 100 });
    const parts = [];
    for await (const part of (await model.doStream({ prompt: [] })).stream) parts.push(part);
    expect(parts).toHaveLength(301);
    expect(parts.at(-1)).toMatchObject({ type: 'error', error: { message: 'late', statusCode: 500 } });
    const { model: broken } = await provider.getModel('broken', 'mine');
    const read = async () => {
      for await (const part of (await broken.doStream({ prompt: [] })).stream) parts.push(part);
    };
    await expect(read()).rejects.toMatchObject({ statusCode: 429, retryable: true, responseHeaders: { 'retry-after': '2' } });
  });

  it.each([
    ['is cancelled while it is still being opened', 'new Promise(() => fs.writeFileSync(at("asked"), ""))', 'n', 0, 'aborted'],
    [
      'opens after it was cancelled',
      'new Promise((open) => { abortSignal.addEventListener("abort", open); fs.writeFileSync(at("asked"), ""); })',
      'n',
      0,
      'returned',
    ],
    ['is left before its first part', '0', 'n', -1, 'returned'],
    ['holds a part that cannot be sent', '0', '10n', 1, 'returned'],
    ['is cancelled while the other side has no room', '0', 'n', 3, 'returned'],
  ])('B6: a stream that %s is given back', async (_, opens, part, reads, left) => {
    const test = await mine(
      { provides: ['model'], models: [{ prefix: 'mine' }] },
      `async models() { return []; }
       getModel(name) {
         const at = (file) => this.context.dataDirectory + '/' + file;
         let n = 0;
         const parts = { [Symbol.asyncIterator]: () => parts, next: async () => ({ done: false, value: { type: 'text-delta', id: '0', delta: String(n++), n: ${part} } }),
           return: async () => { fs.writeFileSync(at('returned'), ''); return { done: true, value: undefined }; } };
         return { contextWindow: null, model: { specificationVersion: 'v3', provider: 'mine', modelId: name, doStream: async ({ abortSignal }) => { abortSignal.addEventListener('abort', () => fs.writeFileSync(at('aborted'), '')); await ${opens}; return { stream: parts }; } } };
       }`,
      { head: "import fs from 'node:fs';" },
    );
    const stop = new AbortController();
    const { model } = await (await test.kernel.host.providers.models.of('mine')).getModel('m', 'mine');
    const read = async () => {
      let count = 0;
      const { stream } = await model.doStream({ prompt: [], abortSignal: stop.signal });
      if (reads === -1) return stream[Symbol.asyncIterator]().return?.();
      for await (const _part of stream) if ((count += 1) === reads) return undefined;
      return undefined;
    };
    const reading = read().then(
      () => 'left',
      ({ code }: { code: string }) => code,
    );
    const inData = (file: string) => path.join(test.sandbox, 'data/extensions/mine', file);
    if (reads === 0) {
      await until(() => existsSync(inData('asked')));
      stop.abort();
    }
    expect(await reading).toBe({ [-1]: 'left', 0: 'aborted', 1: 'not_serialisable', 3: 'left' }[reads]);
    await until(() => existsSync(inData(left)));
  });

  it('K5: keys under agent: are checked where their schema lives', async () => {
    const files = {
      'agents/asker/manifest.yaml': 'id: asker\nagent:\n  mood: odd\n',
      'agents/fine/manifest.yaml': 'id: fine\nagent:\n  mood: good\n',
    };
    const keys = `static agentKeys = { mood: z.enum(['good', 'bad']) }; getTools() { return []; }`;
    const test = await mine({ provides: ['tool'], agent_keys: ['mood'] }, keys, { files });
    const states = (await test.kernel.agents.list()).map(({ id, state, notes }) => [id, state, notes[0]?.line]);
    expect(states).toEqual([
      ['asker', 'failed', 3],
      ['fine', 'active', undefined],
    ]);
  });

  it('K5: channels are told through their process', async () => {
    const pager = `kinds = ['pager']; async deliver(message, target) { return target + ':' + message.text; }`;
    const asks = main(
      'asks',
      `getTools() { return [defineTool({ name: 'page', description: 'd', input: z.object({}), execute: async () => { const [channel] = this.context.find(ChannelProvider); return { kinds: channel.kinds, said: await channel.deliver({ text: 'hi', kind: 'note' }, 'me') }; } })]; }`,
      "import { ChannelProvider } from 'pith';",
    );
    const files = {
      ...manifest('asks', { provides: ['tool'] }),
      ...asks,
      'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [asks] }\n',
    };
    const test = await mine({ provides: ['channel'] }, pager, { files });
    await test.kernel.host.extensions.activate('mine');
    expect(await test.kernel.agents.callTool('asker', 'page', {})).toEqual({ ok: true, output: { kinds: ['pager'], said: 'me:hi' } });
  });

  it('K31: a durable event reaches a handler in its process, with its delivery', async () => {
    const body = `async changed(payload, delivery) { await this.context.kv.set('seen', { task: payload.taskId, attempt: delivery.attempt, correlated: delivery.correlationId !== '', signal: delivery.signal instanceof AbortSignal });
         this.context.events.publish('provider.changed', { protocol: 'handled' }); }
       getTools() { const { context } = this; return [
         defineTool({ name: 'tell', description: 'd', input: z.object({}), execute: async () => typeof (await context.events.publish(defineTopic('task.changed', { durable: true }), { v: 1, taskId: 't1', state: 'done', goal: 'g', threadId: null, note: null })) }),
         defineTool({ name: 'seen', description: 'd', input: z.object({}), execute: () => context.kv.get('seen') })]; }`;
    const defines = { topics: { 'task.changed': { durable: true } } };
    const events = { handles: [{ topic: 'task.changed', handler: 'changed' }] };
    const files = { 'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [mine] }\n' };
    const test = await mine({ provides: ['tool'], defines, events }, body, { files });
    await test.kernel.start();
    const handled = new Promise((resolve) => test.kernel.events.handle('provider.changed', resolve));
    expect(await test.kernel.agents.callTool('asker', 'tell', {})).toEqual({ ok: true, output: 'string' });
    await handled;
    expect(await test.kernel.agents.callTool('asker', 'seen', {})).toEqual({
      ok: true,
      output: { task: 't1', attempt: 1, correlated: true, signal: true },
    });
  });
});
