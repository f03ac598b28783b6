import { execFileSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import type { Tool, ToolCall } from 'pith';
import { fakeClock } from 'pith/testing';
import { describe, expect, it, vi } from 'vitest';
import { probeSandboxing } from '@pith/supervised-process';
import { Jail, type Entry } from '@pith/safe-files';
import { listFilesTool } from '../../../sandbox/extensions/project_tools/files/list-files.ts';
import { openProject } from '../../../sandbox/extensions/project_tools/files/project.ts';
import { searchFilesTool } from '../../../sandbox/extensions/project_tools/files/search-files.ts';
import { walk } from '../../../sandbox/extensions/project_tools/shell/project-walk.ts';
import { SecretSearch, secretsOf } from '../../../sandbox/extensions/project_tools/shell/secret-files.ts';
import { AutorunSearch } from '../../../sandbox/extensions/project_tools/shell/autorun-files.ts';
import { folderWith } from '../../places.ts';
import { projectWith } from './project.ts';

const { available } = await probeSandboxing();
const out = (result: unknown) => (result as { readonly output: string }).output;
const IS_LONG = process.env['PITH_TEST_LONG'] !== undefined;
/** More than the 50,000 that were the most once. */
const FILES = IS_LONG ? 300_000 : 51_000;

/** Files of the index alone: git lists them, and nothing is written. */
function indexFiles(cwd: string, count: number): void {
  const empty = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391';
  const entries = Array.from({ length: count }, (_, at) => `100644 ${empty}\tgenerated/d${at % 500}/f${at}.txt\n`);
  execFileSync('git', ['update-index', '--index-info'], { cwd, input: entries.join('') });
}

it('S12 a file behind many others is listed, found and said to be left out where there are too many', async () => {
  const project = await projectWith({ 'zz/last.ts': 'needle\n' }, { git: true });
  indexFiles(project.root, FILES);
  expect(out(await project.call('list_files', { glob: '*.ts', path: 'zz' }))).toBe('zz/last.ts');
  expect(out(await project.call('search_files', { pattern: 'needle', path: 'zz' }))).toContain('zz/last.ts:1: needle');
  const all = [out(await project.call('list_files', { glob: '*.ts' }))];
  if (IS_LONG) all.push(out(await project.call('search_files', { pattern: 'needle' }))); // which asks the same list
  const expected = !IS_LONG ? /^zz\/last\.ts/u : /^no[^]*only the first 300000 files were searched: name a folder in path/u;
  for (const said of all) expect(said).toMatch(expected);
});

it('S12 what is not found says how much was looked at, where there are too many files or it takes too long', async () => {
  const root = folderWith();
  const project = openProject({ project: root, sandbox: `${root}/sandbox`, home: null }, () => `${root}/data`, {
    skills: async () => [],
    mayChangePith: async () => true,
    unconfined: async () => undefined,
    proposalCure: async () => '',
  })!;
  const entries = (type: Entry['type'], count: number) =>
    Array.from({ length: count }, (_, at) => ({ name: `${at}.ts`, type, size: 0, modified: '' }));
  const [folders, files] = [entries('directory', 2), entries('file', 50_001)];
  vi.spyOn(project.jail, 'list').mockImplementation(async ({ length }) => ({ entries: length === 0 ? folders : files, total: 0 }));
  const ask = async (tool: Tool, input: object) => out(await tool.execute(input, { signal: new AbortController().signal } as ToolCall));
  let now = 0;
  const slow = { ...fakeClock(), now: () => (now += 6000) };
  const cut = /only the first 100000 files were searched: name a folder in path/u;
  expect(await ask(listFilesTool(project), { glob: '*.md', path: '.' })).toMatch(cut);
  const said = await ask(searchFilesTool(project, slow), { pattern: 'needle', path: '.', glob: '0.ts/1*', context: 0 });
  expect(said).toMatch(/^nothing matches 'needle' in the first 1 files\n… \d+ files were not searched: it took too long/u);
  expect(said).toMatch(cut);
});

describe('S12 files with secrets in a project of many files', () => {
  const look = async (files: Readonly<Record<string, string>>, most: number) => {
    const jail = new Jail(folderWith(files));
    const {
      files: found,
      unchecked,
      repositories,
    } = await secretsOf({ jail, root: jail.root } as never, most, new AbortController().signal);
    const names = (places: readonly string[]) => places.map((at) => at.slice(jail.root.length + 1)).sort();
    return { found: names(found), unchecked: names(unchecked), repositories: names(repositories) };
  };
  const many = (folder: string, count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`${folder}/${at}`, '']));
  const deep = { '.env': '', 'a/b/c/.env': '', 'a/b/c/d/id_rsa': '', 'z/.git/config': '' };

  it('S12 are found at any depth', async () =>
    expect(await look(deep, 1000)).toEqual({ found: ['.env', 'a/b/c/.env', 'a/b/c/d/id_rsa'], unchecked: [], repositories: ['z/.git'] }));

  it('S12 those near the root are found first; folders that were not looked through are named', async () =>
    expect(await look({ ...deep, ...many('zz', 20) }, 20)).toEqual({ found: ['.env'], unchecked: ['a/b'], repositories: ['z/.git'] }));

  it('S12 no file with a secret is neither found nor hidden, wherever looking ends', async () => {
    const folders = Array.from({ length: 120 }, (_, at) => `w/${at % 3}/${at % 40}/${at}/x`);
    const files = Object.fromEntries(folders.map((folder) => [`${folder}/.env`, '']));
    for (let most = 4; most < 700; most += 58) {
      const { found, unchecked } = await look(files, most);
      expect(unchecked.length, `${most}`).toBeLessThanOrEqual(50);
      const isHidden = (file: string) => found.includes(file) || unchecked.some((folder) => file.startsWith(`${folder}/`));
      expect(Object.keys(files).filter((file) => !isHidden(file))).toEqual([]);
    }
  });

  it('S12 where the root alone has too many, the refusal says what to do', async () =>
    expect(
      look({ ...many('.', 3), ...Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`d${at}/x`, ''])) }, 10),
    ).rejects.toMatchObject({
      code: 'file_unavailable',
      message: expect.stringMatching(/more than 10 files.*raise extensions\.project_tools\.shell\.files_checked/u),
    }));

  it('9 S12 are found by the walk that finds what starts by itself, each folder looked into once', async () => {
    const jail = new Jail(folderWith({ ...deep, 'a/package.json': '{}', 'node_modules/x/.env': '', 'node_modules/x/.git/config': '' }));
    const kinds = vi.spyOn(jail, 'kinds');
    const secrets = new SecretSearch(jail.root, 1000);
    const autorun = new AutorunSearch({ root: jail.root, jail, state: jail.root + '/none' });
    await walk({ root: jail.root, jail }, [secrets, autorun], new AbortController().signal);
    const places = (...names: readonly string[]) => names.map((name) => `${jail.root}/${name}`);
    expect(secrets.found()).toMatchObject({ files: places('.env', 'a/b/c/.env', 'a/b/c/d/id_rsa'), repositories: places('z/.git') });
    expect([...(await autorun.found(new AbortController().signal)).digests.keys()].sort()).toEqual([
      'a/package.json',
      'node_modules/x/.git',
      'z/.git',
    ]);
    expect(kinds.mock.calls.slice(0, 6).map(([names]) => names.join('/'))).toEqual(['', 'a', 'z', 'a/b', 'a/b/c', 'a/b/c/d']);
  });

  it('3 S7 names are looked at among packages too for a command that runs unasked, and repositories without a working tree are found', async () => {
    const moved = { 'node_modules/conf/.env': '', '.venv/x/.kube/config': '', '.svn/id_rsa': '' };
    const bare = { '.bare/HEAD': '', '.bare/config': '', '.bare/objects/x': '', '.bare/refs/x': '' };
    expect((await look({ ...moved, ...bare }, 1000)).found).toEqual(Object.keys(moved).sort());
    const jail = new Jail(folderWith(bare));
    expect(await secretsOf({ jail, root: jail.root }, 100, new AbortController().signal)).toMatchObject({ bare: [`${jail.root}/.bare`] });
  });

  it('S12 a folder that leads elsewhere is not followed', async () => {
    const outside = folderWith({ '.env': '' });
    const folder = folderWith({ 'a.txt': '' });
    symlinkSync(outside, `${folder}/link`);
    const jail = new Jail(folder);
    expect((await secretsOf({ jail, root: jail.root } as never, 100, new AbortController().signal)).files).toEqual([]);
  });

  it.skipIf(!available)('S12 a command runs, does not see what was not looked through, and says so', async () => {
    const settings = 'extensions:\n  project_tools:\n    shell:\n      files_checked: 100\n';
    const project = await projectWith({ ...many('zz', 120), 'sandbox/pith.yaml': settings, 'y/x/.env': 'canary', 'b.txt': 'b\n' });
    for (const command of ['cat y/x/.env b.txt', 'cat y/x/.env b.txt; touch made'])
      expect(out(await project.call('shell', { command }))).toMatch(
        /^\[Pith hides from this command.*: .*y\/x; to show them, raise extensions\.project_tools\.shell\.files_checked\]\n(?![^]*canary)[^]*b\n/u,
      );
    expect(existsSync(project.at('made'))).toBe(true);
  });
});
