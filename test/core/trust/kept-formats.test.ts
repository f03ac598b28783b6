import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { migrate, Queries } from '@pith/database-queries';
import { systemClock } from '@pith/promises';
import { describe, expect, it } from 'vitest';
import { type Declaration, lastGoodIn, quarantineIn } from '../../../core/declarations/index.ts';
import { createDatabase, openStore } from '../../../core/store/index.ts';
import { adoptState, openPermissionsFile, openSecretsFile, openTrustFile, stateOwnership } from '../../../core/trust/index.ts';
import { readEntries } from '../../../packages/folder-changes/entries.ts';
import { openStoreFixture, storeContents } from '../../fixtures/store.ts';
import { folderWith } from '../../places.ts';

const PERMISSION = { tool: 'a/b', always: 'key:1', source: null, covers: 'all', at: 1 };

/** Each record of a person's decisions: what shows that its content was read, and a change of it. */
const RECORDS = {
  'trust.json': {
    isRead: (home: string) => Object.keys(openTrustFile(home).read().sandboxes).length === 1,
    change: (home: string) => openTrustFile(home).change((record) => ({ ...record, foreignState: ['/elsewhere'] })),
  },
  'permissions.json': {
    isRead: (home: string) => openPermissionsFile(home, path.join(path.dirname(home), 'project')).list().length === 1,
    change: (home: string) => openPermissionsFile(home, '/project').add(PERMISSION),
  },
  'secrets.json': {
    isRead: (home: string) => openSecretsFile(home).all()['PITH_MASTER_KEY']?.length === 1,
    change: (home: string) => void openSecretsFile(home).keep('B', { value: 'b', for: [] }),
  },
  'states.json': {
    isRead: (home: string) => stateOwnership(path.join(path.dirname(home), 'project/sandbox/data'), home).owner === 'known',
    change: (home: string) => adoptState(folderWith({ 'data/here': '' }) + '/data', home),
  },
};

describe.each(Object.entries(RECORDS))('U41 %s', (name, { isRead, change }) => {
  const given = () => {
    const { home } = openStoreFixture(folderWith());
    const file = path.join(home, '.pith', name);
    return { home, file, versionIn: () => (JSON.parse(readFileSync(file, 'utf8')) as { version?: number }).version };
  };

  it('U41 of 0.1 is read, and has its version after a change', () => {
    const { home, versionIn } = given();
    expect(isRead(home)).toBe(true);
    change(home);
    expect([isRead(home), versionIn()]).toEqual([true, 1]);
  });

  it('U41 of a newer Pith counts for nothing, and stays as it is', () => {
    const { home, file } = given();
    const newer = JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), version: 2 });
    writeFileSync(file, newer);
    expect(isRead(home)).toBe(false);
    expect(() => change(home)).toThrow('it has version 2, and this Pith knows 1; use the newer Pith that wrote it');
    expect(readFileSync(file, 'utf8')).toBe(newer);
  });
});

describe('what a supervisor keeps', () => {
  const STUCK = { id: 'a', digest: 'a1', reason: 'it crashed', at: 1 };
  /** As 0.1 wrote them, or with this version. */
  const given = (version: object) => {
    const entries = JSON.stringify({ ...version, entries: [STUCK] }, null, 2);
    const extensions = JSON.stringify({ ...version, at: 1, extensions: { a: 'a1' } }, null, 2);
    const folder = folderWith({ 'quarantine.json': entries, 'last-good.json': extensions });
    const declaration = { id: 'a', digest: 'a1', directory: folder, shipped: false, manifest: {} } as unknown as Declaration;
    const good = lastGoodIn(
      folder,
      () => [declaration],
      () => 2,
    );
    return { folder, quarantine: quarantineIn(folder), good };
  };
  const versionIn = (folder: string, name: string) =>
    (JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as { version?: number }).version;

  it('U41 quarantine.json and last-good.json of 0.1 are read, and have their version after a change', () => {
    const { folder, quarantine, good } = given({});
    expect([quarantine.of('a', 'a1'), good.changed()]).toEqual([STUCK, []]);
    quarantine.add([{ ...STUCK, id: 'b' }]);
    const other = { id: 'c', digest: 'c1', directory: folder, shipped: false, manifest: {} } as unknown as Declaration;
    lastGoodIn(
      folder,
      () => [other],
      () => 2,
    ).recordIfSteady();
    expect(['quarantine.json', 'last-good.json'].map((name) => versionIn(folder, name))).toEqual([1, 1]);
    expect(quarantineIn(folder).of('a', 'a1')).toEqual(STUCK);
  });

  it('U41 those of a newer Pith count for nothing, and are made again', () => {
    const { folder, quarantine, good } = given({ version: 2 });
    expect([quarantine.of('a', 'a1'), good.changed().map(({ id }) => id)]).toEqual([null, ['a']]);
    quarantine.add([STUCK]);
    good.recordIfSteady();
    expect([quarantineIn(folder).of('a', 'a1'), good.changed()]).toEqual([STUCK, []]);
    expect(['quarantine.json', 'last-good.json'].map((name) => versionIn(folder, name))).toEqual([1, 1]);
  });
});

describe('kept by a newer Pith', () => {
  it('U41 tables of Pith and of an extension are refused', async () => {
    const store = openStore(path.join(folderWith(), 'pith.db'), systemClock);
    store.migrate('threads', ['CREATE TABLE a (id)', 'CREATE TABLE b (id)']);
    expect(() => store.migrate('threads', ['CREATE TABLE a (id)'])).toThrow('its threads tables have version 2, this Pith knows 1');
    const queries = new Queries(createDatabase(store, 'notes'));
    const steps = [['CREATE TABLE notes__a (id)'], ['CREATE TABLE notes__b (id)']];
    await migrate(queries, 'notes', steps);
    await migrate(queries, 'notes', steps);
    await expect(migrate(queries, 'notes', steps.slice(1))).rejects.toThrow('the tables notes__… have version 2, and 1 is known');
    await store.close();
  });

  it('U41 a lock of skills is refused', async () => {
    const file = path.join(folderWith({ 'skills.lock.json': '{"version": 2, "skills": {}}' }), 'skills.lock.json');
    const entries = { file, name: 'skills', entryOf: () => ({}) };
    const refused = readEntries(entries, { damaged: (why) => ({ code: 'damaged', message: why, cure: '' }) });
    await expect(refused).rejects.toThrow('its version is 2 and not 1');
  });
});

it('U41 the page of releases names each file of state that the store of 0.1 has', () => {
  const page = readFileSync('docs/release.md', 'utf8');
  const state = Object.keys(storeContents().files).filter((file) => /\.pith\/|\/data\/(?!extensions\/toolbox)|lock\.json$/.test(file));
  const names = state.map((file) => (file.includes('/versions/') ? 'versions/' : path.basename(file)));
  expect(names.length).toBeGreaterThan(6);
  expect(names.filter((name) => !page.includes(name))).toEqual([]);
});
