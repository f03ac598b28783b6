import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { pithHere } from './pith-here.ts';
import { putFiles, runPith, startPith, type Folder } from './pith-process.ts';
import { bare } from './sandbox-files.ts';
import { ownFolder } from './until-test-ends.ts';
import { words } from '../words.ts';

const ENV = { PITH_MODEL: 'offline/librarian' };
let folder: Folder;
/** What a conversation about skills needs: for processes, which are dear. */
const LEAN = bare(['cli_channel', 'offline', 'skill_registry', 'skill_search']);
const OWN = { 'skills/own/SKILL.md': '---\nname: own\ndescription: Mine. $(touch ran)\n---\nDo it.\n' };
beforeEach(async () => void (folder = await ownFolder(OWN)));

const pith = (argv: readonly string[], input = '') => pithHere(argv, { cwd: folder.path, env: ENV, input });
const pithApart = (argv: readonly string[], input = '') => runPith(argv, { cwd: folder.path, env: ENV, input });
const data = (...names: string[]) => path.join(folder.sandbox, 'data', ...names);

/** A folder of the person's, with nothing that Pith may touch. */
function outside() {
  const home = path.join(folder.path, 'theirs');
  fs.mkdirSync(home);
  fs.writeFileSync(path.join(home, '.bashrc'), 'mine\n');
  fs.writeFileSync(path.join(home, 'pith.log'), 'mine\n');
  return {
    home,
    look: () => [fs.readdirSync(home).toSorted(), ...fs.readdirSync(home).map((name) => fs.readFileSync(path.join(home, name), 'utf8'))],
  };
}

function place(at: string, put: (file: string) => void): void {
  fs.mkdirSync(path.dirname(at), { recursive: true });
  fs.rmSync(at, { recursive: true, force: true });
  put(at);
}

/** Where Pith keeps what it reads and writes: files, and folders none of which lies in another. */
const FILES = words(`
  extensions/skill_registry/index extensions/skill_registry/trust.json
  extensions/skill_registry/examples.jsonl .cache/index.json logs/pith.log quarantine.json last-good.json pith.db
`);
const FOLDERS = ['skill_registry', 'extensions/skill_registry', 'logs', '.cache'];
const [DATABASE, ...OTHERS] = FILES.toReversed();
/** Commands of their own where a conversation does not begin; else one conversation in which they are given. */
const isApart = ([at = '']: readonly string[]) => at.startsWith('pith.db');
const CHAT = [['chat', '--lines'], '/skills list\n/doctor\n/extensions list\nhello\n'] as const;

describe('state that came with a folder', () => {
  it.each([OTHERS, [DATABASE!], FOLDERS, ['extensions']].map((places) => [places]))(
    'T6 F2 F5: links in data at %j lead nobody out',
    async (places) => {
      const { home, look } = outside();
      const to = (at: string) => (FILES.includes(at) ? (at === 'logs/pith.log' ? 'pith.log' : '.bashrc') : '.');
      for (const at of places) place(data(at), (file) => fs.symlinkSync(path.join(home, to(at)), file));
      const before = look();
      if (!isApart(places)) await pith(...CHAT);
      else for (const argv of [['skills', 'list'], ['doctor'], ['chat', '-p', 'hello']]) await pith(argv);
      expect(look()).toEqual(before);
    },
  );

  it('T6 F2: data that is itself a link is refused with a reason', async () => {
    const { home, look } = outside();
    fs.symlinkSync(home, data());
    const before = look();
    const { err } = await pith(['chat', '-p', 'hello']);
    expect(err).toContain('a link is in the place of a folder');
    await pith(['skills', 'list']);
    expect(look()).toEqual(before);
  });

  /** Processes, which end where an open that waits at a pipe would keep a worker of tests. */
  it.each([[DATABASE!], ['pith.db-wal'], OTHERS].map((places) => [places]))(
    'T6 F24: pipes in data at %j hang no command',
    async (places) => {
      await putFiles(folder.sandbox, LEAN);
      for (const at of places) place(data(at), (file) => execFileSync('mkfifo', [file]));
      const ended = isApart(places)
        ? await Promise.all([['skills', 'list'], ['doctor'], ['extensions', 'list']].map((argv) => pithApart(argv)))
        : [await pithApart(...CHAT)];
      expect(ended.map(({ signal }) => signal)).toEqual(ended.map(() => null));
      expect(ended[0]?.out).toContain('own');
    },
  );

  it('T6 F24: a command with pipes for its state ends at SIGTERM', async () => {
    await putFiles(folder.sandbox, LEAN);
    for (const at of ['quarantine.json', 'logs/pith.log', 'last-good.json']) place(data(at), (file) => execFileSync('mkfifo', [file]));
    const { child, ended, out } = startPith(['chat', '--lines', '--json'], { cwd: folder.path, env: ENV, input: null });
    child.stdin.write('hello\n');
    await expect.poll(out).toContain('turn-end');
    child.kill('SIGTERM');
    const { signal, code } = await ended;
    expect([null, 'SIGTERM']).toContain(signal);
    expect(code === null || code >= 0).toBe(true);
  });
});

describe('a database with damaged pages', () => {
  it('T8 F25: is never all well, and doctor names the tables and how to go on', async () => {
    await pith(['chat', '-p', 'hello']);
    expect((await pith(['doctor'])).out).toContain('All is well');
    const bytes = fs.readFileSync(data('pith.db'));
    const kept = Buffer.from(bytes);
    const pages = bytes.length / 4096;
    for (const percent of [10, 60]) {
      kept.copy(bytes);
      for (let page = 1; page < pages; page += Math.max(1, Math.floor(100 / percent))) bytes.fill(0xa5, page * 4096, (page + 1) * 4096);
      for (const beside of ['-wal', '-shm']) fs.rmSync(data(`pith.db${beside}`), { force: true });
      fs.writeFileSync(data('pith.db'), bytes);
      const { code, out } = await pith(['doctor']);
      expect([percent, code, out.includes('All is well')]).toEqual([percent, 1, false]);
      expect(out).toMatch(/the database is damaged: tables \w+|the database cannot be read/);
      expect(out).toContain('.recover');
    }
  });
});
