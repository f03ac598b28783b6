import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { folderWith } from '../../places.ts';

function box() {
  const base = folderWith();
  fs.mkdirSync(path.join(base, 'home'));
  const outside = path.join(base, 'home', '.bashrc');
  fs.writeFileSync(outside, 'mine\n');
  return { base, outside, data: path.join(base, 'data') };
}

/** Whose state has its folder already. */
function madeBox() {
  const made = box();
  const folder = stateFolder(made.data);
  folder.make();
  return { ...made, folder };
}

/** What is done with a file that is there. */
const uses = (folder: StateFolder, name: string) => [
  () => folder.read(name),
  () => folder.append(name, 'x'),
  () => folder.database(name),
  () => folder.has(name),
];

const mode = (file: string) => (fs.statSync(file).mode & 0o777).toString(8);
const refused = (where: string, why: RegExp) =>
  expect.objectContaining({ code: 'state_refused', where, message: expect.stringMatching(why), cure: expect.any(String) });

describe('state', () => {
  it('T6: is kept in files and folders that only this user can read', async () => {
    const { data } = box();
    const folder = stateFolder(data, 'extensions', 'one');
    expect(folder.read('a')).toBeNull();
    expect(folder.list()).toEqual([]);
    expect(fs.existsSync(data)).toBe(false);
    await folder.write('a', 'one');
    folder.writeNow('b', 'two');
    folder.append('c', 'three\n');
    folder.append('c', 'four\n');
    expect(folder.list().toSorted()).toEqual(['a', 'b', 'c']);
    expect([String(folder.read('a')), String(folder.read('b')), String(folder.read('c'))]).toEqual(['one', 'two', 'three\nfour\n']);
    for (const name of ['a', 'b', 'c']) expect(mode(path.join(folder.path, name))).toBe('600');
    for (const at of [data, path.join(data, 'extensions'), folder.path]) expect(mode(at)).toBe('700');
    const before = folder.stamp('a');
    await folder.write('a', 'new', { durable: false });
    expect(folder.stamp('a')).not.toBe(before);
    folder.remove('a');
    expect([folder.has('a'), folder.stamp('a'), folder.has('b')]).toEqual([false, '', true]);
    expect(() => folder.read('b', 2)).toThrow(RangeError);
  });

  it('T6: a folder in the place of a file is refused by its name, read or written', async () => {
    const folder = stateFolder(box().data);
    folder.folder('a', 'in').make();
    const why = refused(path.join(folder.path, 'a'), /a folder is in its place$/);
    for (const act of [() => folder.read('a'), () => folder.has('a'), () => folder.writeNow('a', 'x'), () => folder.append('a', 'x')])
      expect(act).toThrow(why);
    await expect(folder.write('a', 'x')).rejects.toEqual(why);
    expect(folder.folder('a').list()).toEqual(['in']);
  });

  it('T6: files that others could read are closed to them when they are written on', () => {
    const { data } = box();
    fs.mkdirSync(data);
    fs.writeFileSync(path.join(data, 'log'), 'a\n', { mode: 0o644 });
    stateFolder(data).append('log', 'b\n');
    expect(mode(path.join(data, 'log'))).toBe('600');
  });

  it.each(['', '.', '..', 'a/b', '../a', 'a\0b', 'a\\b'])('T6: %j names no file', (name) => {
    const folder = stateFolder(box().data);
    for (const act of [() => folder.read(name), () => folder.append(name, 'x'), () => folder.folder(name), () => folder.remove(name)])
      expect(act).toThrow(expect.objectContaining({ code: 'parameter_invalid' }));
  });

  it.each([['data'], ['data', 'extensions'], ['data', 'extensions', 'one']])('T6 F2: a link at %j %j %j is not followed', async (...at) => {
    const { base, data } = box();
    const target = path.join(base, 'home');
    fs.writeFileSync(path.join(target, 'index'), 'theirs');
    const link = path.join(base, ...at);
    fs.mkdirSync(path.dirname(link), { recursive: true });
    fs.symlinkSync(target, link);
    const folder = stateFolder(data, 'extensions', 'one');
    const why = refused(link, /a link is in the place of a folder/);
    for (const act of [...uses(folder, 'index'), () => folder.list(), () => folder.remove('index'), () => folder.writeNow('index', 'x')])
      expect(act).toThrow(why);
    await expect(folder.write('index', 'x')).rejects.toEqual(why);
    expect(fs.readdirSync(target).toSorted()).toEqual(['.bashrc', 'index']);
    expect(fs.readFileSync(path.join(target, 'index'), 'utf8')).toBe('theirs');
  });

  it('T6 F2: what a link in the place of a file leads to is neither read nor written', async () => {
    const { data, outside, folder } = madeBox();
    const place = path.join(data, 'index');
    fs.symlinkSync(outside, place);
    const why = refused(place, /a link is in its place/);
    for (const act of uses(folder, 'index')) expect(act).toThrow(why);
    await folder.write('index', 'ours');
    expect(fs.readFileSync(outside, 'utf8')).toBe('mine\n');
    expect([String(folder.read('index')), fs.lstatSync(place).isFile()]).toEqual(['ours', true]);
    fs.rmSync(place);
    fs.symlinkSync(path.join(path.dirname(outside), 'absent'), place);
    expect(() => folder.append('index', 'x')).toThrow(why);
    folder.remove('index');
    expect([fs.existsSync(path.join(path.dirname(outside), 'absent')), folder.list()]).toEqual([false, []]);
  });

  it('T6 F2: a hard link to a file from elsewhere is refused', () => {
    const { data, outside, folder } = madeBox();
    fs.linkSync(outside, path.join(data, 'pith.log'));
    const why = refused(path.join(data, 'pith.log'), /several names/);
    for (const act of uses(folder, 'pith.log').slice(0, 3)) expect(act).toThrow(why);
    expect(fs.readFileSync(outside, 'utf8')).toBe('mine\n');
  });

  it.each(['-wal', '-shm', '-journal'])('T6: a link in the place of a database%s is refused', (beside) => {
    const { data, outside, folder } = madeBox();
    fs.symlinkSync(outside, path.join(data, `pith.db${beside}`));
    expect(() => folder.database('pith.db')).toThrow(refused(path.join(data, `pith.db${beside}`), /a link/));
  });

  it('T6 F24: a pipe or a socket is refused and never waited for', async () => {
    const { data, folder } = madeBox();
    execFileSync('mkfifo', [path.join(data, 'pipe')]);
    const server = createServer().listen(path.join(data, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    for (const [name, why] of [
      ['pipe', /a pipe is in/],
      ['socket', /a socket is in/],
    ] as const)
      for (const act of uses(folder, name)) expect(act).toThrow(refused(path.join(data, name), why));
    await new Promise((resolve) => server.close(resolve));
  });

  it.skipIf(process.getuid?.() !== 0)('T6 F15: what belongs to another user is refused', () => {
    const { data } = box();
    const folder = stateFolder(data, 'extensions');
    folder.writeNow('a', 'x');
    fs.chownSync(path.join(folder.path, 'a'), 1234, 1234);
    expect(() => folder.read('a')).toThrow(refused(path.join(folder.path, 'a'), /belongs to another user \(1234\)/));
    fs.chownSync(data, 1234, 1234);
    expect(() => folder.list()).toThrow(refused(data, /belongs to another user/));
  });

  it('T7: a log begins a new file where it would grow too large, and keeps so many', () => {
    const { data } = box();
    const folder = stateFolder(data, 'logs');
    const line = (n: number) => `${String(n).padStart(9, '0')}\n`;
    for (let n = 0; n < 100; n += 1) folder.append('log', line(n), { bytes: 100, files: 3 });
    expect(folder.list().toSorted()).toEqual(['log', 'log.1', 'log.2']);
    const kept = ['log.2', 'log.1', 'log'].map((name) => String(folder.read(name))).join('');
    expect(kept).toBe(Array.from({ length: 30 }, (_, at) => line(70 + at)).join(''));
    fs.rmSync(path.join(folder.path, 'log.1')); // as when somebody was killed between two renames
    for (let n = 100; n < 120; n += 1) folder.append('log', line(n), { bytes: 100, files: 3 });
    expect(
      ['log.2', 'log.1', 'log']
        .map((name) => String(folder.read(name) ?? ''))
        .join('')
        .endsWith(line(119)),
    ).toBe(true);
  });
});
