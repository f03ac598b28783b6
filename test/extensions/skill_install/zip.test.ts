import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { serverOf } from '../../places.ts';
import { skillText } from '../skill_registry/skill-sandbox.ts';
import { installSandbox } from './install-sandbox.ts';
import { zipOf, type ZipFile } from './zip-writer.ts';

const SKILL: ZipFile = { name: 'letters/SKILL.md', text: skillText({ name: 'letters' }) };

/** What lies in an archive beside an honest skill. */
const HOSTILE: readonly (readonly [what: string, beside: readonly ZipFile[], error: RegExp])[] = [
  ['a name that escapes', [{ name: '../evil.md', text: 'x' }], /invalid relative path|leads elsewhere/],
  ['a name that escapes from inside', [{ name: 'letters/../../evil.md', text: 'x' }], /invalid relative path|leads elsewhere/],
  ['an absolute name', [{ name: '/etc/evil', text: 'x' }], /absolute path/],
  ['the name of a drive', [{ name: 'C:/evil', text: 'x' }], /absolute path/],
  ['a repository of git', [{ name: 'letters/.git/config', text: '[core]' }], /git takes for a repository/],
  ['a repository of git by another name', [{ name: 'letters/lib/.Gi\u200dT', text: 'gitdir: x' }], /git takes for a repository/],
  ['a backslash', [{ name: 'letters\\evil.md', text: 'x' }], /invalid characters in fileName/],
  ['a home', [{ name: '~/evil', text: 'x' }], /absolute/],
  ['a control character', [{ name: 'letters/a\nb', text: 'x' }], /control characters/],
  ['a link', [{ name: 'letters/link', text: '/etc/passwd', mode: 0o120777 }], /is a link/],
  ['a device', [{ name: 'letters/device', mode: 0o020666 }], /is not a regular file/],
  ['a pipe', [{ name: 'letters/pipe', mode: 0o010666 }], /is not a regular file/],
  ['the same name twice', [{ name: 'letters/SKILL.md', text: 'other' }], /one name on some systems/],
  ['names that differ in case', [{ name: 'LETTERS/a.md', text: 'x' }], /one name on some systems/],
  [
    'names that differ in composition',
    [
      { name: 'letters/\u00e9', text: '' },
      { name: 'letters/e\u0301', text: '' },
    ],
    /one name on some systems/,
  ],
  [
    'names that differ in what nobody sees',
    [
      { name: 'letters/ab', text: '' },
      { name: 'letters/a\u200db', text: '' },
    ],
    /others that nobody sees/,
  ],
  [
    'a file and a folder of one name',
    [
      { name: 'letters/a', text: '' },
      { name: 'letters/a/b', text: '' },
    ],
    /one name on some systems/,
  ],
  ['an encrypted entry', [{ name: 'letters/closed', text: 'x', flags: 1 }], /encrypted/],
  ['a bomb', [{ name: 'letters/zeros', text: Buffer.alloc(8 * 1024 * 1024) }], /more than 100 times/],
  [
    'a bomb that says it is small',
    [{ name: 'letters/zeros', text: Buffer.alloc(8 * 1024 * 1024), saysSize: 100 }],
    /too many bytes|larger than it says/,
  ],
  ['a size that is too large', [{ name: 'letters/short', text: 'abc', saysSize: 100 }], /not enough bytes|smaller than it says/],
  [
    'a stored entry with a wrong size',
    [{ name: 'letters/short', text: 'abc', store: true, saysSize: 2 }],
    /size mismatch|compressed\/uncompressed/i,
  ],
  ['a wrong checksum', [{ name: 'letters/a.md', text: 'abc', saysCrc: 1 }], /are damaged/],
  [
    'more than it may hold',
    [{ name: 'letters/large', text: 'x', saysSize: 51 * 1024 * 1024, store: false }],
    /more than 100 times|more than 50 MB/,
  ],
  ['too many files', Array.from({ length: 2000 }, (_, at) => ({ name: `letters/${at}`, store: true })), /2001 files; at most 2000/],
];

