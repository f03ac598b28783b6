import { describe, expect, it } from 'vitest';
import type { JobInfo, JsonValue } from 'pith';
import { fakeClock, type TestKernel, type TestKernelOptions } from 'pith/testing';
import path from 'node:path';
import { openStore } from '../../../core/store/index.ts';
import { kernelOf } from '../../places.ts';
import { until } from '../../waiting.ts';

const MANIFEST = `id: worker
entrypoint: main.ts
provides: [tool]
jobs:
  - { name: greet }
  - { name: flaky, attempts: 2, backoff: { first_ms: 1, most_ms: 1 } }
  - { name: pausing }
  - { name: slow }
  - { name: told, concurrency: 1 }
`;
const MAIN = `import { codeOf, defineTool, type ExtensionContext, type JsonValue, messageOf, toolError, toolResult, z } from 'pith';

export default class Worker {
  constructor(private readonly context: ExtensionContext) {
    const { jobs, kv, clock } = context;
    jobs.define<{ name: string }>('greet', async ({ payload }) => {
      const odd = JSON.parse('["nul \\\\u0000, half a pair \\\\ud800", { "__proto__": -1.5e300 }]') as JsonValue;
      await jobs.add('told', odd, { unique: 'odd' });
      return { hello: payload.name, odd };
    });
    jobs.define('flaky', async (job) => {
      if (job.attempt < Number(job.payload)) throw new Error('not yet');
      return [job.attempt, job.fence];
    });
    jobs.define('pausing', async ({ payload, resumed, fence }) => {
      if (payload === 'again') return fence < 3 ? jobs.again(clock.now() + 20) : fence;
      return resumed ? { ...resumed } : jobs.wait(payload as never);
    });
    jobs.define(
      'slow',
      async (job, signal) => {
        await job.note('begun');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await job.note('aborted').catch(() => undefined);
        throw signal.reason;
      },
      { ended: async ({ id, state, error }) => void (await kv.set('ended', { id, state, ...error })) },
    );
    jobs.define('told', async () => null);
  }

  getTools() {
    return [
      defineTool({
        name: 'jobs',
        description: 'Calls a method of context.jobs.',
        input: z.object({ method: z.string(), args: z.array(z.unknown()) }),
        needsApproval: false,
        execute: async ({ method, args }) => {
          const jobs = this.context.jobs as unknown as Record<string, (...args: unknown[]) => Promise<JsonValue>>;
          try {
            return toolResult((await jobs[method]!(...args)) ?? null);
          } catch (error) {
            return toolError(codeOf(error, 'tool_failed'), messageOf(error));
          }
        },
      }),
      defineTool({
        name: 'watched',
        description: 'What a job was while it was watched.',
        input: z.object({ id: z.string() }),
        needsApproval: false,
        execute: async ({ id }) => {
          const seen: JsonValue[] = [];
          for await (const { state, notes } of this.context.jobs.watch(id)) {
            seen.push([state, notes.map(({ data }) => data)]);
            if (notes.length > 0) await this.context.jobs.cancel(id, 'seen enough');
          }
          return toolResult(seen);
        },
      }),
      defineTool({
        name: 'kept',
        description: 'A value of the store.',
        input: z.object({ key: z.string() }),
        needsApproval: false,
        execute: async ({ key }) => toolResult(await this.context.kv.get(key)),
      }),
    ];
  }
}
`;
const AGENT = { 'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: ["*"] }\n' };
const WORKER = { 'extensions/worker/manifest.yaml': MANIFEST, 'extensions/worker/main.ts': MAIN, ...AGENT };

async function started(options: TestKernelOptions): Promise<TestKernel> {
  const pith = await kernelOf({ only: [], ...options });
  await pith.kernel.start();
  return pith;
}

/** What a tool answers; rejects with its error. */
async function tool<T = JsonValue>({ kernel }: TestKernel, name: string, input: Readonly<Record<string, JsonValue>>): Promise<T> {
  const result = await kernel.agents.callTool('asker', name, input);
  if (!result.ok) throw Object.assign(new Error(result.error.message), { code: result.error.code });
  return result.output as T;
}

/** Copies a job of its own accord so often. */
async function fill({ kernel }: TestKernel, id: string, times: number): Promise<void> {
  const store = openStore(path.join(kernel.settings.data_dir, 'pith.db'), fakeClock());
  const columns = store.all(`SELECT name FROM pragma_table_info('jobs')`).map(({ name }) => String(name));
  const others = columns
    .filter((name) => name !== 'id' && name !== 'number')
    .map((name) => `"${name}"`)
    .join();
  await store.write((statement) => {
    statement(
      'CREATE TEMP TABLE many AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i FROM n',
      times,
    );
    statement(`INSERT INTO jobs (id, number, ${others}) SELECT id || i, number + i, ${others} FROM jobs, many WHERE id = ?`, id);
    statement('UPDATE job_counter SET number = number + ?', times);
  });
  await store.close();
}

