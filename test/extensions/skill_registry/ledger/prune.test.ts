import path from 'node:path';
import { rm } from 'node:fs/promises';
import { fakeClock } from 'pith/testing';
import { afterEach, expect, it } from 'vitest';
import { createDatabase, openStore, type Store } from '../../../../core/store/index.ts';
import { OVER_BUDGET, scopeOf } from '../../../../sandbox/extensions/skill_registry/catalog/scope.ts';
import { SkillLedger } from '../../../../sandbox/extensions/skill_registry/ledger/ledger.ts';
import { beyondBytes } from '../../../../sandbox/extensions/skill_registry/ledger/ledger-writer.ts';
import { agentOf, skillOf, snapshotOf, turnOf } from '../skill-values.ts';
import { folderWith } from '../../../places.ts';

const DAY_MS = 86_400_000;
let folder: string | undefined;
let store: Store | undefined;
afterEach(async () => {
  await store?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function opened(keepDays = 30) {
  folder = folderWith();
  const clock = fakeClock();
  store = openStore(path.join(folder, 'pith.db'), clock);
  const real = createDatabase(store, 'skill_registry');
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
  const ledger = new SkillLedger({ database, clock, logger, events: { publish: () => undefined as never }, keepDays, nameOf: (id) => id });
  const turn = async (id: string, ids: readonly string[] = ['alpha']) => {
    const info = turnOf({ id, threadId: 'thread', agent: agentOf() });
    const snapshot = snapshotOf(ids.map((one) => skillOf(one)));
    const scope = scopeOf(snapshot, info.agent);
    ledger.begin(info);
    ledger.offered(info, { snapshot, scope, told: 'all', rest: OVER_BUDGET });
    ledger.started(id, []);
    ledger.record(info, { skillId: 'alpha', state: 'loaded', how: 'read_skill', sha256: 'a'.repeat(64) });
    ledger.record(info, { skillId: 'alpha', state: 'resource_read', path: 'x.md' });
    ledger.ended(id);
    await ledger.close();
  };
  const count = async (table: string) => Number((await real.get(`SELECT count(*) AS n FROM skill_registry__${table}`))?.['n']);
  return { clock, ledger, turn, count, seen, database: real };
}

it('S90 a body that was to stand beside a message counts only where it does', async () => {
  const { ledger, database } = await opened();
  const info = turnOf({ id: 't1', threadId: 'thread', agent: agentOf() });
  const load = { state: 'loaded', how: 'trigger', sha256: 'a'.repeat(64) } as const;
  ledger.begin(info);
  ledger.record(info, { ...load, skillId: 'taken' });
  ledger.record(info, { ...load, skillId: 'left-out' });
  ledger.started('t1', [{ key: 'taken', digest: load.sha256 }]);
  ledger.record(info, { ...load, skillId: 'late' });
  await ledger.close();
  expect(await database.all('SELECT skill FROM skill_registry__uses')).toEqual([{ skill: 'taken' }]);
});

it('S90 all rows of a turn are written in one commit, and equal exposures once', async () => {
  const { turn, count, seen } = await opened();
  await turn('t1');
  expect(seen.writes).toBe(1);
  await turn('t2');
  expect(seen.writes).toBe(2);
  expect(await Promise.all(['turns', 'uses', 'exposures'].map(count))).toEqual([2, 4, 1]);
});

it('S90 rows older than the days that are kept go, once a day, with exposures that no turn names any more', async () => {
  const { clock, turn, count } = await opened(30);
  await turn('old', ['alpha', 'beta']);
  await clock.advance(31 * DAY_MS);
  await turn('new', ['alpha']);
  expect(await Promise.all(['turns', 'uses', 'exposures'].map(count))).toEqual([1, 2, 1]);
});

it('S90 what takes too much room goes from the oldest on', async () => {
  const { turn, count, database } = await opened();
  await turn('t1', ['alpha']);
  await turn('t2', ['alpha', 'beta']);
  await turn('t3', ['alpha', 'beta', 'gamma']);
  expect(await count('exposures')).toBe(3);
  const newest = await database.get('SELECT sum(length(states)) AS bytes FROM skill_registry__exposures WHERE id > 1');
  expect(await beyondBytes(database, Number(newest?.['bytes']))).toBe(1);
  expect(await beyondBytes(database, 1_000_000)).toBeNull();
});

it('S90 a write that fails is said once, and again only after one that went well, which writes what waited', async () => {
  const { turn, seen, count } = await opened();
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
  const { ledger, turn, seen, database } = await opened();
  const info = turnOf({ id: 'odd', threadId: 'thread', agent: agentOf() });
  ledger.begin(info);
  ledger.started('odd', []);
  for (const name of ['before', 'no\0text', 'after']) ledger.record(info, { skillId: 'alpha', state: 'resource_read', path: name });
  ledger.ended('odd');
  await ledger.close();
  expect(seen.warned).toHaveLength(1);
  await turn('t1');
  const paths = await database.all("SELECT path FROM skill_registry__uses WHERE turn = 'odd' ORDER BY seq");
  expect(paths).toEqual([{ path: 'before' }, { path: 'after' }]);
});

it('S90 S43 another process that reads the rows knows what the thread holds, and how long ago', async () => {
  const { clock, turn, database, ledger } = await opened();
  await turn('t1');
  await turn('t2');
  const ports = { database, clock, events: { publish: () => undefined as never }, keepDays: 30, nameOf: (id: string) => id };
  const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const other = new SkillLedger({ ...ports, logger: silent });
  const held = { skillId: 'alpha', how: 'read_skill', sha256: 'a'.repeat(64), compactions: 0 };
  expect(await other.loadedIn(turnOf({ id: 't3', threadId: 'thread' }))).toEqual([{ ...held, turnsAgo: 1 }]);
  expect(await other.loadedIn(turnOf({ id: 't2', threadId: 'thread' }))).toEqual([{ ...held, turnsAgo: 0 }]);
  expect(await other.loadedIn(turnOf({ id: 't3', threadId: 'thread', compactions: 1 }))).toEqual([]);
  const load = (into: SkillLedger, id: string, skillId: string) => {
    const info = turnOf({ id, threadId: 'thread' });
    into.begin(info);
    into.started(id, []);
    into.record(info, { skillId, state: 'loaded', how: 'read_skill', sha256: 'b'.repeat(64) });
    return info;
  };
  load(ledger, 't3', 'beta');
  await ledger.close();
  const last = await other.loadedIn(load(other, 't4', 'gamma'));
  expect(last.map(({ skillId, turnsAgo }) => [skillId, turnsAgo])).toEqual([
    ['gamma', 0],
    ['beta', 1],
    ['alpha', 2],
  ]);
});
