import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { type ModelPart, toolError, toolResult } from '../../../core/contract/index.ts';
import { agent, call, calls, createWorld, type FakeTool, resultsIn, together, type World } from './world.ts';
import { words } from '../../words.ts';
import type { ThreadWriter } from '../../../core/agent/index.ts';

/** Who wrote an answer is kept with it. */
const BY_SCRIPT = { pith: { model: 'scripted/scripted' } };

describe('one turn', () => {
  it('K45 persists a turn step by step and ends with turn-end', async () => {
    const world = await createWorld({
      tools: { look: { run: () => ({ found: 3 }) } },
      script: [{ text: 'Looking.', calls: [{ name: 'look', input: { at: 'x' } }] }, { text: 'Three.' }],
    });
    const { events, end } = await world.run('How many?');
    expect(events.map(({ type }) => type)).toEqual(
      words('turn-start text-delta tool-call tool-result step-end text-delta step-end turn-end'),
    );
    expect(end).toEqual({ type: 'turn-end', reason: 'done', text: 'Three.', usage: { inputTokens: 20, outputTokens: 10 } });
    expect(events[3]).toMatchObject({ name: 'look', ok: true, output: { found: 3 } });
    expect(await world.history()).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'How many?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Looking.' },
          { type: 'tool-call', toolCallId: 'call-1-0', toolName: 'look', input: { at: 'x' } },
        ],
        providerOptions: BY_SCRIPT,
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'call-1-0', toolName: 'look', output: { type: 'text', value: '{"found":3}' } }],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Three.' }], providerOptions: BY_SCRIPT },
    ]);
    expect(world.model.requests[1]?.messages).toEqual((await world.history()).slice(0, 3));
    expect(await world.threads.unfinished('thread')).toBeNull();
    expect(world.recorded.of('turn.ended')).toMatchObject([{ reason: 'done' }]);
    expect(world.recorded.of('tool.called')).toMatchObject([{ extensionId: 'ext', tool: 'look', ok: true }]);
  });

  it('DESIGN 3.4 parallel calls run side by side; results stand in call order, events as they finish', async () => {
    const arrived: string[] = [];
    let release = () => undefined as void;
    const both = new Promise<void>((resolve) => (release = resolve));
    const world = await createWorld({
      tools: {
        slow: { run: async () => (arrived.push('slow'), await both) },
        quick: { run: () => void (arrived.push('quick'), setImmediate(release)) },
      },
      script: [{ calls: calls('slow', 'quick') }, { text: 'done' }],
    });
    const { results } = await world.run('go');
    expect(arrived).toEqual(['slow', 'quick']);
    expect(results.map(({ name }) => name)).toEqual(['quick', 'slow']);
    expect(resultsIn((await world.history())[2]).map(({ toolName }) => toolName)).toEqual(['slow', 'quick']);
  });

  it('K44 a name that a model repeats without end is cut, and says no more than others', async () => {
    const world = await createWorld({ tools: {}, script: [call('n'.repeat(1_000_000)), { text: 'sorry' }] });
    const { results } = await world.run('go');
    expect(results).toMatchObject([{ name: 'n'.repeat(200), error: { code: 'tool_unknown' } }]);
    expect(JSON.stringify(await world.history()).length).toBeLessThan(10_000);
  });

  it('K44 an unknown tool and input that is no object are answered, with the nearest names', async () => {
    const world = await createWorld({
      tools: { read_skill: {}, other: {} },
      script: [together(call('raed_skill'), call('other', '{"a":'), call('other', '[1]'), call('other', '')), { text: 'sorry' }],
    });
    const { results } = await world.run('go');
    expect(results.map(({ ok, error }) => [ok, error?.code])).toEqual([
      [false, 'tool_unknown'],
      [false, 'tool_input_invalid'],
      [false, 'tool_input_invalid'],
      [true, undefined],
    ]);
    expect(results[0]?.error?.message).toContain('read_skill');
    expect(resultsIn(world.model.requests[1]?.messages.at(-1))[1]?.output).toMatchObject({
      type: 'error-json',
      value: { error: { code: 'tool_input_invalid' } },
    });
    expect(world.calls).toMatchObject([{ tool: 'ext/other', input: {} }]);
  });

  it('T19 F27: arguments nested 200,000 deep are refused before anything walks them, and the turn goes on', async () => {
    const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    const inputs = [deep(200_000), `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`, deep(61)];
    const world = await createWorld({
      tools: { other: { needsApproval: 'always' } },
      script: [together(...inputs.map((input) => call('other', input))), { text: 'sorry' }],
    });
    const { results, end } = await world.run('go');
    const message = "the input of 'other' is nested more than 60 levels deep; give it flatter, or as text";
    expect(results.map(({ error }) => error)).toEqual(inputs.map(() => ({ code: 'tool_input_invalid', message })));
    expect(end).toMatchObject({ reason: 'done', text: 'sorry' });
    expect(world.calls).toEqual([]);
  });

  it('E6 an input with a lone surrogate is refused, with its place, whatever the tool: nothing would keep it as it is', async () => {
    const inputs = ['{"a":["x\\n\\ud83d!"]}', '{"\\udc00":1}', '{"a":"\\ud83d\\ude00"}'];
    const world = await createWorld({
      tools: { other: {} },
      script: [together(...inputs.map((input) => call('other', input))), { text: 'ok' }],
    });
    const { results } = await world.run('go');
    const of = (half: string, line: number) =>
      `the input of 'other' has a lone surrogate, which is half of a character (${half}) in line ${line} of a text; give the whole character`;
    expect(results.map(({ error }) => error?.message)).toEqual([of('\\ud83d', 2), of('\\udc00', 1), undefined]);
    expect(world.calls).toMatchObject([{ input: { a: '😀' } }]);
  });

  it('DESIGN 3.4 calls that share an id, or have none, keep their own results', async () => {
    const world = await createWorld({
      tools: { echo: { run: (input) => (input as { n: string }).n } },
      script: [{ calls: ['a', 'b', 'c'].map((n) => ({ name: 'echo', input: { n }, id: n === 'c' ? '' : 'same' })) }, { text: 'ok' }],
    });
    await world.run('go');
    const [, asked, answered] = await world.history();
    const ids = asked?.role === 'assistant' ? asked.content.map((part) => part.type === 'tool-call' && part.toolCallId) : [];
    expect(new Set(ids).size).toBe(3);
    expect(resultsIn(answered)).toMatchObject(['a', 'b', 'c'].map((value, index) => ({ toolCallId: ids[index], output: { value } })));
  });

  it('DESIGN 3.4 metadata is for channels, retain for compaction; neither reaches the model', async () => {
    const world = await createWorld({
      tools: { t: { run: () => toolResult('text', { title: 'T', metadata: { a: 1 }, retain: { key: 'k', digest: 'd' } }) } },
      script: [call('t'), { text: 'ok' }],
    });
    const { results } = await world.run('go');
    expect(results).toMatchObject([{ output: 'text', title: 'T', metadata: { a: 1 } }]);
    expect(JSON.stringify(world.model.requests[1]?.messages)).not.toMatch(/"a":1|digest/);
    expect((await world.threads.load('thread'))?.messages[2]?.retain).toEqual({ 'call-1-0': { key: 'k', digest: 'd' } });
  });

  it('K5 a model error ends the turn with reason error and never as the answer', async () => {
    const world = await createWorld({
      script: [{ text: 'Half', breakWith: Object.assign(new Error('boom'), { statusCode: 400 }) }, { text: 'fine' }],
    });
    const { end, events } = await world.run('hi');
    expect(end).toMatchObject({ reason: 'error', text: 'Half', error: { code: 'model_failed' } });
    expect(end.error?.message).toContain('model scripted/scripted: boom');
    expect(events.filter(({ type }) => type === 'text-delta')).toHaveLength(1);
    expect((await world.run('again')).end.reason).toBe('done');
  });

  it('K44 an empty answer, a cut answer and a filtered one are said', async () => {
    const world = await createWorld({
      tools: { t: {} },
      script: [
        {},
        { text: 'long', finish: 'length' },
        { finish: 'content-filter' },
        { text: 'Saving.', calls: [{ name: 't', input: {} }] },
        {},
      ],
    });
    expect((await world.run('1')).end).toMatchObject({ reason: 'error', error: { code: 'model_failed' } });
    expect((await world.run('2')).notices).toEqual(['answer_cut']);
    expect((await world.run('3')).notices).toEqual(['answer_filtered']);
    const last = await world.run('4');
    expect(last.end).toMatchObject({ reason: 'done', text: 'Saving.' });
    expect(last.notices).toEqual(['answer_empty']);
    world.model.expectFinished();
  });

  it('DESIGN 3.4 the system text is byte-identical between turns, also after one that failed', async () => {
    const world = await createWorld({
      agents: [agent('main', { prompt: 'Today is {{ date }}.' })],
      extensions: { ctx: { context: { priority: 60, get: () => 'CATALOG' } } },
      script: [{ text: 'a' }, { error: Object.assign(new Error('no'), { statusCode: 400 }) }, { text: 'b' }],
    });
    await world.run('one');
    await world.clock.advance(2 * 86_400_000);
    await world.run('two');
    await world.run('three');
    expect(world.model.requests.map(({ system }) => system)).toEqual(Array(3).fill('Today is 2026-01-01.\n\nCATALOG'));
    expect(world.model.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(world.model.requests[2]?.messages[2]?.content).toEqual([{ type: 'text', text: 'three' }]);
  });

  it('W32 a message of more than two million characters is refused with what to do, before anything of it is kept', async () => {
    const world = await createWorld({ script: [{ text: 'a' }] });
    const { end } = await world.run('x'.repeat(2 * 1024 * 1024 + 1));
    expect(end).toMatchObject({ reason: 'error', error: { code: 'usage', message: expect.stringContaining('at most 2097152') } });
    expect(await world.threads.list(10)).toEqual([]);
    expect((await world.run(`a  ${' '.repeat(1024 * 1024 - 4)}b`)).end.reason).toBe('done');
  });

  it('DESIGN 3.4 an empty message is refused, and a store that fails ends the turn without a throw', async () => {
    const world = await createWorld({ script: [{ text: 'a' }] });
    expect((await world.run('  ')).end).toMatchObject({ reason: 'error', error: { code: 'usage' } });
    failing(world, { recordStep: () => Promise.reject(new Error('disk full')) });
    expect((await world.run('hi')).end).toMatchObject({ reason: 'error', error: { message: 'disk full' } });
  });

  it('DESIGN 3.4 a result that cannot be stored ends the turn, after its sibling calls, without a stray rejection', async () => {
    const done: string[] = [];
    const slow = async () => {
      for (let round = 0; round < 5; round += 1) await new Promise((resolve) => setImmediate(resolve));
      done.push('slow');
    };
    const world = await createWorld({ tools: { quick: {}, slow: { run: slow } }, script: [{ calls: calls('quick', 'slow') }] });
    failing(world, { finishCall: () => Promise.reject(new Error('disk full')) });
    expect((await world.run('hi')).end).toMatchObject({ reason: 'error', error: { message: 'disk full' } });
    expect(done).toEqual(['slow']);
  });
});