describe('skills install from a zip archive (S83)', () => {
  it('S83 installs what an archive holds', async () => {
    const box = await installSandbox();
    const zip = path.join(box.project, 'pack-main.zip');
    const files = [
      { name: 'pack-main/', mode: 0o040755 },
      { name: 'pack-main/SKILL.md', text: skillText({ name: 'letters' }) },
      { name: 'pack-main/scripts/a.sh', text: '#!/bin/sh\n', mode: 0o100755 },
      { name: 'pack-main/references/long.md', text: 'A line of text.\n'.repeat(200) },
      { name: '__MACOSX/pack-main/._SKILL.md', text: 'x' },
    ];
    await writeFile(zip, zipOf(files));
    const { error, code } = await box.run('install', zip);
    expect([error, code]).toEqual(['', 0]);
    expect(box.skills()).toEqual(['letters']); // the archive's own folder has the name of a branch
    expect(readFileSync(path.join(box.sandbox, 'skills/letters/references/long.md'), 'utf8')).toHaveLength(3200);
    expect(box.lock()['letters']).toMatchObject({ origin: { kind: 'zip', location: zip, path: 'pack-main' }, commit: null });
  });

  it.each(HOSTILE)('S83 refuses %s, and leaves nothing', async (_, beside, error) => {
    const box = await installSandbox();
    await writeFile(path.join(box.project, 'a.zip'), zipOf([SKILL, ...beside]));
    const outcome = await box.install('a.zip', { yes: true });
    expect(outcome.error).toMatch(error);
    expect(outcome.code).toBe(1);
    expect([box.skills(), box.lock()]).toEqual([[], {}]);
  });

  it('S83 a SKILL.md that is damaged refuses its own skill, and holds up no other', async () => {
    const box = await installSandbox();
    const zip = path.join(box.project, 'a.zip');
    await writeFile(zip, zipOf([{ name: 'broken/SKILL.md', text: skillText({ name: 'broken' }), saysCrc: 1 }, SKILL]));
    const { error, code, text } = await box.run('install', zip, { all: true, yes: true });
    expect([error, code, box.skills()]).toEqual(['', 0, ['letters']]);
    expect(text).toContain('pith: broken was not installed: the contents of "broken/SKILL.md" are damaged; fetch the archive again');
    expect((await box.run('install', zip, { skill: ['letters'], force: true })).error).toBe('');
  });

  it.each([
    ['no archive', 'not a zip', /^origin_refused: cannot take skills from ".*a\.zip": it is not a valid zip archive/],
    ['an archive of nothing', zipOf([]), /no SKILL\.md|origin_without_skill/],
  ])('S83 refuses %s', async (_, content, error) => {
    const box = await installSandbox();
    await box.write('a.zip', content);
    expect((await box.install('a.zip')).error).toMatch(error);
  });

  it('S83 fetches an archive from an address, up to a size', async () => {
    const box = await installSandbox();
    const zip = zipOf([SKILL]);
    const at = await serverOf((request, response) => {
      if (request.url === '/gone.zip') return void response.writeHead(404).end();
      if (request.url === '/moved.zip') return void response.writeHead(302, { location: '/a.zip' }).end();
      if (request.url === '/large.zip') return void response.writeHead(200, { 'content-length': String(60 * 1024 * 1024) }).end(zip);
      response.end(zip);
    });
    expect((await box.run('install', `${at}/gone.zip`)).error).toMatch(/^download_failed: .*answers 404/);
    expect((await box.run('install', `${at}/large.zip`)).error).toMatch(
      /^origin_refused: cannot take skills from "http.*large\.zip": it is larger than 50 MB/,
    );
    expect(box.skills()).toEqual([]);
    expect((await box.run('install', `${at}/moved.zip`)).error).toBe('');
    expect(box.lock()['letters']!.origin).toEqual({ kind: 'zip', location: `${at}/moved.zip`, path: 'letters' });
  });
});
