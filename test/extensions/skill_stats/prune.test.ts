import path from 'node:path';
import { fakeClock } from 'pith/testing';
import { expect, it, onTestFinished } from 'vitest';
import { createDatabase, openStore } from '../../../core/store/index.ts';
import { Ledger } from '../../../sandbox/extensions/skill_stats/ledger.ts';
import { folderWith } from '../../places.ts';

const DAY_MS = 86_400_000;

function opened(keepDays = 30) {
  const clock = fakeClock();
  const store = openStore(path.join(folderWith(), 'pith.db'), clock);
  onTestFinished(() => store.close());
  const real = createDatabase(store, 'skill_stats');
  const seen = { writes: 0, fails: false, warned: [] as string[] };
  const database = {
    ...real,
    write: (statements: Parameters<typeof real.write>[0]) => {
      seen.writes += 1;
      return seen.fails ? Promise.reject(new Error('disk full')) : real.write(statements);
    },
  };
  const silent = { debug: () => undefined, info: () => undefined, error: () => undefined };
  const logger = { ...silent, warn: (message: string) => void seen.warned.push(message) };
  const ledger = new Ledger({ database, clock, logger, keepDays });
  const of = (turnId: string) => ({ turnId, threadId: 'thread', agentId: 'reader', correlationId: 'c' });
  const readFile = (turnId: string, file: string) => ledger.used({ ...of(turnId), skillId: 'alpha', state: 'resource_read', path: file });
  const turn = async (id: string) => {
    ledger.offered({ ...of(id), offered: 'all', shown: [], counts: { readable: 1, offered: 1, shown: 0 } });
    ledger.used({ ...of(id), skillId: 'alpha', state: 'loaded', how: 'read_skill', sha256: 'a'.repeat(64) });
    readFile(id, 'x.md');
    await ledger.flush();
  };
  const count = async (table: string) => Number((await real.get(`SELECT count(*) AS n FROM skill_stats__${table}`))?.['n']);
  return { clock, ledger, turn, readFile, count, seen, database: real };
}

it('S90 all rows of a turn are written in one commit', async () => {
  const { turn, count, seen } = opened();
  await turn('t1');
  expect(seen.writes).toBe(1);
  await turn('t2');
  expect(seen.writes).toBe(2);
  expect(await Promise.all(['turns', 'uses'].map(count))).toEqual([2, 4]);
});

it('S90 rows older than the days that are kept go, once a day', async () => {
  const { clock, turn, count } = opened(30);
  await turn('old');
  await clock.advance(31 * DAY_MS);
  await turn('new');
  expect(await Promise.all(['turns', 'uses'].map(count))).toEqual([1, 2]);
});

it('S90 a write that fails is said once, and again only after one that went well, which writes what waited', async () => {
  const { turn, seen, count } = opened();
  seen.fails = true;
  await turn('t1');
  await turn('t2');
  expect(seen.warned).toHaveLength(1);
  seen.fails = false;
  await turn('t3');
  seen.fails = true;
  await turn('t4');
  expect(seen.warned).toHaveLength(2);
  expect(await count('turns')).toBe(3);
});

it('S90 a row that can never be written costs itself only', async () => {
  const { ledger, turn, readFile, seen, database } = opened();
  for (const name of ['before', 'no\0text', 'after']) readFile('odd', name);
  await ledger.flush();
  expect(seen.warned).toHaveLength(1);
  await turn('t1');
  const paths = await database.all("SELECT path FROM skill_stats__uses WHERE turn = 'odd' ORDER BY seq");
  expect(paths).toEqual([{ path: 'before' }, { path: 'after' }]);
});
