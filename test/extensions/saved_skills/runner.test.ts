import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '@pith/promises';
import { RunSeal, type Run } from '../../../sandbox/extensions/saved_skills/runs/run.ts';
import { Runner, type RunnerPorts } from '../../../sandbox/extensions/saved_skills/runs/runner.ts';
import { folderWith } from '../../places.ts';
import { until } from '../../waiting.ts';
import { newRun, openRuns } from './shared-store.ts';
import { isDelivered, partsOf } from '../../../sandbox/extensions/saved_skills/runs/deliveries.ts';

const RULES = { slots: 4, preemptionMs: 0 };
const BOUNDS = { max_iterations: 5, max_tool_calls: 5, max_runtime_seconds: 100 };
const VERSION = {
  id: 'version',
  skillId: 'skill',
  number: 1,
  version: '1.0.0',
  authoredBy: null,
  digests: {},
  createdAt: 0,
  snapshot: {
    tools: [],
    input_schema: [],
    output_target: { kind: 'channel', target: '' },
    initial_message: '',
    default_emoji: '',
    state_react_emoji: {},
  },
};

/** How a turn ends, once what it waits for is there. */
type Turn = (key: string, signal: AbortSignal) => Promise<'done' | 'awaiting_approval' | 'aborted'>;

/** A runner over a store on disk, whose turns are these. */
async function runnerOf(turn: Turn, change: (runs: RunnerPorts['runs']) => RunnerPorts['runs'] = (runs) => runs) {
  const { runs, close } = await openRuns(path.join(folderWith(), 'pith.db'));
  const asked: string[] = [];
  const runner = new Runner({
    runs: change(runs),
    skills: { version: async () => VERSION, byId: async () => ({ skill: { source: 'manual', extended_bounds: false }, revision: 1 }) },
    agents: {
      async *run({ key }: { readonly key: string }, signal: AbortSignal) {
        yield { type: 'turn-end', reason: await turn(key, signal), text: key, usage: { inputTokens: 0, outputTokens: 0 } };
      },
    },
    clock: systemClock,
    logger: { warn: () => undefined, error: () => undefined },
    boundsOf: async () => BOUNDS,
    channels: async () => [],
    specOf: () => ({}),
    extensionVersions: async () => ({}),
    delivers: () => false,
    seal: new RunSeal(() => null),
    laneRules: () => RULES,
    ready: async () => true,
    queueDue: async () => void asked.push('queue'),
    deliverDue: async () => void asked.push('deliver'),
  } as unknown as RunnerPorts);
  return { runner, runs, close, asked };
}

/** A promise, and what resolves it. */
function opening() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

const aborted = (signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

describe('the runner', () => {
  it('M60 a renewal that is slow ends no attempt that has begun meanwhile', async () => {
    const first = opening();
    const renewal = opening();
    let isSlow = false;
    let turns = 0;
    const lost: unknown[] = [];
    const { runner, runs, close } = await runnerOf(
      async (_key, signal) => {
        turns += 1;
        if (turns === 1) {
          await first.promise;
          return 'awaiting_approval';
        }
        void aborted(signal).then(() => lost.push(signal.reason));
        renewal.resolve();
        await until(async () => (await runs.byId(newRun(1).id))?.state === 'running' && renewals > 1);
        return 'done';
      },
      (store) => {
        const renew = store.renew.bind(store);
        store.renew = async (...given) => {
          renewals += 1;
          if (!isSlow && given[0].some(({ attempt }) => attempt === 1)) {
            isSlow = true;
            await renewal.promise;
          }
          return renew(...given);
        };
        return store;
      },
    );
    let renewals = 0;
    const stop = new AbortController();
    const serving = runner.serve(stop.signal);
    await runs.arrive(newRun(1), RULES);
    runner.wake();
    await until(() => isSlow);
    await runs.resume(newRun(1).id); // its answer is there before it begins to wait
    first.resolve();
    await until(async () => (await runs.byId(newRun(1).id))?.state === 'ok');
    expect({ lost, turns }).toEqual({ lost: [], turns: 2 });
    stop.abort();
    await serving;
    await close();
  });

  it('M56 a process that serves for one run only leaves other lanes, timetables and deliveries to services, and gives back what it began', async () => {
    const { runner, runs, close, asked } = await runnerOf(async (key, signal) => {
      if (key === newRun(3).id) return 'done';
      await aborted(signal);
      return 'aborted';
    });
    await runs.arrive(newRun(1, { lane: 'nightly' }), RULES);
    await runs.arrive(newRun(2, { user_id: 'bob' }), RULES);
    await runs.arrive(newRun(3), RULES);
    await runner.serving('skill-default', () => until(async () => (await runs.byId(newRun(3).id))?.state === 'ok'));
    const states = async () => (await Promise.all([1, 2, 3].map((number) => runs.byId(newRun(number).id)))).map((run) => run?.state);
    expect(await states()).toEqual(['queued', 'queued', 'ok']);
    expect(asked).toEqual([]);
    await close();
  });
});

const run = (more: Partial<Run> = {}): Run =>
  ({
    id: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    skill: 'ada/report',
    cause: 'schedule',
    parentId: null,
    output: 'The report.',
    origin: { channelId: 'cli', threadId: 't1', message: null },
    ...more,
  }) as Run;

describe('where a result goes', () => {
  it('M41 M42 to its target, or where it was asked for', () => {
    expect(partsOf(run(), { kind: 'channel', target: 'pager:x' }, '')).toEqual([
      { text: 'The report.', target: 'pager:x', threadId: 't1' },
    ]);
    expect(partsOf(run(), { kind: 'dm', target: '' }, '')).toEqual([{ text: 'The report.', target: '', threadId: 't1' }]);
  });

  it('M43 to its conversation, else to its target', () => {
    expect(partsOf(run(), { kind: 'thread', target: 'pager:x' }, '')).toMatchObject([{ target: '', threadId: 't1' }]);
    const elsewhere = run({ origin: { channelId: null, threadId: null, message: null } });
    expect(partsOf(elsewhere, { kind: 'thread', target: 'pager:x' }, '')).toMatchObject([{ target: 'pager:x', threadId: null }]);
  });

  it('M44 all of it to the channel of the settings and its beginning to the conversation; unset or the same: all of it here', () => {
    const long = run({ output: 'x'.repeat(500) });
    const [whole, short] = partsOf(long, { kind: 'channel_with_summary', target: '' }, 'pager:all');
    expect(whole).toMatchObject({ target: 'pager:all', text: `${'x'.repeat(500)}` });
    expect(short?.text).toBe(`${'x'.repeat(280)}…\nAll of it: pith runs show ${long.id}`);
    for (const setting of ['', 'pager:same'])
      expect(partsOf(long, { kind: 'channel_with_summary', target: 'pager:same' }, setting)).toMatchObject([{ target: 'pager:same' }]);
  });

  it('M45 nowhere', () => {
    expect(partsOf(run(), { kind: 'webui_only', target: '' }, '')).toEqual([]);
    expect(isDelivered(run(), { kind: 'webui_only', target: '' })).toBe(false);
  });

  it('M42 not where somebody waits for it, nor what another run composed', () => {
    const here = { kind: 'channel', target: '' } as const;
    expect(isDelivered(run(), here)).toBe(true);
    expect(isDelivered(run({ cause: 'manual' }), here)).toBe(false);
    expect(isDelivered(run({ cause: 'manual' }), { kind: 'channel', target: 'pager:x' })).toBe(true);
    expect(isDelivered(run({ cause: 'schedule', parentId: 'p' }), here)).toBe(false);
  });
});
