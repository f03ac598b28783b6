/** What must hold before rows can stand in another store and turns on another machine. */
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createLeases, createDatabase, openStore, sqliteLeaseRows } from '../../../core/store/index.ts';
import { createWorld } from '../agent/world.ts';
import { until } from '../../waiting.ts';
import { bundleProgram, exitOf, startProgram } from './child-process.ts';
import { manualClock } from './manual-clock.ts';
import { folderWith } from '../../places.ts';
import { temporaryStore } from './temporary-store.ts';

const DAY_MS = 86_400_000;

it('C3 ids of events are in the order of their commits: whoever reads while two processes write finds nothing below what it has seen', async () => {
  const folder = folderWith();
  const file = join(folder, 'pith.db');
  const program = await bundleProgram('../durable/kill-program', folder);
  const writers = ['one', 'two'].map((name) => startProgram(program, file, name));
  const published: number[][] = writers.map((writer) => {
    const ids: number[] = [];
    writer.stdout?.on('data', (data) => ids.push(...[...String(data).matchAll(/^published (\d+)/gm)].map(([, id]) => Number(id))));
    return ids;
  });
  await until(() => expect(Math.min(...published.map(({ length }) => length))).toBeGreaterThan(0));
  const store = openStore(file, manualClock());
  const seen: number[] = [];
  while (seen.length < 600) {
    seen.push(...store.all('SELECT id FROM events WHERE id > ? ORDER BY id', seen.at(-1) ?? 0).map(({ id }) => Number(id)));
    await nextTick();
  }
  for (const writer of writers) writer.kill('SIGKILL');
  await Promise.all(writers.map(exitOf));
  const stored = store.all('SELECT id FROM events WHERE id <= ? ORDER BY id', seen.at(-1) ?? 0).map(({ id }) => Number(id));
  await store.close();
  expect(stored).toEqual(seen);
  for (const ids of published) expect(ids.length).toBeGreaterThan(10);
  const all = published.flat();
  expect(new Set(all).size).toBe(all.length);
});

it('C4 leases go by the clock of their rows: a process whose own clock is a day off takes none early and none late', async () => {
  const time = manualClock();
  const rows = sqliteLeaseRows(temporaryStore(), time);
  const [behind, ahead] = [-DAY_MS, DAY_MS].map((off) => createLeases(rows, { ...time, now: () => time.now() + off }));
  await rows.take({ name: 'x', holder: 'dead' }, 3_000);
  expect([await behind?.acquire('x', 3_000), await ahead?.acquire('x', 3_000)]).toEqual([null, null]);
  await time.advance(3_000);
  const taken = await behind?.acquire('x', 3_000);
  expect(taken).toMatchObject({ inherited: true });
  expect(await ahead?.acquire('x', 3_000)).toBeNull();
  await taken?.release();
});

const asking = { extensions: { ext: { tools: { risky: { needsApproval: 'always' as const, run: () => 'did it' } } } } };
const question = { calls: [{ name: 'risky', input: {} }] };

it('C5 an approval holds no process: the turn ends as suspended and lets the thread go, another process answers, a third goes on', async () => {
  const first = await createWorld({ ...asking, script: [question] });
  expect((await first.run('go')).end.reason).toBe('awaiting_approval');
  expect(first.store.all(`SELECT name FROM leases WHERE name LIKE 'thread:%'`)).toEqual([]);
  expect(first.store.all('SELECT state FROM turns')).toEqual([{ state: 'awaiting_approval' }]);
  await first.kernel.stop();
  const second = await createWorld({ ...asking, sandbox: first.sandbox });
  await second.approvals.answer((await second.approvals.list())[0]!.id, { answer: 'once', by: 'ann' });
  await second.kernel.stop();
  const third = await createWorld({ ...asking, sandbox: first.sandbox, script: [{ text: 'all done' }] });
  expect((await third.collect({ resume: true })).end).toMatchObject({ reason: 'done', text: 'all done' });
  expect(third.calls).toHaveLength(1);
});

it('C6 K50 an answer to an approval counts exactly once: of two processes that answer together one wins, and one event says so', async () => {
  const first = await createWorld({ ...asking, script: [question] });
  await first.run('go');
  const second = await createWorld({ ...asking, sandbox: first.sandbox });
  const [{ id } = { id: '' }] = await first.approvals.list();
  const answers = await Promise.allSettled([
    first.approvals.answer(id, { answer: 'once', by: 'ann' }),
    second.approvals.answer(id, { answer: 'no', by: 'bob' }),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const { by } = (await first.approvals.get(id))!;
  expect(answers[0]?.status).toBe(by === 'ann' ? 'fulfilled' : 'rejected');
  expect(first.store.all(`SELECT count(*) AS n FROM events WHERE topic = 'approval.answered'`)).toEqual([{ n: 1 }]);
});

it('C7 tables of an extension are reached through context.database: asynchronous, by statements as data, with a dialect, and none of others', async () => {
  const store = temporaryStore();
  const [notes, lists] = [createDatabase(store, 'notes'), createDatabase(store, 'lists')];
  expect(notes.dialect).toBe('sqlite');
  await notes.write([{ sql: 'CREATE TABLE notes__items (body TEXT)' }, { sql: 'INSERT INTO notes__items VALUES (?)', values: ['a'] }]);
  expect(await notes.all('SELECT body FROM notes__items')).toEqual([{ body: 'a' }]);
  await expect(lists.all('SELECT body FROM notes__items')).rejects.toMatchObject({ code: 'not_allowed' });
});

it('C8 the row of a lease says which process holds the thread, while it holds it', async () => {
  let held: unknown;
  const look = () => void (held = world.store.all(`SELECT name, owner FROM leases WHERE name LIKE 'thread:%'`));
  const world = await createWorld({
    extensions: { ext: { tools: { look: { run: look } } } },
    script: [{ calls: [{ name: 'look', input: {} }] }, { text: 'done' }],
  });
  await world.run('go');
  expect(held).toEqual([{ name: 'thread:thread', owner: expect.stringMatching(new RegExp(`^${process.pid}-`)) }]);
});
