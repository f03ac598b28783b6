import fs, { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '@pith/promises';
import { treeDigest } from '@pith/skill-files';
import type { SkillChange } from '../../../../sandbox/extensions/skill_registry/contract.ts';
import { type Target, targetsAt } from '../../../../sandbox/extensions/skill_registry/writing/target.ts';
import { Writer } from '../../../../sandbox/extensions/skill_registry/writing/writer.ts';
import { bundleText, exitOf, startProgram } from '../../../core/store/child-process.ts';
import { realTime } from '../../../waiting.ts';
import { type SkillSandbox, skillSandbox, skillText } from '../skill-sandbox.ts';

const ROOT = path.resolve(import.meta.dirname, '../../../..');
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
  readonly skills: string;
  readonly target: Target;

  constructor(private readonly box: SkillSandbox) {
    this.skills = path.join(box.sandbox, 'skills');
    this.target = targetsAt({ sandbox: box.sandbox }, path.join(box.sandbox, 'data/extensions/skill_registry'))[0]!;
  }

  /** Puts a skill in place of these ids, or takes them away. */
  async change(ids: readonly string[], text: string | null): Promise<void> {
    const writer = new Writer([this.target], systemClock);
    const staged = await writer.stage('project');
    try {
      const changes: SkillChange[] = [];
      for (const id of ids) {
        const from = path.join(staged, 'new', id);
        if (text !== null) mkdirSync(from, { recursive: true });
        if (text !== null) writeFileSync(path.join(from, 'SKILL.md'), skillText({ name: id, body: text }));
        const origin = { kind: 'folder', location: '/somewhere' } as const;
        const entry = text === null ? null : { origin, commit: null, digest: await treeDigest(from), installedAt: text };
        if (text !== null || existsSync(path.join(this.skills, id)))
          changes.push({ folder: id, id, from: text === null ? null : `new/${id}`, entry });
      }
      await writer.change(staged, changes);
    } finally {
      await writer.unstage(staged);
    }
  }

  /** Nobody says any more that he lives; then a command reads the skills. */
  async recover(): Promise<void> {
    const staging = path.join(this.skills, '.staging');
    for (const name of existsSync(staging) ? readdirSync(staging) : []) utimesSync(path.join(staging, name), 1, 1);
    if (existsSync(path.join(this.skills, '.busy'))) utimesSync(path.join(this.skills, '.busy'), 1, 1);
    await this.box.registry({ keepsBodies: false }).refresh();
  }

  /** Of changes that are neither made nor undone. */
  journals(): readonly string[] {
    return this.target.journals.list().filter((name) => name.endsWith('.json'));
  }

  /** All that a person finds in place: text by path, and the lock file. */
  state(): string {
    const lock = existsSync(this.target.lockFile) ? Object.entries(JSON.parse(readFileSync(this.target.lockFile, 'utf8')).skills) : [];
    return JSON.stringify([[...texts(this.skills)], lock]);
  }
}

/** The texts of all files in a folder, by path, without what is staged. */
function texts(folder: string): Map<string, string> {
  const names = existsSync(folder) ? (readdirSync(folder, { recursive: true }) as string[]).sort() : [];
  const files = names.filter((name) => !name.startsWith('.staging') && fs.statSync(path.join(folder, name)).isFile());
  return new Map(files.map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]));
}

it('S83 B1: stopped at each of its steps, a change of several skills is made whole or not at all', async () => {
  for (const text of ['new\n', null]) {
    for (let step = 0, made = Infinity; step < made; step += 1) {
      const box = await skillSandbox({
        'sandbox/skills/alpha/SKILL.md': 'by hand', // one of which the lock file says nothing
        'sandbox/skills/gamma/SKILL.md': skillText({ name: 'gamma' }),
      });
      const model = new Model(box);
      await model.change(['beta'], 'first\n');
      const ids = text === null ? ['alpha', 'beta'] : IDS;
      const before = model.state();
      made = await stoppedAt(step, box.sandbox, () => model.change(ids, text));
      await model.recover();
      const after = model.state();
      expect(existsSync(path.join(model.skills, '.kept'))).toBe(false);
      if (after === before) continue;
      const files = texts(model.skills);
      const isNew = ids.every((id) => (text === null ? !files.has(`${id}/SKILL.md`) : files.get(`${id}/SKILL.md`)!.endsWith(text)));
      const lock = Object.keys(JSON.parse(readFileSync(model.target.lockFile, 'utf8')).skills);
      expect([step, isNew, lock]).toEqual([step, true, text === null ? [] : IDS]);
    }
  }
}, 60_000);