describe('ending a turn early', () => {
  it('DESIGN 3.4 an abort while the model speaks keeps what was said', async () => {
    const world = await createWorld({ script: [{ text: 'Half of', hang: true }, { text: 'next' }] });
    const stop = new AbortController();
    const events = [];
    for await (const event of world.turn('hi', stop.signal)) {
      events.push(event);
      if (event.type === 'text-delta' && event.text === 'of') stop.abort();
    }
    expect(events.at(-1)).toMatchObject({ type: 'turn-end', reason: 'aborted', text: 'Half of' });
    expect((await world.history())[1]).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: 'Half of' }] });
    expect(await world.threads.unfinished('thread')).toBeNull();
    expect((await world.run('go on')).end.reason).toBe('done');
  });

  it('DESIGN 3.4 an abort while a tool runs answers every call, so that the history stays valid', async () => {
    const stop = new AbortController();
    const hang: FakeTool = {
      run: (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    };
    const world = await createWorld({
      tools: { hang, quick: { run: () => setImmediate(() => stop.abort()) && 'q' } },
      script: [{ calls: calls('hang', 'quick') }, { text: 'next' }],
    });
    const { end } = await world.run('go', {}, stop.signal);
    expect(end.reason).toBe('aborted');
    expect(resultsIn((await world.history())[2]).map(({ output }) => output.type)).toEqual(['error-json', 'text']);
    expect((await world.run('on')).end.reason).toBe('done');
  });

  it('DESIGN 3.4 who stops reading ends the turn and lets the next one in', async () => {
    const world = await createWorld({ script: [{ text: 'Half', hang: true }, { text: 'next' }] });
    for await (const event of world.turn('hi')) if (event.type === 'text-delta') break;
    expect(await world.threads.unfinished('thread')).toBeNull();
    expect((await world.run('on')).text).toBe('next');
  });

  it('DESIGN 3.4 who leaves while a model hangs ends the turn at once', async () => {
    const world = await createWorld({ script: [{ text: 'Half', hang: true }, { text: 'next' }] });
    const turn = world.turn('hi');
    for (let event = await turn.next(); event.value?.type !== 'text-delta';) event = await turn.next();
    const pending = turn.next();
    await turn.return(undefined);
    expect(await pending).toMatchObject({ done: expect.any(Boolean) });
    expect(await turn.next()).toEqual({ done: true, value: undefined });
    expect([world.store.all('SELECT state FROM turns'), leases(world)]).toEqual([[{ state: 'aborted' }], []]);
  });

  it('DESIGN 3.4 a turn that nobody reads on ends when it is stopped, and whoever reads later hears how', async () => {
    const stop = new AbortController();
    const world = await createWorld({ script: [{ text: 'Half', hang: true }] });
    const turn = world.turn('hi', stop.signal);
    await turn.next();
    stop.abort();
    await vi.waitFor(() => expect(leases(world)).toEqual([]));
    const rest = [];
    for await (const event of turn) rest.push(event);
    expect(rest.at(-1)).toMatchObject({ type: 'turn-end', reason: 'aborted' });
  });

  it('DESIGN 3.4 who leaves gets back when how the turn ended is stored, and its tools have heard of it', async () => {
    const heard: unknown[] = [];
    const run: FakeTool['run'] = (_, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => (heard.push(signal.aborted), resolve('late'))));
    const world = await createWorld({ tools: { quick: {}, slow: { run } }, script: [{ calls: calls('quick', 'slow') }] });
    const turn = world.turn('hi');
    for await (const event of turn) if (event.type === 'tool-result') break;
    expect(heard).toEqual([true]);
    expect(world.store.all('SELECT state FROM turns')).toEqual([{ state: 'aborted' }]);
    expect(world.store.all('SELECT state FROM calls')).toEqual([{ state: 'finished' }, { state: 'finished' }]);
    expect(leases(world)).toEqual([]);
  });

  it('DESIGN 3.4 waits for a slow reader', async () => {
    let given = 0;
    const world = await createWorld();
    const doStream = async () => ({
      stream: (async function* (): AsyncGenerator<ModelPart> {
        for (; given < 1_000; given += 1) yield { type: 'text-delta', id: '1', delta: 'a' };
      })(),
    });
    Object.assign(world.model.model, { doStream });
    const turn = world.turn('hi');
    for (let read = 0; read < 10; read += 1) await turn.next();
    for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(given).toBeLessThan(20);
    await turn.return(undefined);
  });

  it('DESIGN 3.4 runs in the context in which it was asked for, whoever reads it', async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const world = await createWorld({
      tools: { t: { run: () => void seen.push(context.getStore()) } },
      script: [
        () => (seen.push(context.getStore()), { text: 'a', calls: [{ name: 't', input: {} }] }),
        () => (seen.push(context.getStore()), { text: 'b' }),
      ],
    });
    const turn = context.run('asker', () => world.turn('hi'));
    await context.run('reader', async () => {
      for await (const _ of turn) expect(context.getStore()).toBe('reader');
    });
    expect(seen).toEqual(['asker', 'asker', 'asker']);
  });

  it('K45 one turn at a time in a thread; other threads run side by side', async () => {
    let running = 0;
    let most = 0;
    const step = async () => {
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return { text: 'ok' };
    };
    const world = await createWorld({ script: [step, step, step, step] });
    await Promise.all([world.run('1'), world.run('2')]);
    expect(most).toBe(1);
    expect((await world.history()).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    await Promise.all([world.run('3', { threadId: 'b' }), world.run('4', { threadId: 'c' })]);
    expect(most).toBe(2);
  });

  it('K45 an aborted wait for the thread ends as aborted', async () => {
    const world = await createWorld();
    const stop = new AbortController();
    stop.abort();
    expect((await world.run('hi', {}, stop.signal)).end).toMatchObject({ reason: 'aborted' });
  });

  it('K45 a thread that cannot be given back does not end its turn twice', async () => {
    const world = await createWorld({ script: [{ text: 'done' }] });
    const stays = `CREATE TRIGGER stays BEFORE DELETE ON leases BEGIN SELECT RAISE(ABORT, 'the lease stays'); END`;
    await world.store.write((statement) => void statement(stays));
    const { events } = await world.run('hi');
    expect(events.filter(({ type }) => type === 'turn-end')).toMatchObject([{ reason: 'done', text: 'done' }]);
    await world.kernel.stop();
    expect(readFileSync(path.join(world.sandbox, 'data/logs/pith.log'), 'utf8')).toContain("thread 'thread' was not given back");
  });
});

