import path from 'node:path';
import type { LanguageModel, ModelPart, TurnEvent } from '../../core/contract/index.ts';
import { createKernel, type Kernel } from '../../core/compose/index.ts';
import { inProcess } from '../fixtures/in-process.ts';
import { systemClock } from '@pith/promises';
import { openDatabase, openStore, sqliteLeaseRows } from '../../core/store/index.ts';

import { type Agents, type CallRecord, createAgents, createSqliteThreads, type TurnRecord } from '../../core/agent/index.ts';
import { interleaved, scaled, timed, type Bench, type Row } from './measure.ts';
import { inFolder, put } from './places.ts';
import { storesInMemory } from '../core/agent/threads/in-memory.ts';

/** What a step costs beyond the model and the tool. */
export const loop: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => [...(await loopOverhead(runs, quick, folder)), ...(await durableSteps(runs, folder))]);

async function loopOverhead(runs: number, quick: boolean, folder: string): Promise<readonly Row[]> {
  const sandbox = path.join(folder, 'sandbox');
  await put(path.join(sandbox, 'extensions/echo/manifest.yaml'), 'id: echo\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [tool]\n');
  await put(
    path.join(sandbox, 'extensions/echo/main.ts'),
    "import { defineTool, z } from 'pith';\nexport default class { getTools() { return [defineTool({ name: 'echo', description: 'd', input: z.object({ text: z.string() }), effect: 'read', execute: ({ text }) => text })]; } }\n",
  );
  await put(
    path.join(sandbox, 'agents/main/manifest.yaml'),
    'id: main\nversion: 1.0.0\nagent:\n  uses_tools: [echo]\n  limits: { max_turns: 100000, max_tool_calls: 100000, max_tokens: 1000000000 }\n',
  );
  let steps = 0;
  const parts = inProcess(); // the loop alone; the way to another process has rows of its own
  const kernel = await createKernel({ accepts: true, sandbox, env: {}, home: null, only: [] }, parts);
  const agents = agentsInMemory(
    kernel,
    sandbox,
    modelOf(() => steps-- > 0),
  );
  const rows: Row[] = [];
  const turn = async (count: number) => {
    steps = count;
    const end = await drain(agents, 'main');
    if (end.type !== 'turn-end' || end.reason !== 'done') throw new Error(JSON.stringify(end));
  };
  for (let round = 0; round < 20; round++) await turn(200); // warm: the figure is the code's, not the compiler's
  for (const count of quick ? [100, 1000] : [10, 100, 1000]) {
    const found = await interleaved(runs * 3, {
      floor: () => timed(() => bareLoop(count)),
      none: () => timed(() => turn(0)),
      measured: () => timed(() => turn(count)),
    });
    const { median, min, max } = found.measured;
    const base = found.none.median;
    const each = scaled({ median: median - base, min: min - base, max: max - base }, 1000 / count);
    rows.push({
      figure: `loop overhead of a further step with a tool call, ${count.toLocaleString('en')} steps`,
      unit: 'µs',
      measured: each,
      floor: scaled(found.floor, 1000 / count),
      boundsAt: 1.6,
      must: 60,
      aim: 15,
    });
  }
  await kernel.stop();
  return rows;
}

function agentsInMemory(kernel: Kernel, sandboxDir: string, model: LanguageModel): Agents {
  const stores = storesInMemory();
  return createAgents({
    host: kernel.host,
    models: {
      resolve: async () => ({ ref: 'bench/bench', why: 'given', model, contextWindow: null }),
      isAlias: () => true,
      providerOf: () => null,
      price: () => null,
      check: () => 'default',
    },
    stores: () => stores,
    events: kernel.events,
    clock: systemClock,
    sandboxDir,
  });
}

function modelOf(calls: () => boolean): LanguageModel {
  let made = 0;
  return { specificationVersion: 'v3', provider: 'bench', modelId: 'bench', doStream: async () => ({ stream: partsOf(calls(), made++) }) };
}

const USAGE = {
  inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: undefined, reasoning: undefined },
};

async function* partsOf(calls: boolean, at: number): AsyncGenerator<ModelPart> {
  if (calls) yield { type: 'tool-call', toolCallId: `call-${at}`, toolName: 'echo', input: '{"text":"hello"}' };
  else yield { type: 'text-delta', id: '0', delta: 'done' };
  yield { type: 'finish', finishReason: { unified: calls ? 'tool-calls' : 'stop', raw: undefined }, usage: USAGE };
}

