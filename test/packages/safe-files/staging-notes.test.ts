import { spawnSync } from 'node:child_process';
import { existsSync, linkSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Jail, StagingNotes, stateFolder } from '@pith/safe-files';
import { folderWith } from '../../places.ts';

/** Of a process that has ended. */
const DEAD = spawnSync('true').pid;
const ID = '0123456789abcdef';

function project(files: Readonly<Record<string, string>>) {
  const root = realpathSync(folderWith(files));
  const notes = stateFolder(realpathSync(folderWith()), 'staged');
  const note = (pid: number, id: string, place: string) => notes.append(`${pid}.${id}`, place);
  return { root, notes, note, jail: new Jail(root, undefined, new StagingNotes(notes)), at: (name: string) => path.join(root, name) };
}

it('S13 a staged file is noted until it is in its place, is discarded, or could not be written', async () => {
  const { root, notes, jail } = project({ 'a.txt': 'one' });
  const [first, second] = [await jail.stage(['a.txt'], Buffer.from('two')), await jail.stage(['deep', 'b.txt'], Buffer.from('b'))];
  expect(notes.list()).toHaveLength(2);
  const [place] = notes.list().map((note) => String(notes.read(note)));
  expect(existsSync(String(place))).toBe(true);
  first.commit();
  second.discard();
  expect(notes.list()).toEqual([]);
  await expect(jail.stage(['a.txt', 'b'], Buffer.from(''))).rejects.toThrow('no usable file');
  expect(notes.list()).toEqual([]);
  expect(readdirSync(root).sort()).toEqual(['a.txt', 'deep']);
});

it('S13 what a killed process left is taken away at the next start, by its note and never by its name', () => {
  const outside = realpathSync(folderWith({ [`.${ID}.tmp`]: '' }));
  const other = 'aaaaaaaaaaaaaaaa';
  const { root, notes, note, jail, at } = project({
    [`.${ID}.tmp`]: '',
    [`deep/.${other}.tmp`]: '',
    '.bbbbbbbbbbbbbbbb.tmp': '',
    'a.txt': 'a',
  });
  linkSync(at(`.${ID}.tmp`), at('new.txt')); // it was killed between its two names
  symlinkSync(outside, at('link'));
  note(DEAD, ID, at(`.${ID}.tmp`));
  note(DEAD, other, at(`deep/.${other}.tmp`));
  note(DEAD, 'cccccccccccccccc', at('a.txt'));
  note(DEAD, 'dddddddddddddddd', path.join(outside, `.${ID}.tmp`));
  note(process.ppid, 'eeeeeeeeeeeeeeee', at('.bbbbbbbbbbbbbbbb.tmp'));
  notes.append(`${DEAD}.ffffffffffffffff`, at('link/.ffffffffffffffff.tmp'));
  jail.clearStaged();
  expect(readdirSync(root).sort()).toEqual(['.bbbbbbbbbbbbbbbb.tmp', 'a.txt', 'deep', 'link', 'new.txt']);
  expect(readdirSync(at('deep'))).toEqual([]);
  expect(readdirSync(outside)).toEqual([`.${ID}.tmp`]);
  expect(notes.list()).toEqual([`${process.ppid}.eeeeeeeeeeeeeeee`]); // another Pith is at it
});

it('S13 a folder of notes that cannot be written stops no change', async () => {
  const root = realpathSync(folderWith());
  const file = path.join(realpathSync(folderWith()), 'file');
  writeFileSync(file, '');
  const jail = new Jail(root, undefined, new StagingNotes(stateFolder(file, 'staged')));
  (await jail.stage(['a.txt'], Buffer.from('a'))).commit();
  expect(readdirSync(root)).toEqual(['a.txt']);
});
