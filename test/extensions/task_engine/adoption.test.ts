import path from 'node:path';
import { fakeClock } from 'pith/testing';
import { expect, it } from 'vitest';
import { rowsIn } from '../saved_skills/shared-store.ts';
import { storeModel } from '../../fixtures/store-model.ts';
import { openStoreFixture } from '../../fixtures/store.ts';
import { folderWith, kernelOf } from '../../places.ts';
import { passing } from '../../waiting.ts';

it('J16: open tasks of an older Pith become jobs, once each over two processes, as soon as no such Pith holds one', async () => {
  const { sandbox, home, contents } = openStoreFixture(folderWith());
  const file = path.join(sandbox, 'data/pith.db');
  const named = () => rowsIn<{ id: string }>(file, "SELECT id FROM task_engine__tasks WHERE task ->> 'job' IS NOT NULL");
  const clock = fakeClock(contents.killedAt + 500); // its claims hold for two seconds and more
  const opened = () => kernelOf({ sandbox, home, accepts: false, clock, model: storeModel() });
  const [one, two] = [await opened(), await opened()];
  await Promise.all([one.kernel.start(), two.kernel.start()]);
  await clock.advance(2_000);
  expect(named()).toEqual([]);
  await passing(clock, () => named().length >= 5, 250);
  const jobs = rowsIn<{ n: number }>(file, "SELECT count(*) AS n FROM jobs WHERE name = 'task_engine.work' GROUP BY payload");
  expect(jobs.every(({ n }) => n === 1)).toBe(true);
  expect(rowsIn(file, 'SELECT id FROM task_engine__tasks WHERE until IS NOT NULL OR due IS NOT NULL')).toEqual([]); // it claims no more
});
