import { mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Declaration, lastGoodIn, quarantineIn } from '../../../core/declarations/index.ts';
import { folderWith } from '../../places.ts';

let folder: string;
beforeEach(() => (folder = folderWith()));

function declared(id: string, digest: string, changedAt: number, shipped = false): Declaration {
  const directory = path.join(folder, id);
  mkdirSync(directory, { recursive: true });
  const file = path.join(directory, 'manifest.yaml');
  writeFileSync(file, '');
  utimesSync(file, changedAt / 1000, changedAt / 1000);
  return { id, digest, directory, shipped, manifest: {} } as unknown as Declaration;
}

const goodOf = (now: Parameters<typeof lastGoodIn>[1]) => {
  const counted = () => 7;
  return lastGoodIn(folder, now, counted);
};

describe('the last good set of extensions', () => {
  it('K21 is kept once it has been the same for a while; what differs from it has changed', () => {
    let now = [declared('a', 'a1', 1000), declared('b', 'b1', 2000), declared('ours', 'o1', 9000, true)];
    const open = () => goodOf(() => now);
    expect(open().changed()).toEqual([
      { id: 'a', digest: 'a1', changedAt: 1000 },
      { id: 'b', digest: 'b1', changedAt: 2000 },
    ]);
    const good = open();
    now = [declared('a', 'a2', 3000), now[1]!];
    good.recordIfSteady(); // it has just changed
    expect(open().changed()).toHaveLength(2);
    good.recordIfSteady();
    expect(open().changed()).toEqual([]);
    now = [now[0]!, declared('b', 'b2', 4000)];
    expect(open().changed()).toEqual([{ id: 'b', digest: 'b2', changedAt: 4000 }]);
  });

  it('K21 a damaged file counts as none', () => {
    writeFileSync(path.join(folder, 'last-good.json'), '{"extensions":');
    expect(goodOf(() => [declared('a', 'a1', 1000)]).changed()).toHaveLength(1);
  });
});

describe('the quarantine', () => {
  const entry = { id: 'a', digest: 'a1', reason: 'it crashed', at: 1 };

  it('K21 holds for one version, in every process, until it is lifted', () => {
    quarantineIn(folder).add([entry]);
    const other = quarantineIn(folder);
    expect(other.of('a', 'a1')).toEqual(entry);
    expect(other.of('a', 'a2')).toBe(null);
    expect(other.lift('a')).toBe(true);
    expect(other.lift('a')).toBe(false);
    expect(quarantineIn(folder).of('a', 'a1')).toBe(null);
    expect(statSync(path.join(folder, 'quarantine.json')).isFile()).toBe(true);
  });
});
