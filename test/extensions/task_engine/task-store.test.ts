import path from 'node:path';
import type { ExtensionContext } from 'pith';
import { describe, expect, it } from 'vitest';
import { createDatabase } from '../../../core/store/index.ts';
import { submit } from '../../../sandbox/extensions/task_engine/submission.ts';
import type { Task } from '../../../sandbox/extensions/task_engine/task.ts';
import { TaskStore } from '../../../sandbox/extensions/task_engine/task-store.ts';
import { workOn } from '../../../sandbox/extensions/task_engine/worker.ts';
import { manualClock } from '../../core/store/manual-clock.ts';
import { temporaryStore } from '../../core/store/temporary-store.ts';
import { folderWith } from '../../places.ts';
import { newTask } from './task-values.ts';

const PLENTY = { unfinished: 100, subtasks: 100 };
const idOf = (at: number) => `task${String(at).padStart(6, '0')}`;
const many = <T>(count: number, make: (at: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, at) => make(at)));
const insert = (store: TaskStore, ...tasks: readonly Task[]) =>
  store.write(async (write) => {
    for (const task of tasks) write.insert(task, PLENTY);
  });

/** Two stores over one file, each with its own connection, as two processes have them. */
function two() {
  const file = path.join(folderWith(), 'pith.db');
  const clock = manualClock();
  const database = createDatabase(temporaryStore(file, clock), 'task_engine');
  const other = createDatabase(temporaryStore(file, clock), 'task_engine');
  return { clock, database, mine: new TaskStore(database, clock), other: new TaskStore(other, clock) };
}

/** One turn of a worker whose agent answers at once. */
function worked(store: TaskStore, task: Task, claim: string): Promise<void> {
  const agents = {
    async *run() {
      yield { type: 'turn-end', reason: 'done', text: 'done' };
    },
  };
  const never = new AbortController().signal;
  const ports = { store, agents: agents as unknown as ExtensionContext['agents'], extensionId: 'task_engine' };
  return workOn(ports, task, { name: claim, stop: never, lost: never });
}

describe('tasks over two connections', () => {
  it('C6: are claimed once each, and no more than there is room for', async () => {
    const { mine, other } = two();
    await insert(mine, ...Array.from({ length: 30 }, (_, at) => newTask({ id: idOf(at) })));
    const taken = await many(40, (at) => (at % 2 ? mine : other).claim(`claim-${at}`, 60_000, 20));
    const ids = taken.flatMap((task) => task?.id ?? []);
    expect(ids).toHaveLength(20);
    expect(new Set(ids).size).toBe(20);
    expect((await other.list(100)).filter(({ state }) => state === 'running')).toHaveLength(20);
  });

  it('lose no change: what was read is written, or read again', async () => {
    const { mine, other } = two();
    await insert(mine, newTask());
    await mine.claim('claim', 60_000, 1);
    await many(20, (at) =>
      (at % 2 ? mine : other).write((tasks) =>
        tasks.change('abcdefghij', { type: 'progressed', steps: at, retained: [`key-${at}`] }, 'claim'),
      ),
    );
    expect((await mine.load('abcdefghij'))?.retained).toHaveLength(20);
    expect((await other.changes('abcdefghij')).map(({ state }) => state)).toEqual(['pending', 'running']);
  });

  it('are not moved on by what a change only read and somebody else changed meanwhile', async () => {
    const { mine, other } = two();
    await insert(mine, newTask({ id: idOf(1) }), newTask({ id: idOf(2), state: 'blocked', after: [idOf(1)] }));
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
    const ask = (at: number, store: TaskStore, maxOpen: number) =>
      submit({ store, clock, maxOpen }, [{ id: idOf(at), goal: 'g', agentId: 'worker' }], { ...by, correlationId: null }, [
        { id: 'worker' } as never,
      ]);
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

  it('C2: a worker whose claim is somebody else’s by now changes nothing, within the same millisecond too', async () => {
    const { mine, other } = two();
    await insert(
      mine,
      newTask({ id: idOf(0) }),
      newTask({ id: idOf(1), parent: idOf(0), state: 'done', result: 'what the next one needs' }),
    );
    const task = (await mine.claim('stalled', 0, 5))!;
    let looks = 0;
    let taken: Task | null = null;
    const after = await mine.write(async (tasks) => {
      await tasks.load(idOf(0));
      if ((looks += 1) === 1) taken = await other.claim('next', 60_000, 5);
      return tasks.change(idOf(0), { type: 'completed', result: 'too late' }, 'stalled');
    });
    expect([looks, after, taken]).toEqual([2, null, expect.objectContaining({ id: idOf(0) })]);
    await worked(mine, task, 'stalled');
    expect(await other.load(idOf(0))).toMatchObject({ state: 'running', completed: null });
    expect(await other.holds(idOf(0), 'next')).toBe(true);
    expect((await other.load(idOf(1)))?.told).toBe(false);
  });

  it('the result of a subtask that is retried meanwhile still reaches its parent', async () => {
    const { mine, other } = two();
    await insert(
      mine,
      newTask({ id: idOf(0) }),
      newTask({ id: idOf(1), parent: idOf(0), state: 'failed', error: { code: 'x', message: 'y' } }),
    );
    await mine.claim('claim', 60_000, 5);
    let looks = 0;
    await mine.write(async (tasks) => {
      const below = await tasks.subtasks(idOf(0));
      if ((looks += 1) === 1) await other.write((others) => others.change(idOf(1), { type: 'retried', blocked: false }));
      await tasks.acknowledge(below.filter(({ state }) => state === 'failed').map(({ id }) => id));
    });
    expect(await other.load(idOf(1))).toMatchObject({ state: 'pending', told: false });
  });

  it('leaves damaged rows out, names them, and works on the others', async () => {
    const { database, mine } = two();
    await insert(mine, ...[0, 1, 2, 3].map((at) => newTask({ id: idOf(at), priority: 9 - at })));
    const damage = (at: number, task: string) =>
      database.write([{ sql: `UPDATE task_engine__tasks SET task = ${task} WHERE id = ?`, values: [idOf(at)] }]);
    await damage(0, 'substr(task, 1, 50)');
    await damage(1, `json_set(task, '$.id', 'elsewhere0')`);
    await damage(2, `cast(replace(cast(task AS BLOB), cast('count' AS BLOB), x'63ff756e74') AS TEXT)`); // no UTF-8
    expect((await mine.claim('claim', 60_000, 9))?.id).toBe(idOf(3));
    expect(await mine.claim('claim', 60_000, 9)).toBeNull();
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
