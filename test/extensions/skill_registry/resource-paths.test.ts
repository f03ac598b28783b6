import { execFileSync } from 'node:child_process';
import { linkSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { link, mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Reach } from '@pith/safe-files';
import { readResource } from '@pith/skill-files';
import { SEPARATORS, UP } from '../../fixtures/ways-up.ts';
import { folderWith, writeFiles } from '../../places.ts';
import { words } from '../../words.ts';

const SECRET = 'SECRET-OUTSIDE';
const isLong = process.env['PITH_TEST_LONG'] === '1';
let root = '';
let skill = '';

beforeAll(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'pith-traversal-')));
  skill = path.join(root, 'skills/alpha');
  await mkdir(path.join(skill, 'references/deep'), { recursive: true });
  const secrets = Object.fromEntries(['secret.txt', 'skills/secret.txt', 'skills/alpha-twin/secret.txt'].map((file) => [file, SECRET]));
  writeFiles(root, { 'skills/alpha/references/guide.md': 'inside', ...secrets });
  await symlink(path.join(root, 'secret.txt'), path.join(skill, 'out.txt'));
  await symlink('../../../secret.txt', path.join(skill, 'references/relative.txt'));
  await symlink(root, path.join(skill, 'folder'));
  await symlink('/', path.join(skill, 'slash'));
  await symlink('/proc/self', path.join(skill, 'proc'));
  await symlink('/dev/zero', path.join(skill, 'zero'));
  await symlink(path.join(root, 'nothing'), path.join(skill, 'dangling'));
  await symlink('loop', path.join(skill, 'loop'));
  await link(path.join(root, 'secret.txt'), path.join(skill, 'hard.txt'));
  execFileSync('mkfifo', [path.join(skill, 'fifo')]);
});

afterAll(() => rm(root, { recursive: true, force: true }));

const TARGETS = ['secret.txt', 'etc/passwd', 'skills/secret.txt', 'alpha-twin/secret.txt', 'no-such-file'];
const PREFIXES = ['', 'references/deep/'];
const DEPTHS = [1, 3];

/** All, in the long form; else each ninth: two or three of each way up with each separator, with another target, prefix and depth each time. */
function* payloads(): Iterable<string> {
  let at = 0;
  for (const up of UP)
    for (const separator of SEPARATORS)
      for (const target of TARGETS)
        for (const prefix of PREFIXES)
          for (const depth of DEPTHS) if (at++ % 9 === 0 || isLong) yield prefix + `${up}${separator}`.repeat(depth) + target;
}

const SPECIAL = [
  ...words(`
    . .. / ./ // ../ references references/ references/.. references/deep /etc/passwd //etc/passwd file:///etc/passwd
    /proc/self/environ /dev/stdin /dev/fd/0 out.txt ./out.txt references/relative.txt relative.txt folder/secret.txt folder
    slash/etc/passwd proc/environ proc/fd/0 zero dangling loop loop/loop hard.txt ./hard.txt fifo guide.md/x
    references/guide.md/ references/guide.md/.. references//guide.md references/./guide.md references/deep/../guide.md
    missing.md
  `),
  '',
  'C:\\Windows\\win.ini',
  '\\\\host\\share',
  'guide.md\0.png',
  '\0',
  'a'.repeat(300),
  'a/'.repeat(3000),
  'x'.repeat(100_000),
  'ä'.repeat(200),
];