/** The same model and the same tool, and nothing else. */
async function bareLoop(steps: number): Promise<number> {
  const model = modelOf(() => true);
  let length = 0;
  for (let step = 0; step < steps; step++) {
    for await (const part of (await model.doStream({ prompt: [] })).stream) {
      if (part.type === 'tool-call') length += (JSON.parse(part.input) as { text: string }).text.length;
    }
  }
  return length;
}

let drained = 0;

async function drain(agents: Agents, agent: string): Promise<TurnEvent> {
  let last: TurnEvent | undefined;
  for await (const event of agents.run({ agent, threadId: `t${drained++}`, channelId: 'bench', userId: 'bench', input: 'go' }))
    last = event;
  return last as TurnEvent;
}

/** A step that is on disk before the next one begins. */
async function durableSteps(runs: number, folder: string): Promise<readonly Row[]> {
  const store = openStore(path.join(folder, 'steps.db'), systemClock);
  const [clock, fence] = [{ now: () => 0 }, { name: 'bench', holder: 'bench' }];
  await sqliteLeaseRows(store, clock).take(fence, 1e12);
  const threads = createSqliteThreads(store, clock as never).writer(fence);
  const plain = openDatabase(path.join(folder, 'floor.db'));
  plain.exec('CREATE TABLE steps (turn TEXT, step INTEGER, message TEXT, PRIMARY KEY (turn, step)) WITHOUT ROWID');
  const message = {
    role: 'assistant' as const,
    content: [{ type: 'tool-call' as const, toolCallId: 'c', toolName: 'echo', input: { text: 'hello' } }],
  };
  const text = JSON.stringify(message);
  const usage = { inputTokens: 1, outputTokens: 1 };
  let at = 0;
  const begin = async () => {
    const id = `turn-${at++}`;
    await threads.beginTurn({
      thread: { id: `thread-${id}`, agentId: 'a', date: '2026-01-01', title: '' },
      turn: turnOf(id),
      messages: [],
    });
    return id;
  };
  const work = async (id: string, steps: number) => {
    for (let step = 0; step < steps; step++)
      await threads.recordStep(id, { step, message, calls: [callOf(id, step)], usage, own: usage, model: 'test/a' });
  };
  const steps = 200;
  const alone = await interleaved(runs, {
    floor: () =>
      timed(() => {
        for (let step = 0; step < steps; step++) plain.run('INSERT INTO steps VALUES (?, ?, ?)', `alone-${at++}`, step, text);
      }),
    measured: async () => {
      const id = await begin();
      return timed(() => work(id, steps));
    },
  });
  const many = 100;
  const each = 20;
  const together = await interleaved(runs, {
    floor: () =>
      timed(() => {
        for (let step = 0; step < each; step++) {
          plain.run('BEGIN IMMEDIATE');
          for (let turn = 0; turn < many; turn++) plain.run('INSERT INTO steps VALUES (?, ?, ?)', `many-${at++}`, step, text);
          plain.run('COMMIT');
        }
      }),
    measured: async () => {
      const ids = await Promise.all(Array.from({ length: many }, begin));
      return timed(() => Promise.all(ids.map((id) => work(id, each))));
    },
  });
  await store.close();
  plain.close();
  return [
    {
      figure: 'durable step alone',
      unit: 'µs',
      measured: scaled(alone.measured, 1000 / steps),
      floor: scaled(alone.floor, 1000 / steps),
      bounds: 'ratio',
      must: 1.6,
      aim: 1.25,
      note: 'message, call and usage in one commit',
    },
    {
      figure: 'durable step, 100 turns at once',
      unit: 'µs',
      measured: scaled(together.measured, 1000 / many / each),
      floor: scaled(together.floor, 1000 / many / each),
      bounds: 'ratio',
      must: 5,
      aim: 3,
    },
  ];
}

function turnOf(id: string): TurnRecord {
  return {
    id,
    threadId: `thread-${id}`,
    agent: { id: 'a' } as never,
    channelId: '',
    userId: '',
    policy: {} as never,
    correlationId: '',
    depth: 0,
    state: 'running',
    steps: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
    startedAt: 0,
    key: null,
  };
}

function callOf(turnId: string, step: number): CallRecord {
  return {
    turnId,
    step,
    index: 0,
    callId: 'c',
    name: 'echo',
    extensionId: 'echo',
    tool: 'echo',
    input: { text: 'hello' },
    effect: 'read',
    state: 'requested',
    result: null,
  };
}
