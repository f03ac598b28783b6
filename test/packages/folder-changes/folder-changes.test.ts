import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { FolderChange, Staged } from '@pith/folder-changes';
import { treeDigest } from '@pith/skill-files';
import { folderWith, writeFiles } from '../../places.ts';
import { until } from '../../waiting.ts';
import { changesIn, type Entry, entriesIn } from './folders.ts';

const change = (staged: Staged<Entry>, id: string, more: Partial<FolderChange<Entry>> = {}): FolderChange<Entry> => {
  writeFiles(staged.directory, { [`new/${id}/text.md`]: 'new' });
  return { folder: id, id, from: `new/${id}`, entry: { digest: 'as written' }, ...more };
};
const text = (root: string, id: string) => readFileSync(path.join(root, 'folders', id, 'text.md'), 'utf8');

it('S83: puts folders in place with their entries, and takes them away', async () => {
  const root = folderWith({ 'folders/old/text.md': 'old' });
  const staged = await changesIn(root).stage();
  await staged.change([change(staged, 'one'), change(staged, 'old', { from: null, entry: null })]);
  await staged.remove();
  expect([readdirSync(path.join(root, 'folders')), text(root, 'one')]).toEqual([['one'], 'new']);
  expect([...(await changesIn(root).entries())]).toEqual([['one', { digest: 'as written' }]]);
  const next = await changesIn(root).stage();
  await next.change([change(next, 'one', { folder: '', from: null, entry: null })]);
  await next.remove();
  expect([text(root, 'one'), entriesIn(root)]).toEqual(['new', {}]);
});

it('S83: makes the folders above a folder, and takes them away once they are empty', async () => {
  const root = folderWith({});
  const folders = () =>
    readdirSync(path.join(root, 'folders'), { recursive: true })
      .map(String)
      .filter((name) => !name.startsWith('.'))
      .sort();
  const staged = await changesIn(root).stage();
  await staged.change(['one', 'two'].map((id) => change(staged, id, { folder: `a/${id}` })));
  expect(folders()).toEqual(['a', 'a/one', 'a/one/text.md', 'a/two', 'a/two/text.md']);
  for (const id of ['one', 'two']) {
    await staged.change([change(staged, id, { folder: `a/${id}`, from: null, entry: null })]);
    expect(folders()).toEqual(id === 'one' ? ['a', 'a/two', 'a/two/text.md'] : []);
  }
  await staged.remove();
});

it('S83: nothing is changed where something else stands in a place than a change expects', async () => {
  const root = folderWith({ 'folders/here/text.md': 'mine' });
  const digest = await treeDigest(path.join(root, 'folders/here'));
  const staged = await changesIn(root).stage();
  const cases: readonly (readonly [Partial<FolderChange<Entry>> & { readonly folder: string }, string])[] = [
    [{ folder: 'here', expects: null }, 'exists: here'],
    [{ folder: 'here', expects: 'another' }, 'edited: here'],
    [{ folder: 'away', expects: digest }, 'gone: away'],
    [{ folder: 'away', from: null }, 'gone: away'],
    [{ folder: '../out' }, '"../out" is not a folder in'],
  ];
  for (const [more, message] of cases)
    await expect(staged.change([change(staged, 'first'), change(staged, 'other', more)])).rejects.toThrow(message);
  expect([readdirSync(path.join(root, 'folders')).sort(), text(root, 'here'), entriesIn(root)]).toEqual([['.staging', 'here'], 'mine', {}]);
  await staged.change([change(staged, 'here', { expects: digest })]);
  await staged.remove();
  expect(text(root, 'here')).toBe('new');
});

it('S83: a folder that is replaced is there all the time, one or the other, however long its digest takes', async () => {
  const root = folderWith({ 'folders/here/text.md': 'old' });
  const seen = new Set<string>();
  const look = (): void => void seen.add(existsSync(path.join(root, 'folders/here')) ? text(root, 'here') : 'nothing');
  const digestOf = async (folder: string): Promise<string> => {
    for (let looks = 0; looks < 20; looks += 1) await new Promise((resolve) => setImmediate(resolve)).then(look);
    return treeDigest(folder);
  };
  const staged = await changesIn(root, digestOf).stage();
  await staged.change([change(staged, 'here')]);
  look();
  await staged.remove();
  expect([...seen]).toEqual(['old', 'new']);
});