describe.each<Reach>(['descriptor', 'working_folder'])('paths of resources, reached by its %s', (reach) => {
  it('S44 refuses every payload of the traversal list alike, and reads nothing outside', async () => {
    let count = 0;
    const letThrough: string[] = [];
    for (const payload of payloads()) {
      if ((await readResource(skill, payload, { reach })).kind !== 'refused') letThrough.push(payload);
      count += 1;
    }
    expect(letThrough).toEqual([]);
    expect(count).toBeGreaterThan(isLong ? 5000 : 2 * UP.length * SEPARATORS.length);
  });

  it.each(SPECIAL.map((payload) => [payload.length > 60 ? `${payload.slice(0, 60)}…` : payload, payload]))(
    'S44 refuses %j in the same words',
    async (_, payload) => {
      expect(await readResource(skill, payload, { reach })).toEqual({ kind: 'refused' });
    },
  );

  it('S44 reads an honest file beside all of that', async () => {
    expect(await readResource(skill, 'references/guide.md', { reach })).toMatchObject({ kind: 'text', text: 'inside' });
    expect(await readResource(skill, 'guide.md', { reach })).toMatchObject({ kind: 'text', text: 'inside' });
  });

  it('S44 refuses a folder that is no longer where it was found', async () => {
    const moved = path.join(root, 'skills/moved');
    await symlink(skill, moved);
    onTestFinished(() => rm(moved));
    expect(await readResource(moved, 'references/guide.md', { reach })).toEqual({ kind: 'refused' });
    expect(await readResource(path.join(root, 'skills/gone'), 'references/guide.md', { reach })).toEqual({ kind: 'refused' });
  });

  it('S44 leaves no descriptor open', async () => {
    const { readdir } = await import('node:fs/promises');
    const before = (await readdir('/proc/self/fd')).length;
    for (let round = 0; round < 10; round++)
      for (const payload of words('references/guide.md out.txt folder/secret.txt hard.txt fifo references/deep missing/missing'))
        await readResource(skill, payload, { reach });
    expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(before + 1);
  });
});

describe.each<Reach>(['descriptor', 'working_folder'])(
  'what happens to a file between its check and its reading, reached by its %s',
  (reach) => {
    /** A skill with one file, and what is done to it after it was opened and checked, right before its text is read. */
    async function readWhile(change: (file: string, outside: string) => void) {
      const [skill, outside] = [folderWith({ 'file.txt': 'inside' }), folderWith()];
      let asked = 0;
      const throwIfAborted = () => void (asked++ === 0 && change(path.join(skill, 'file.txt'), path.join(outside, 'file.txt')));
      const answer = await readResource(skill, 'file.txt', { signal: { throwIfAborted } as AbortSignal, reach });
      expect(asked).toBeGreaterThan(0);
      return answer;
    }

    it.each([
      ['removed', unlinkSync],
      ['moved outside', renameSync],
      ['linked from outside', linkSync],
    ])('S44 refuses a file that was %s meanwhile', async (_, change) => {
      expect(await readWhile(change)).toEqual({ kind: 'refused' });
    });

    it('S44 reads the file that took the place of another meanwhile', async () => {
      const replace = (file: string) => [unlinkSync(file), writeFileSync(file, 'other')];
      expect(await readWhile(replace)).toMatchObject({ kind: 'text', text: 'other' });
    });

    it('S44 reads one that nobody touched', async () => {
      expect(await readWhile(() => {})).toMatchObject({ kind: 'text', text: 'inside' });
    });
  },
);

describe('S45 what is read', () => {
  const textAt = async (folder: string, file: string, part = 1) =>
    (await readResource(folder, file, { part })) as { readonly text: string };

  it('S45 with and without the leading references/', async () => {
    const files = { 'references/deep/guide.md': 'guide', 'top.md': 'top', 'references/both.md': 'in', 'both.md': 'out' };
    const folder = folderWith(files);
    const asked = ['references/deep/guide.md', 'deep/guide.md', './deep/guide.md', 'references/top.md', 'both.md', 'references/both.md'];
    const texts = await Promise.all(asked.map(async (file) => (await textAt(folder, file)).text));
    expect(texts).toEqual(['guide', 'guide', 'guide', 'top', 'out', 'in']);
  });

  it('S45 text above 1 MiB comes in numbered parts that join to the file', async () => {
    const text = 'ä🦀b\n'.repeat(400_000);
    const folder = folderWith({ 'big.txt': text });
    const parts = await Promise.all([1, 2, 3, 4].map((part) => textAt(folder, 'big.txt', part)));
    expect(parts.map((part) => part.text).join('') === text).toBe(true);
    expect(parts[0]).toMatchObject({ part: 1, parts: 4 });
    expect(await readResource(folder, 'big.txt', { part: 5 })).not.toHaveProperty('text');
  });
});