/** Who has a thread now, apart from the test. */
const leases = ({ store }: World) => store.all(`SELECT * FROM leases WHERE name <> 'test'`);

/** From now on these writes of turns fail. */
function failing({ threads }: World, writes: Partial<ThreadWriter>): void {
  const { writer } = threads;
  threads.writer = (fence) => ({ ...writer(fence), ...writes });
}

describe('the size of a tool result', () => {
  const huge = (run: () => unknown) => createWorld({ tools: { huge: { run } }, script: [call('huge'), { text: 'done' }] });
  const resultOf = async (run: () => unknown) => (await (await huge(run)).run('go')).results[0];

  it('leaves what has a sane size alone, a part of a long skill file included', async () => {
    const output = 'x'.repeat(1_100_000);
    expect(await resultOf(() => output)).toMatchObject({ ok: true, output });
  });

  it('cuts what is larger to head and tail, says so, and does not keep it', async () => {
    const text = await resultOf(() => `begin${'x'.repeat(5_000_000)}end`);
    expect(text).toMatchObject({ ok: true, output: expect.stringMatching(/^begin[^]*characters cut[^]*end$/) });
    expect(JSON.stringify(text).length).toBeLessThan(100_000);
    const list = Array.from({ length: 400_000 }, (_, index) => index);
    const world = await huge(() => toolResult(list, { retain: { key: 'k', digest: 'd' } }));
    const { results } = await world.run('go');
    expect(results).toMatchObject([{ ok: true, output: expect.stringMatching(/^\[0,1,2[^]*characters cut/) }]);
    expect((await world.threads.load('thread'))?.messages.filter(({ retain }) => Object.keys(retain).length > 0)).toEqual([]);
  });

  it('cuts endless messages of failures', async () => {
    const failed = await resultOf(() => toolError('not_serialisable', `result${'.a'.repeat(100_000)}`));
    expect(JSON.stringify(failed).length).toBeLessThan(5_000);
    expect(failed).toMatchObject({ ok: false, error: { code: 'not_serialisable' } });
  });
});