it('S83: what a person writes while their folder is replaced is put back, and nothing else is changed', async () => {
  const root = folderWith({ 'folders/here/text.md': 'old' });
  let writes = 1;
  const digestOf = async (folder: string): Promise<string> => {
    const digest = await treeDigest(folder);
    if (folder.endsWith('folders/here') && writes-- > 0) writeFiles(root, { 'folders/here/text.md': 'mine' }); // after it was looked at
    return digest;
  };
  const staged = await changesIn(root, digestOf).stage();
  await expect(staged.change([change(staged, 'first'), change(staged, 'here')])).rejects.toThrow('edited_meanwhile: here');
  await staged.remove();
  expect([readdirSync(path.join(root, 'folders')), text(root, 'here'), entriesIn(root)]).toEqual([['here'], 'mine', {}]);
});

it('S83: a file of entries that is damaged, or a link, stops everything and is never written over', async () => {
  const root = folderWith({ elsewhere: '{"version":1,"folders":{}}' });
  const file = path.join(root, 'lock.json');
  const attempt = async () => {
    const staged = await changesIn(root).stage();
    try {
      await staged.change([change(staged, 'one')]);
    } finally {
      await staged.remove();
    }
  };
  for (const [damaged, why] of [
    ['{', /damaged: /],
    ['{"version":2,"folders":{}}', /its version is 2 and not 1/],
    ['{"version":1}', /it has no folders/],
    ['{"version":1,"folders":{"a":{}}}', /its entry 'a' is incomplete/],
  ] as const) {
    writeFileSync(file, damaged);
    await expect(attempt()).rejects.toMatchObject({ code: 'damaged', where: file, message: expect.stringMatching(why) });
    expect(readFileSync(file, 'utf8')).toBe(damaged);
  }
  const linked = folderWith();
  symlinkSync(path.join(root, 'elsewhere'), path.join(linked, 'lock.json'));
  await expect(changesIn(linked).entries()).rejects.toThrow('there is a link in its place');
  expect(existsSync(path.join(root, 'folders/one'))).toBe(false);
});

it('S83: a change that another process undid meanwhile writes nothing more and says so', async () => {
  const root = folderWith({ 'folders/one/text.md': 'old' });
  const changes = changesIn(root);
  const staged = await changes.stage();
  const journals = path.join(root, 'journals');
  let ended = false;
  // As who takes it over does when it has put everything back.
  const undone = until(
    () => {
      const names = existsSync(journals) ? readdirSync(journals) : [];
      for (const name of names.filter((one) => !one.startsWith('.'))) rmSync(path.join(journals, name));
      return ended;
    },
    15_000,
    0,
  );
  const changed = staged.change(Array.from({ length: 40 }, (_, at) => change(staged, `skill-${at}`, { folder: `a/skill-${at}` })));
  await expect(changed.finally(() => (ended = true))).rejects.toThrow('another process undid it');
  await undone;
  expect(entriesIn(root)).toEqual({});
  expect(readdirSync(path.join(root, 'folders'))).not.toContain('a'); // an empty folder would seem to be somebody's
});

it('S83: a lock whose time lies far ahead is taken over, and one that cannot be swept stops nobody', async () => {
  const root = folderWith({ 'folders/.busy/keep': '', 'folders/.staging/left/done/0/file': 'x' });
  const ahead = new Date(Date.now() + 3_600_000);
  utimesSync(path.join(root, 'folders/.busy'), ahead, ahead);
  const staged = await changesIn(root).stage();
  await staged.change([change(staged, 'one')]);
  await staged.remove();
  expect(text(root, 'one')).toBe('new');
});

it('S83: what a process killed after its change counted had left is removed, and so is a journal that was not written whole', async () => {
  const root = folderWith({ 'folders/here/text.md': 'new', 'folders/.staging/left/old/0/text.md': 'old', 'journals/.left.json.part': '{' });
  writeFiles(root, { 'journals/left.json': JSON.stringify({ root: path.join(root, 'folders'), done: ['here'] }) });
  for (const name of ['folders/.staging/left', 'journals/.left.json.part']) utimesSync(path.join(root, name), 1, 1);
  await (await changesIn(root).stage()).remove();
  expect([text(root, 'here'), readdirSync(path.join(root, 'folders')), readdirSync(path.join(root, 'journals'))]).toEqual([
    'new',
    ['here'],
    [],
  ]);
});
