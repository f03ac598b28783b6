import path from 'node:path';
import { systemClock } from '@pith/promises';
import { describe, expect, it } from 'vitest';
import { createDatabase } from '../../../core/store/index.ts';
import { TaskStore } from '../../../sandbox/extensions/task_engine/task-store.ts';
import { folderWith } from '../../places.ts';
import { temporaryStore } from '../../core/store/temporary-store.ts';
import { newTask } from './task-values.ts';

/** Two processes' stores over one file. */
function two(): readonly [TaskStore, TaskStore] {
  const file = path.join(folderWith(), 'pith.db');
  const open = () => new TaskStore(createDatabase(temporaryStore(file), 'task_engine'), systemClock);
  return [open(), open()];
}

const idOf = (at: number) => `task${String(at).padStart(6, '0')}`;
const many = <T>(count: number, make: (at: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, at) => make(at)));

describe('C1 tasks of two processes', () => {
  it('are claimed once each, and no more than there is room for', async () => {
    const stores = two();
    await stores[0].write(async (tasks) => {
      for (let at = 0; at < 30; at++) tasks.insert(newTask({ id: idOf(at) }), 100);
    });
    const taken = await many(40, (at) => stores[at % 2]!.claim(`claim-${at}`, 60_000, 20));
    const ids = taken.flatMap((task) => task?.id ?? []);
    expect(ids).toHaveLength(20);
    expect(new Set(ids).size).toBe(20);
    expect((await stores[1].list(100)).filter(({ state }) => state === 'running')).toHaveLength(20);
  });

  it('lose no change: what was read is written, or read again', async () => {
    const stores = two();
    await stores[0].write(async (tasks) => tasks.insert(newTask(), 1));
    await stores[0].claim('claim', 60_000, 1);
    await many(20, (at) =>
      stores[at % 2]!.write((tasks) => tasks.change('abcdefghij', { type: 'progressed', steps: at, retained: [`key-${at}`] }, 'claim')),
    );
    expect((await stores[0].load('abcdefghij'))?.retained).toHaveLength(20);
    expect((await stores[1].changes('abcdefghij')).map(({ state }) => state)).toEqual(['pending', 'running']);
  });

  it('hold what a change only read: a task is not moved on by a state that another process has changed meanwhile', async () => {
    const [mine, other] = two();
    await mine.write(async (tasks) => {
      tasks.insert(newTask({ id: idOf(1) }), 2);
      tasks.insert(newTask({ id: idOf(2), state: 'blocked', after: [idOf(1)] }), 2);
    });
    const seen: string[] = [];
    const after = await mine.write(async (tasks) => {
      const before = await tasks.load(idOf(1));
      seen.push(before!.state);
      if (seen.length === 1) await other.write((others) => others.change(idOf(1), { type: 'cancelled', why: 'not wanted' }));
      return before!.state === 'cancelled'
        ? tasks.change(idOf(2), { type: 'abandoned', why: 'it is gone' })
        : tasks.change(idOf(2), { type: 'unblocked' });
    });
    expect([seen, after?.state]).toEqual([['pending', 'cancelled'], 'cancelled']);
  });

  it('are submitted once, and never more than may be open', async () => {
    const stores = two();
    const submitted = await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) =>
        stores[at % 2]!.write(async (tasks) => {
          if ((await stores[at % 2]!.unfinished()) >= 5) throw new Error('full');
          tasks.insert(newTask({ id: idOf(at) }), 5);
        }),
      ),
    );
    expect(submitted.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    expect(await stores[0].unfinished()).toBe(5);
  });
});
