import path from 'node:path';
import { codeOf, type ExtensionContext, type Job } from 'pith';
import { describe, expect, it } from 'vitest';
import { Jobs, type JobStore } from '../../../core/durable/index.ts';
import { createDatabase } from '../../../core/store/index.ts';
import { TaskService } from '../../../sandbox/extensions/task_engine/task-service.ts';
import type { Task } from '../../../sandbox/extensions/task_engine/task.ts';
import { TaskStore } from '../../../sandbox/extensions/task_engine/task-store.ts';
import { type Work, Worker } from '../../../sandbox/extensions/task_engine/worker.ts';
import { manualClock } from '../../core/store/manual-clock.ts';
import { temporaryStore } from '../../core/store/temporary-store.ts';
import { declared } from '../../core/durable/jobs/new-job.ts';
import { folderWith } from '../../places.ts';
import { newTask } from './task-values.ts';

const PLENTY = { unfinished: 100, subtasks: 100 };
const idOf = (at: number) => `task${String(at).padStart(6, '0')}`;
const many = <T>(count: number, make: (at: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, at) => make(at)));
const insert = (store: TaskStore, ...tasks: readonly Task[]) =>
  store.write(async (write) => {
    for (const task of tasks) write.insert(task, PLENTY);
  });

const handlers = { declared: () => new Map(), callable: () => new Set(), policies: () => new Map(), tells: () => true };
const manifest = { jobs: [declared('work'), declared('announce')] };
const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Two stores over one file, each with its own connection, as two processes have them. */
function two() {
  const file = path.join(folderWith(), 'pith.db');
  const clock = manualClock();
  const opened = () => {
    const store = temporaryStore(file, clock);
    const jobs = new Jobs({ store, clock, logger, handlers: handlers as never, kernel: { jobs: () => new Map() } as never });
    const own = jobs.of({ id: 'task_engine', manifest } as never) as unknown as ExtensionContext['jobs'];
    const database = createDatabase(store, 'task_engine');
    return { database, jobs: jobs.store, own, store: new TaskStore(database, clock, own) };
  };
  const [{ database, jobs, own, store: mine }, { store: other }] = [opened(), opened()];
  return { clock, database, jobs, own, mine, other };
}

/** The next job that works on a task, as the process `holder` has it. */
async function begun(jobs: JobStore, holder = 'one'): Promise<Job<Work>> {
  const claim = { holder, jobs: new Map([['task_engine.work', declared('task_engine.work')]]), policies: new Map(), only: null, most: 1 };
  const [row] = (await jobs.claim(claim)).taken;
  return { ...row!, payload: JSON.parse(row!.payload) } as never;
}

const claimed = (store: TaskStore, job: Job<Work>) =>
  store.write((tasks) => tasks.change(job.payload.task, { type: 'claimed', job: job.id }), job);