const jobs = <T = JsonValue>(pith: TestKernel, method: string, ...args: JsonValue[]): Promise<T> => tool<T>(pith, 'jobs', { method, args });
const add = async (pith: TestKernel, ...args: JsonValue[]): Promise<string> => (await jobs<{ id: string }>(pith, 'add', ...args)).id;
const finished = (pith: TestKernel, id: string): Promise<JobInfo> => jobs<JobInfo>(pith, 'finished', id);

describe.each([
  ['in the kernel', { isolation: 'in_process' }],
  ['in the kernel, serialised', { isolation: 'in_process', wire: true }],
  ['in a separate process', { isolation: 'process' }],
] satisfies [string, TestKernelOptions][])('context.jobs of an extension %s', (_, options) => {
  it('J1, J2, J3, J17: does what it adds, tries again, pauses, is told, cancels and watches', async () => {
    const pith = await started({ ...options, files: WORKER });

    const greeted = await finished(pith, await add(pith, 'greet', { name: 'Ada' }, { owner: 'ada' }));
    expect(greeted).toMatchObject({
      name: 'worker.greet',
      state: 'done',
      owner: 'ada',
      attempts: 0,
      error: null,
      result: { hello: 'Ada' },
    });

    // Payloads and results hold whatever JSON may hold.
    const odd = '["nul \\u0000, half a pair \\ud800",{"__proto__":-1.5e+300}]';
    expect((await pith.kernel.jobs.store.get(greeted.id))?.result).toBe(`{"hello":"Ada","odd":${odd}}`);
    expect((await pith.kernel.jobs.store.list({ names: ['worker.told'], limit: 1 }))[0]?.payload).toBe(odd);

    // A throw is a failure, and the last attempt is the end.
    expect(await finished(pith, await add(pith, 'flaky', 2))).toMatchObject({ state: 'done', attempts: 1, result: [2, 2] });
    expect(await finished(pith, await add(pith, 'flaky', 3))).toMatchObject({ state: 'dead', attempts: 2, error: { message: 'not yet' } });

    // Pauses are no failures.
    expect(await finished(pith, await add(pith, 'pausing', 'again'))).toMatchObject({ state: 'done', attempts: 0, result: 3 });
    expect(await finished(pith, await add(pith, 'pausing', { until: 1, jobs: [greeted.id] }))).toMatchObject({ result: { value: null } });
    const waiting = await add(pith, 'pausing', { resume: true });
    await until(async () => expect(await jobs(pith, 'get', waiting)).toMatchObject({ state: 'suspended' }));
    expect(await jobs(pith, 'resume', waiting, { yes: [1] })).toBe(true);
    expect(await finished(pith, waiting)).toMatchObject({ state: 'done', result: { by: 'resume', value: { yes: [1] } } });
    expect(await jobs(pith, 'resume', waiting, null)).toBe(false);

    // A cancel aborts the handler, and its extension is told.
    const slow = await add(pith, 'slow', null);
    const seen = await tool<[string, JsonValue[]][]>(pith, 'watched', { id: slow });
    expect(seen.at(-1)?.[0]).toBe('cancelled');
    expect(seen.at(-1)?.[1]).toEqual(['begun', 'aborted']);
    await until(async () =>
      expect(await tool(pith, 'kept', { key: 'ended' })).toEqual({
        id: slow,
        state: 'cancelled',
        code: 'cancelled',
        message: 'seen enough',
      }),
    );
    expect(await jobs(pith, 'cancel', slow)).toBe(false);

    // Held names wait.
    await jobs(pith, 'pause', { name: 'told' }, { reason: 'a pause' });
    const told = await add(pith, 'told', 1, { unique: 'one', sequence: 'only' });
    expect(await jobs(pith, 'add', 'told', 2, { unique: 'one' })).toEqual({ id: told, added: false });
    expect(await jobs(pith, 'list', { name: 'told', state: 'waiting' })).toMatchObject([{ id: told, state: 'waiting', payload: 1 }]);
    expect(await jobs(pith, 'get', told)).toMatchObject({ whyWaiting: `'worker.told' is paused: a pause`, times: { attemptBegun: null } });
    await jobs(pith, 'pause', { name: 'told' }, null);
    expect(await finished(pith, told)).toMatchObject({ state: 'done', result: null });
  });

  it('J8: gives back at a stop what ends by its signal, which costs nothing', async () => {
    const pith = await started({ ...options, files: WORKER });
    const id = await add(pith, 'slow', null);
    const notes = async () => ((await jobs<JobInfo>(pith, 'get', id)).notes as JobInfo['notes']).map(({ data }) => data);
    await until(async () => expect(await notes()).toEqual(['begun']));
    await pith.restart();
    const row = { state: 'waiting', attempts: 0, lost: 0, fence: 1, leaving: false };
    expect(await pith.kernel.jobs.store.get(id)).toMatchObject(row);
    await pith.kernel.start();
    await until(async () => expect(await notes()).toEqual(['begun', 'aborted', 'begun']));
    expect(await pith.kernel.jobs.store.get(id)).toMatchObject({ state: 'running', attempts: 0, lost: 0, fence: 2 });
  });

  it('J2: refuses what no job can be, in words for its author', async () => {
    const pith = await started({ ...options, files: WORKER });
    await jobs(pith, 'pause', { name: 'told' }, { reason: 'a pause' });
    await add(pith, 'told', 1, { unique: 'one' });
    const cases: readonly [string, JsonValue[], string, RegExp][] = [
      ['add', ['gret', 1], 'not_declared', /^'worker' has no job 'gret' \(did you mean 'greet'\?\)$/],
      ['add', ['greet', 1, { uniq: 'a' }], 'parameter_invalid', /^the options of a job: there is no 'uniq' \(did you mean 'unique'\?\)$/],
      ['add', ['greet', 1, { at: 'soon' }], 'parameter_invalid', /^the at of a job must be milliseconds since the epoch$/],
      ['add', ['greet', 'x'.repeat(1024 * 1024)], 'not_serialisable', /^the payload of 'worker.greet' is longer than 1 MiB$/],
      ['add', ['told', 2, { unique: 'one', onOpen: 'fail' }], 'job_exists', /^a job 'worker.told' for 'one' is open already$/],
      ['add', ['greet', 1, { inside: 'nope' }], 'job_unknown', /^'worker' has no job nope$/],
      ['add', ['greet', 1, { parent: 'nope' }], 'job_unknown', /^'worker' has no job nope$/],
      ['finished', ['01JZZZZZZZZZZZZZZZZZZZZZZZ'], 'job_unknown', /^'worker' has no job 01JZ/],
      ['schedule', ['nightly', { cron: '0 3 * *', name: 'told' }], 'parameter_invalid', /must have five fields$/],
      ['pause', [{ name: 'told', lane: 'a' }, null], 'parameter_invalid', /^what is paused is one thing$/],
      ['pause', [{}, null], 'parameter_invalid', /^what is paused is one thing$/],
      ['pause', [{ name: 'told' }, 'no'], 'parameter_invalid', /^a pause must be an object$/],
      ['add', ['greet', 1, 'none'], 'parameter_invalid', /^the options of a job must be an object$/],
      ['get', [7], 'parameter_invalid', /^the id of a job must be a text of 1 to 512 characters$/],
      ['add', ['greet', 1, { onOpen: 'kep' }], 'parameter_invalid', /^the options of a job: 'onOpen' must be one of keep, replace, fail$/],
      ['list', [{ owner: '' }], 'parameter_invalid', /^the filter of jobs: 'owner' must be a text of 1 to 512 characters$/],
      ['list', [null], 'parameter_invalid', /^the filter of jobs must be an object$/],
      ['add', ['greet', 1, { at: 9e15 }], 'parameter_invalid', /^the at of a job must be milliseconds since the epoch$/],
      [
        'add',
        ['greet', 1, { attempts: 1001 }],
        'parameter_invalid',
        /^the options of a job: 'attempts' must be a whole number from 1 to 1000$/,
      ],
      ['schedule', ['never', { cron: '0 0 30 2 *', name: 'told' }], 'parameter_invalid', /^timetable '0 0 30 2 \*' never comes due$/],
      ['schedule', ['nightly', 7], 'parameter_invalid', /^a timetable must be an object$/],
    ];
    for (const [method, args, code, message] of cases)
      await expect(jobs(pith, method, ...args)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
});

it('J2: a separate process is refused more than 100,000 open jobs, until there is room', async () => {
  const pith = await started({ isolation: 'process', files: WORKER });
  const id = await add(pith, 'pausing', { resume: true });
  await until(async () => expect(await jobs(pith, 'get', id)).toMatchObject({ state: 'suspended' }));
  await jobs(pith, 'pause', { name: 'told' }, { reason: 'a pause' });
  await fill(pith, id, 99_998);
  await pith.restart(); // it counts again
  await pith.kernel.start();
  await add(pith, 'pausing', { resume: true });
  const refused = {
    code: 'limit_reached',
    message: expect.stringMatching(/^'worker' has 100000 open jobs, and no more may wait$/),
  };
  await expect(add(pith, 'told', 1)).rejects.toMatchObject(refused);
  await jobs(pith, 'cancel', id);
  await until(() => add(pith, 'told', 1)); // it counts again after a second
  await expect(add(pith, 'told', 1)).rejects.toMatchObject(refused);
});
