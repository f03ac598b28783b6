import fs, { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { FolderChange } from '@pith/folder-changes';
import { treeDigest } from '@pith/skill-files';
import { bundleText, exitOf, startProgram } from '../../core/store/child-process.ts';
import { folderWith, writeFiles } from '../../places.ts';
import { realTime } from '../../waiting.ts';
import { changesIn, dead, type Entry, entriesIn } from './folders.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
const ROUNDS = isLong ? 200 : 30;
const IDS = ['alpha', 'beta', 'gamma'];

/** The same numbers for the same seed, from 0 to below `most`. */
function numbers(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

class Stopped extends Error {}

/** What changes a file system fails from the given step on, as if the process were gone; resolves with the steps that were made. */
async function stoppedAt(step: number, root: string, work: () => Promise<unknown>): Promise<number> {
  const before: (() => void)[] = [];
  let made = 0;
  const stopIn = <T extends object>(module: T, names: readonly (keyof T)[]): void => {
    for (const name of names) {
      const real = module[name] as (...given: unknown[]) => unknown;
      before.push(() => (module[name] = real as T[keyof T]));
      module[name] = ((...given: unknown[]) => {
        if (String(given[0]).startsWith(root) && made++ >= step) throw new Stopped();
        return real.apply(module, given);
      }) as T[keyof T];
    }
  };
  stopIn(promises, ['mkdir', 'rename', 'rm', 'rmdir', 'writeFile']);
  stopIn(fs, ['mkdirSync', 'renameSync', 'rmSync', 'rename', 'writeFileSync', 'unlinkSync']);
  syncBuiltinESMExports();
  try {
    await work().catch((error: unknown) => {
      if (made <= step) throw error;
    });
  } finally {
    before.forEach((restore) => restore());
    syncBuiltinESMExports();
  }
  return made;
}

class Model {
  readonly folders: string;
  readonly lockFile: string;

  constructor(readonly root: string) {
    this.folders = path.join(root, 'folders');
    this.lockFile = path.join(root, 'lock.json');
  }

  /** Puts a folder in place of these ids, or takes them away. */
  async change(ids: readonly string[], text: string | null): Promise<void> {
    const staged = await changesIn(this.root).stage();
    try {
      const changes: FolderChange<Entry>[] = [];
      for (const id of ids) {
        const from = path.join(staged.directory, 'new', id);
        if (text !== null) writeFiles(from, { 'text.md': `${id}: ${text}` });
        const entry = text === null ? null : { digest: await treeDigest(from) };
        if (text !== null || existsSync(path.join(this.folders, id)))
          changes.push({ folder: id, id, from: text === null ? null : `new/${id}`, entry });
      }
      await staged.change(changes);
    } finally {
      await staged.remove();
    }
  }

  /** Nobody says any more that he lives; then another process begins. */
  async recover(): Promise<void> {
    dead(this.root);
    const changes = changesIn(this.root);
    if (changes.isUnsettled()) await changes.recover();
  }

  journals(): readonly string[] {
    const folder = path.join(this.root, 'journals');
    return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  }

  /** Whether a change is neither made nor undone. */
  isOpen(): boolean {
    return this.journals().some((name) => !readFileSync(path.join(this.root, 'journals', name), 'utf8').includes('"done":'));
  }

  /** All that a person finds in place: text by path, and the entries. */
  state(): string {
    return JSON.stringify([[...texts(this.folders)], entriesIn(this.root)]);
  }
}

/** The texts of all files in a folder, by path, without what is staged and the lock. */
function texts(folder: string): Map<string, string> {
  const names = existsSync(folder) ? (readdirSync(folder, { recursive: true }) as string[]).sort() : [];
  const files = names.filter((name) => !/^\.(?:staging|busy(?:\/|$))/.test(name) && fs.statSync(path.join(folder, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]));
}

it('S83 B1: stopped at each of its steps, a change of several folders is made whole or not at all', async () => {
  for (const text of ['new\n', null]) {
    let isStopped = true;
    let steps = 0;
    for (let step = 0; isStopped; step += 1) {
      // alpha is one by hand, of which the entries say nothing
      const model = new Model(folderWith({ 'folders/alpha/text.md': 'by hand', 'folders/gamma/text.md': 'another' }));
      await model.change(['beta'], 'first\n');
      const ids = text === null ? ['alpha', 'beta'] : IDS;
      const before = model.state();
      isStopped = (await stoppedAt(step, model.root, () => model.change(ids, text))) > step;
      steps = step;
      await model.recover();
      const after = model.state();
      expect(existsSync(path.join(model.folders, '.kept'))).toBe(false);
      if (after === before) continue;
      const files = texts(model.folders);
      const isNew = ids.every((id) => (text === null ? !files.has(`${id}/text.md`) : files.get(`${id}/text.md`)!.endsWith(text)));
      expect([step, isNew, Object.keys(entriesIn(model.root))]).toEqual([step, true, text === null ? [] : IDS]);
    }
    expect(steps).toBeGreaterThan(10);
  }
});

it(
  'S83 B1: changes stopped anywhere, then edits by hand: no byte of a person is lost',
  async () => {
    const random = numbers(20261123);
    for (let round = 0; round < ROUNDS; round += 1) {
      const model = new Model(folderWith());
      for (const id of IDS) if (random(3) === 0) writeFiles(model.folders, { [`${id}/text.md`]: `by hand ${round} ${id}` });
      for (const id of IDS) if (random(2) === 0) await model.change([id], `installed ${id}\n`);
      const ids = IDS.filter(() => random(2) === 0);
      const text = random(3) === 0 ? null : `new ${round}\n`;
      const before = texts(model.folders);
      await stoppedAt(random(24), model.root, () => model.change(ids, text));
      const seen = texts(model.folders);
      const isMade = !model.isOpen() && ids.some((id) => seen.get(`${id}/text.md`) !== before.get(`${id}/text.md`));
      const mine = new Map<string, string>();
      const gone = new Set<string>();
      for (const id of IDS) {
        const what = random(5);
        if (what === 0) rmSync(path.join(model.folders, id), { recursive: true, force: true });
        if (what === 0) gone.add(id);
        if (what === 1 || what === 2) mine.set(`${id}/text.md`, `mine ${round} ${id}`);
        if (what === 2 || what === 3) mine.set(`${id}/notes.md`, `notes ${round} ${id}`);
      }
      writeFiles(model.folders, Object.fromEntries(mine));
      await model.recover();
      const now = texts(model.folders);
      expect([round, [...mine].filter(([file, content]) => now.get(file) !== content)]).toEqual([round, []]);
      // What stood there is in place or kept, unless the change was made, or a person removed it or wrote over it.
      const meant = [...before].filter(([file, content]) => {
        const id = path.dirname(file);
        return !(isMade && ids.includes(id)) && !(seen.get(file) === content && (mine.has(file) || gone.has(id)));
      });
      const everything = new Set(now.values());
      expect([round, meant.filter(([, content]) => !everything.has(content))]).toEqual([round, []]);
      expect([round, model.journals()]).toEqual([round, []]);
    }
  },
  30_000 + ROUNDS * 500,
);

it('S83 B1: kill -9 of a process that replaces and removes without end: each time every folder is whole, as its entry says', async () => {
  const model = new Model(folderWith());
  const source = `import fs from 'node:fs';
    import { treeDigest } from '@pith/skill-files';
    import { changesIn } from '${import.meta.dirname}/folders.ts';
    const run = async () => {
      for (let at = 0; ; at += 1) {
        const staged = await changesIn('${model.root}').stage();
        const changes = [];
        for (const id of ${JSON.stringify(IDS)}) {
          const from = staged.directory + '/new/' + id;
          fs.mkdirSync(from, { recursive: true });
          fs.writeFileSync(from + '/text.md', process.pid + ' ' + at);
          const entry = { digest: await treeDigest(from) };
          if (at % 4 !== 3) changes.push({ folder: id, id, from: 'new/' + id, entry });
          else if (fs.existsSync('${model.folders}/' + id)) changes.push({ folder: id, id, from: null, entry: null });
        }
        await staged.change(changes);
        await staged.remove();
        if (at === 0) console.log('ready');
      }
    };
    void run();`;
  const program = await bundleText(source, folderWith());
  for (let round = 0; round < (isLong ? 50 : 10); round += 1) {
    const child = startProgram(program);
    const ended = exitOf(child);
    await Promise.race([new Promise((resolve) => child.stdout?.once('data', resolve)), ended]);
    await realTime(Math.random() * 40, 'a kill at a random moment');
    child.kill('SIGKILL');
    await ended;
    await model.recover();
    const entries = entriesIn(model.root);
    const inPlace = IDS.filter((id) => existsSync(path.join(model.folders, id)));
    expect([[], IDS]).toContainEqual(inPlace);
    expect(Object.keys(entries)).toEqual(inPlace);
    for (const id of inPlace) expect(await treeDigest(path.join(model.folders, id))).toBe(entries[id]!.digest);
    expect(new Set(texts(model.folders).values()).size).toBeLessThanOrEqual(1);
    expect(existsSync(path.join(model.folders, '.kept'))).toBe(false);
  }
}, 120_000);
