import path from 'node:path';
import { systemClock } from '@pith/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createJobStore } from '../../core/durable/index.ts';
import { openStore } from '../../core/store/index.ts';
import { newJob } from '../core/durable/jobs/new-job.ts';
import { bundleProgram, exitOf, startProgram } from '../core/store/child-process.ts';
import { folderWith } from '../places.ts';
import { realTime, until } from '../waiting.ts';

/** 10, in the long form 200; before a release `PITH_TEST_ROUNDS=2000 npm run test:soak`. */
const KILLS = Number(process.env['PITH_TEST_ROUNDS'] ?? (process.env['PITH_TEST_LONG'] === '1' ? 200 : 10));

async function placeOf() {
  const folder = folderWith();
  const file = path.join(folder, 'pith.db');
  const database = openStore(file, systemClock);
  onTestFinished(() => database.close());
  database.migrate('effects', ['CREATE TABLE effects (number INTEGER PRIMARY KEY, job TEXT NOT NULL, fence INTEGER NOT NULL)']);
  const store = createJobStore(database, systemClock);
  const program = await bundleProgram('../durable/jobs/child-killed', folder);
  const start = () => {
    const child = startProgram(program, file);
    onTestFinished(async () => {
      const isOver = child.exitCode !== null || child.signalCode !== null;
      child.kill('SIGKILL');
      if (!isOver) await exitOf(child);
    });
    return child;
  };
  const effects = () =>
    database.all('SELECT job, fence FROM effects ORDER BY number').map(({ job, fence }) => ({ job: String(job), fence: Number(fence) }));
  return { database, store, start, effects };
}

it(
  'J8 J9: kill -9 at random points of two processes: each job ends once, in the order of its sequence, and whoever lost it changes nothing',
  async () => {
    const { database, store, start, effects } = await placeOf();
    const sequences = new Map<string, string[]>();
    const children = [start(), start()];
    for (let kill = 0; kill < KILLS; kill += 1) {
      for (let count = 0; count < 8; count += 1) {
        const sequence = `s${count % 4}`;
        const job = newJob('a.plain', { sequence, mostAttempts: 8 });
        await store.insert(job, null);
        sequences.set(sequence, [...(sequences.get(sequence) ?? []), job.id]);
        await store.insert(newJob(count % 2 === 0 ? 'a.parent' : 'a.again'), null);
      }
      await realTime(150 + Math.random() * 150, 'a kill at a random moment');
      const [victim] = children.splice(Math.floor(Math.random() * 2), 1);
      victim?.kill('SIGKILL');
      children.push(start());
    }
    await until(async () => expect(await store.count({ states: ['waiting', 'scheduled', 'running', 'suspended', 'failed'] })).toBe(0));
    expect(database.get('PRAGMA integrity_check')).toMatchObject({ integrity_check: 'ok' });

    const rows = await store.list({ limit: 100_000 });
    expect(rows.filter(({ state, lost }) => state !== 'done' && !(state === 'dead' && lost === 3))).toEqual([]); // three kills in a row can be
    const made = new Map<string, number[]>();
    for (const { job, fence } of effects()) made.set(job, [...(made.get(job) ?? []), fence]);
    for (const { id, state, fence } of rows) {
      const fences = made.get(id) ?? [];
      expect(fences).toEqual(fences.toSorted((a, b) => a - b)); // a lower one after a higher: of a process that had lost it
      expect(new Set(fences).size).toBe(fences.length);
      expect(state !== 'done' || fences.at(-1) === fence).toBe(true);
    }
    for (const ids of sequences.values()) {
      const places = effects().flatMap(({ job }) => (ids.includes(job) ? [ids.indexOf(job)] : []));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }
  },
  120_000 + KILLS * 3_000,
);

it('J6: a process that is stopped for longer than its lease loses its job, aborts it when it goes on, and changes no row', async () => {
  const { store, start, effects } = await placeOf();
  const first = start();
  let out = '';
  first.stdout?.on('data', (data: Buffer) => (out += String(data)));
  const { id } = await store.insert(newJob('a.slow'), null);
  await until(() => out.includes(`began ${id}`));
  first.kill('SIGSTOP');
  start();
  await until(async () => (await store.get(id))?.state === 'done');
  expect(await store.get(id)).toMatchObject({ fence: 2, lost: 0, attempts: 0 });
  first.kill('SIGCONT');
  await until(() => out.includes('refused') && out.includes('aborted'));
  expect(out.split('\n').toSorted()).toEqual(['', 'aborted lease_lost', `began ${id}`, 'refused lease_lost']);
  expect(effects()).toEqual([{ job: id, fence: 2 }]);
  const { id: next } = await store.insert(newJob('a.slow'), null); // it works on
  await until(async () => (await store.get(next))?.state === 'done');
});