it(
  'S83 B1: changes stopped anywhere, then edits by hand: no byte of a person is lost',
  async () => {
    const random = numbers(20261123);
    for (let round = 0; round < ROUNDS; round += 1) {
      const box = await skillSandbox();
      const model = new Model(box);
      for (const id of IDS) if (random(3) === 0) await box.write(`sandbox/skills/${id}/SKILL.md`, `by hand ${round} ${id}`);
      for (const id of IDS) if (random(2) === 0) await model.change([id], `installed ${id}\n`);
      const ids = IDS.filter(() => random(2) === 0);
      const text = random(3) === 0 ? null : `new ${round}\n`;
      const before = texts(model.skills);
      await stoppedAt(random(24), box.sandbox, () => model.change(ids, text));
      const seen = texts(model.skills);
      const isMade = model.journals().length === 0 && ids.some((id) => seen.get(`${id}/SKILL.md`) !== before.get(`${id}/SKILL.md`));
      const mine = new Map<string, string>();
      const gone = new Set<string>();
      for (const id of IDS) {
        const what = random(5);
        if (what === 0) rmSync(path.join(model.skills, id), { recursive: true, force: true });
        if (what === 0) gone.add(id);
        if (what === 1 || what === 2) mine.set(`${id}/SKILL.md`, `mine ${round} ${id}`);
        if (what === 2 || what === 3) mine.set(`${id}/notes.md`, `notes ${round} ${id}`);
      }
      for (const [file, content] of mine) await box.write(`sandbox/skills/${file}`, content);
      await model.recover();
      const now = texts(model.skills);
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

it('S83 B1: kill -9 of a process that updates and removes without end: each time every skill is whole, as its lock entry says', async () => {
  const box = await skillSandbox();
  const model = new Model(box);
  const folder = path.join(ROOT, 'sandbox/extensions/skill_registry');
  const source = `import fs from 'node:fs';
    import { systemClock } from '@pith/promises';
    import { treeDigest } from '@pith/skill-files';
    import { Writer } from '${folder}/writing/writer.ts';
    import { targetsAt } from '${folder}/writing/target.ts';
    const writer = new Writer(targetsAt({ sandbox: '${box.sandbox}' }, '${box.sandbox}/data/extensions/skill_registry'), systemClock);
    const run = async () => {
      for (let at = 0; ; at += 1) {
        const staged = await writer.stage('project');
        const changes = [];
        for (const id of ${JSON.stringify(IDS)}) {
          const from = staged + '/new/' + id;
          fs.mkdirSync(from, { recursive: true });
          fs.writeFileSync(from + '/SKILL.md', process.pid + ' ' + at);
          const entry = { origin: { kind: 'folder', location: '/somewhere' }, commit: null, digest: await treeDigest(from), installedAt: '' };
          if (at % 4 !== 3) changes.push({ folder: id, id, from: 'new/' + id, entry });
          else if (fs.existsSync('${box.sandbox}/skills/' + id)) changes.push({ folder: id, id, from: null, entry: null });
        }
        await writer.change(staged, changes);
        await writer.unstage(staged);
        if (at === 0) console.log('ready');
      }
    };
    void run();`;
  const program = await bundleText(source, box.project);
  for (let round = 0; round < (isLong ? 50 : 10); round += 1) {
    const child = startProgram(program);
    const ended = exitOf(child);
    await Promise.race([new Promise((resolve) => child.stdout?.once('data', resolve)), ended]);
    await realTime(Math.random() * 40, 'a kill at a random moment');
    child.kill('SIGKILL');
    await ended;
    await model.recover();
    const lock = JSON.parse(readFileSync(model.target.lockFile, 'utf8')).skills as Record<string, { digest: string }>;
    const inPlace = IDS.filter((id) => existsSync(path.join(model.skills, id)));
    expect([[], IDS]).toContainEqual(inPlace);
    expect(Object.keys(lock)).toEqual(inPlace);
    for (const id of inPlace) expect(await treeDigest(path.join(model.skills, id))).toBe(lock[id]!.digest);
    expect(new Set(texts(model.skills).values()).size).toBeLessThanOrEqual(1);
    expect(existsSync(path.join(model.skills, '.kept'))).toBe(false);
  }
}, 120_000);