describe('tasks over two connections', () => {
  it('J16: leave a task to an older Pith that has just claimed it, and take it up as it is then', async () => {
    const { database, mine } = two();
    await insert(mine, newTask({ state: 'retry_scheduled' }));
    const text = async () => String((await database.get('SELECT task FROM task_engine__tasks'))?.['task']);
    const before = await text();
    await database.write([{ sql: "UPDATE task_engine__tasks SET task = json_set(task, '$.state', 'running')" }]);
    const adopt = (was: string) => mine.write((tasks) => tasks.adopt('abcdefghij', was));
    expect([await adopt(before), (await mine.load('abcdefghij'))?.job]).toEqual([false, null]);
    expect(await adopt(await text())).toBe(true);
    expect(await mine.load('abcdefghij')).toMatchObject({ state: 'running', job: expect.any(String) });
  });

  it('lose no change: what was read is written, or read again', async () => {
    const { jobs, mine, other } = two();
    await insert(mine, newTask({ state: 'pending' }));
    const job = await begun(jobs);
    await claimed(mine, job);
    await many(20, (at) =>
      (at % 2 ? mine : other).write((tasks) => tasks.change('abcdefghij', { type: 'progressed', steps: at, retained: [`key-${at}`] }), job),
    );
    expect((await mine.load('abcdefghij'))?.retained).toHaveLength(20);
    expect((await other.changes('abcdefghij')).map(({ state }) => state)).toEqual(['pending', 'running']);
  });

  it('are not moved on by what a change only read and somebody else changed meanwhile', async () => {
    const { mine, other } = two();
    await insert(mine, newTask({ id: idOf(1) }), newTask({ id: idOf(2), state: 'blocked' }));
    const seen: string[] = [];
    const after = await mine.write(async (tasks) => {
      const before = await tasks.load(idOf(1));
      seen.push(before!.state);
      if (seen.length === 1) await other.write((others) => others.change(idOf(1), { type: 'cancelled', why: 'not wanted' }));
      return tasks.change(idOf(2), before!.state === 'cancelled' ? { type: 'abandoned', why: 'it is gone' } : { type: 'unblocked' });
    });
    expect([seen, after?.state]).toEqual([['pending', 'cancelled'], 'cancelled']);
  });

  it('C6: are submitted once, never more than may be open, and never more than a task may have below it', async () => {
    const { clock, mine, other } = two();
    await insert(mine, newTask({ id: idOf(0) }));
    const parent = await mine.load(idOf(0));
    const by = { userId: 'local', channelId: 'cli', threadId: null, agent: null, parent, tools: null, denied: [], startedBy: [] };
    const context = { clock, agents: { list: async () => [{ id: 'worker' }] } } as never;
    const ask = (at: number, store: TaskStore, maxOpen: number) =>
      new TaskService(store, {} as never, context, maxOpen).submit([{ id: idOf(at), goal: 'g', agentId: 'worker' }], {
        ...by,
        correlationId: null,
      });
    const both = await many(6, (at) => ask(1, at % 2 ? mine : other, 100));
    expect(new Set(both.map(([task]) => task?.id))).toEqual(new Set([idOf(1)]));
    expect(await mine.unfinished()).toBe(2);
    const below = await Promise.allSettled(Array.from({ length: 40 }, (_, at) => ask(at + 2, at % 2 ? mine : other, 100)));
    expect(below.filter(({ status }) => status === 'fulfilled')).toHaveLength(19);
    expect(await mine.subtasks(idOf(0))).toHaveLength(20);
    const { mine: fresh, other: second } = two();
    by.parent = null;
    const open = await Promise.allSettled(Array.from({ length: 20 }, (_, at) => ask(at, at % 2 ? fresh : second, 5)));
    expect(open.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    expect(await fresh.unfinished()).toBe(5);
  });

  it('C2: a worker whose job is somebody else’s by now changes nothing, within the same millisecond too', async () => {
    const { clock, jobs, own, mine, other } = two();
    await insert(
      mine,
      newTask({ id: idOf(0) }),
      newTask({ id: idOf(1), parent: idOf(0), state: 'done', result: 'what the next one needs' }),
    );
    const stalled = await begun(jobs);
    const agents = {
      async *run() {
        await clock.advance(3_000);
        await claimed(other, await begun(jobs, 'two'));
        yield { type: 'turn-end', reason: 'done', text: 'done' };
      },
    };
    const worker = new Worker(mine, { clock, jobs: own, id: 'task_engine', agents: agents as unknown as ExtensionContext['agents'] });
    await expect(worker.work(stalled, new AbortController().signal)).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await other.load(idOf(0))).toMatchObject({ state: 'running', completed: null });
    expect((await jobs.get(stalled.id))?.holder).toBe('two');
    expect((await other.load(idOf(0)))?.received).toEqual([]);
  });

  it('the result of a subtask that is retried meanwhile still reaches its parent', async () => {
    const { mine, other } = two();
    const failed = newTask({ id: idOf(1), parent: idOf(0), state: 'failed', error: { code: 'x', message: 'y' } });
    await insert(mine, newTask({ id: idOf(0), state: 'waiting_subtasks' }), failed);
    let looks = 0;
    await mine.write(async (tasks) => {
      const [subtask] = await tasks.subtasks(idOf(0));
      if ((looks += 1) === 1) await other.write((others) => others.change(idOf(1), { type: 'retried', blocked: false }));
      if (subtask?.state === 'failed') await tasks.change(idOf(0), { type: 'subtasks_ended', endedSubtasks: [subtask] });
    });
    expect([looks, await other.load(idOf(0))]).toMatchObject([2, { state: 'waiting_subtasks', received: [] }]);
  });

  it('leaves damaged rows out, names them, and works on the others', async () => {
    const { database, jobs, mine } = two();
    await insert(mine, ...[0, 1, 2, 3].map((at) => newTask({ id: idOf(at), priority: 9 - at })));
    const damage = (at: number, task: string) =>
      database.write([{ sql: `UPDATE task_engine__tasks SET task = ${task} WHERE id = ?`, values: [idOf(at)] }]);
    await damage(0, 'substr(task, 1, 50)');
    await damage(1, `json_set(task, '$.id', 'elsewhere0')`);
    await damage(2, `cast(replace(cast(task AS BLOB), cast('count' AS BLOB), x'63ff756e74') AS TEXT)`); // no UTF-8
    const taken: unknown[] = [];
    for (let at = 0; at < 4; at += 1) taken.push(await claimed(mine, await begun(jobs)).catch((error: unknown) => codeOf(error, '')));
    expect(taken).toEqual([null, null, 'write_conflict', expect.objectContaining({ id: idOf(3) })]);
    expect((await mine.list(10)).map(({ id }) => id)).toEqual([idOf(3), idOf(2)]);
    expect(await mine.damaged()).toEqual([idOf(0), idOf(1)]);
    await insert(mine, newTask({ id: idOf(4), state: 'blocked', after: [idOf(0)] }));
    const seen = await mine.write(async (tasks) => [await tasks.load(idOf(0)), await tasks.subtasks(idOf(3))]);
    expect([seen, await mine.loadAll([idOf(0), idOf(3)])]).toEqual([[null, []], [expect.objectContaining({ id: idOf(3) })]]);
    await expect(mine.load(idOf(0))).rejects.toMatchObject({ code: 'database_failed', message: expect.stringContaining(idOf(0)) });
  });

  it('gives up what never can be written', async () => {
    const { mine } = two();
    await expect(mine.write(async (tasks) => tasks.insert(newTask(), { unfinished: 0, subtasks: 0 }))).rejects.toMatchObject({
      code: 'write_conflict',
    });
  });
});
