import path from 'node:path';
import { fakeClock, recordEvents } from 'pith/testing';
import { expect, it } from 'vitest';
import { openStore } from '../../../core/store/index.ts';
import { rowsIn } from '../saved_skills/shared-store.ts';
import { storeModel } from '../../fixtures/store-model.ts';
import { openStoreFixture } from '../../fixtures/store.ts';
import { folderWith, kernelOf } from '../../places.ts';
import { passing } from '../../waiting.ts';

/** As an older Pith left it when it was killed. */
function left() {
  const { sandbox, home, contents } = openStoreFixture(folderWith());
  const file = path.join(sandbox, 'data/pith.db');
  const clock = fakeClock(contents.killedAt + 500); // its claims hold for two seconds and more
  return {
    file,
    clock,
    opened: () => kernelOf({ sandbox, home, accepts: false, clock, model: storeModel() }),
    named: () => rowsIn<{ id: string }>(file, "SELECT id FROM task_engine__tasks WHERE task ->> 'job' IS NOT NULL"),
  };
}

it('J16: open tasks of an older Pith become jobs, once each over two processes, as soon as no such Pith holds one', async () => {
  const { file, clock, opened, named } = left();
  const [one, two] = [await opened(), await opened()];
  await Promise.all([one.kernel.start(), two.kernel.start()]);
  await clock.advance(2_000);
  expect(named()).toEqual([]);
  await passing(clock, () => named().length >= 5, 250);
  const jobs = rowsIn<{ n: number }>(file, "SELECT count(*) AS n FROM jobs WHERE name = 'task_engine.work' GROUP BY payload");
  expect(jobs.every(({ n }) => n === 1)).toBe(true);
  expect(rowsIn(file, 'SELECT id FROM task_engine__tasks WHERE until IS NOT NULL OR due IS NOT NULL')).toEqual([]); // it claims no more
});

it('J16 K10: while the database takes no changes they wait, and become jobs when it does', async () => {
  const { file, clock, opened, named } = left();
  const change = async (sql: string) => {
    const store = openStore(file, clock);
    await store.write((statement) => void statement(sql)).finally(() => store.close());
  };
  await change("CREATE TRIGGER full BEFORE UPDATE ON task_engine__tasks BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END");
  const pith = await opened();
  const failed = recordEvents(pith.kernel.events);
  await pith.kernel.start();
  for (let second = 0; second < 60; second += 1) await clock.advance(1000);
  failed.stop();
  const own = failed.of('extension.failed').filter(({ extensionId }) => extensionId === 'task_engine'); // for others the clock runs while they load
  expect([named(), own]).toEqual([[], []]);
  await change('DROP TRIGGER full');
  await passing(clock, () => named().length >= 5);
});
