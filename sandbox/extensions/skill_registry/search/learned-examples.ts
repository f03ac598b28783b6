import { appendFile, mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, messageOf, type Clock, type Logger } from 'pith';
import { exclusively } from '../exclusive.ts';
import { readRegularFile } from '../scan/regular-file.ts';
import { ExampleSet, type Example } from './example-set.ts';

/** What the search index asks of what was learned. */
export interface Learned {
  /** Texts of people for which the skill was loaded; the same array until something changes. */
  of(skillId: string): readonly string[];
  /** Takes over what other processes wrote; ids of the skills for which something changed. Never rejects. */
  look(): Promise<readonly string[]>;
}

/** A text for which a skill was loaded. */
export interface Lesson {
  readonly skillId: string;
  readonly text: string;
}

export const NOTHING_LEARNED: Learned = { of: () => NONE, look: async () => NONE };

const NONE: readonly string[] = [];
/** Of all skills together; beyond it the oldest go. */
const MOST = 10_000;
/** A file that has grown beyond this is no longer read. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Lines that no longer count, before the file is written anew. */
const MOST_DEAD = 500;
export const LONGEST_EXAMPLE = 300;

/** `examples.jsonl` in a data folder: one line for each example, appended by one process at a time, read again when it has changed. */
export class LearnedExamples implements Learned {
  readonly file: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #sets = new Map<string, ExampleSet>();
  #lines = 0;
  #version = '';
  /** Its last line has no end: somebody was killed while writing it. */
  #torn = false;
  #saidDamaged = '';

  constructor({ dataDirectory, clock, logger }: { readonly dataDirectory: string; readonly clock: Clock; readonly logger: Logger }) {
    this.file = path.join(dataDirectory, 'examples.jsonl');
    this.#clock = clock;
    this.#logger = logger;
  }

  of(skillId: string): readonly string[] {
    return this.#sets.get(skillId)?.texts ?? NONE;
  }

  async look(): Promise<readonly string[]> {
    try {
      return await this.#read();
    } catch (error) {
      this.#warn(`what was learned cannot be read from ${this.file}: ${messageOf(error)}; skills are found without it`);
      const before = [...this.#sets.keys()];
      this.#sets = new Map();
      return before;
    }
  }

  /** Keeps what says something new; ids of the skills for which anything changed, by others too. */
  async add(lessons: readonly Lesson[]): Promise<readonly string[]> {
    return this.#alone(async () => {
      const changed = new Set(await this.#read());
      const at = this.#clock.now();
      const rows: string[] = [];
      for (const { skillId, text } of lessons) {
        const set = this.#setOf(this.#sets, skillId);
        if (!set.isNew(text)) continue;
        set.add({ text, at });
        rows.push(rowOf(skillId, { text, at }));
        changed.add(skillId);
      }
      if (rows.length === 0) return [...changed];
      this.#lines += rows.length;
      const count = this.#count();
      if (count > MOST || this.#lines > count + MOST_DEAD) for (const id of await this.#writeAnew()) changed.add(id);
      else await this.#append(rows);
      return [...changed];
    });
  }

  /** Removes what was learned of one skill, or of all; how many texts of which. */
  async forget(skillId: string | null): Promise<ReadonlyMap<string, number>> {
    return this.#alone(async () => {
      await this.#read();
      const gone = new Map<string, number>();
      for (const [id, { examples }] of this.#sets) if (skillId === null || id === skillId) gone.set(id, examples.length);
      for (const id of gone.keys()) this.#sets.delete(id);
      if (gone.size > 0 || skillId === null) await this.#writeAnew(); // damaged lines go too
      return gone;
    });
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const folder = path.dirname(this.file);
    const busy = { code: 'examples_busy', message: 'another process is changing what was learned' };
    return exclusively({ file: `${this.file}.lock`, staging: path.join(folder, '.examples'), busy }, this.#clock, work);
  }

  async #read(): Promise<readonly string[]> {
    const version = await versionOf(this.file);
    if (version === this.#version) return NONE;
    const before = this.#sets;
    const [sets, text] = [new Map<string, ExampleSet>(), version === null ? '' : String(await readRegularFile(this.file, MOST_BYTES))];
    let [lines, damaged] = [0, 0];
    for (const line of text.split('\n')) {
      if (line === '') continue;
      lines++;
      const row = exampleOf(line);
      if (row === null) damaged++;
      else this.#setOf(sets, row.skillId).add(row.example);
    }
    this.#sets = sets;
    this.#lines = lines;
    this.#torn = text !== '' && !text.endsWith('\n');
    this.#version = version ?? '';
    if (damaged > 0) this.#warn(`${this.file}: ${damaged === 1 ? 'a damaged line is' : `${damaged} damaged lines are`} left out`);
    return [...new Set([...before.keys(), ...sets.keys()])].filter((id) => !sameTexts(before.get(id), sets.get(id)));
  }

  async #append(rows: readonly string[]): Promise<void> {
    await mkdir(path.dirname(this.file), { recursive: true });
    await appendFile(this.file, `${this.#torn ? '\n' : ''}${rows.join('')}`, { mode: 0o600 });
    await this.#written();
  }

  /** Ids of the skills that lost their oldest examples by it. */
  async #writeAnew(): Promise<readonly string[]> {
    const all = [...this.#sets].flatMap(([skillId, { examples }]) => examples.map((example) => ({ skillId, example })));
    all.sort((a, b) => a.example.at - b.example.at);
    const [gone, kept] = [all.slice(0, Math.max(0, all.length - MOST)), all.slice(-MOST)];
    const { default: writeFileAtomic } = await import('write-file-atomic');
    await mkdir(path.dirname(this.file), { recursive: true });
    await writeFileAtomic(this.file, kept.map(({ skillId, example }) => rowOf(skillId, example)).join(''), { mode: 0o600 });
    this.#sets = new Map();
    for (const { skillId, example } of kept) this.#setOf(this.#sets, skillId).add(example);
    this.#lines = kept.length;
    await this.#written();
    return [...new Set(gone.map(({ skillId }) => skillId))];
  }

  async #written(): Promise<void> {
    this.#torn = false;
    this.#version = (await versionOf(this.file)) ?? '';
  }

  #count(): number {
    let count = 0;
    for (const { examples } of this.#sets.values()) count += examples.length;
    return count;
  }

  #setOf(sets: Map<string, ExampleSet>, skillId: string): ExampleSet {
    let set = sets.get(skillId);
    if (set === undefined) sets.set(skillId, (set = new ExampleSet()));
    return set;
  }

  /** The same is said once. */
  #warn(message: string): void {
    if (message !== this.#saidDamaged) this.#logger.warn(message);
    this.#saidDamaged = message;
  }
}

function rowOf(skill: string, { text, at }: Example): string {
  return `${JSON.stringify({ skill, text, at })}\n`;
}

function exampleOf(line: string): { readonly skillId: string; readonly example: Example } | null {
  try {
    const { skill, text, at } = JSON.parse(line) as Record<string, unknown>;
    if (typeof skill !== 'string' || typeof text !== 'string' || typeof at !== 'number') return null;
    return skill === '' || text.length > LONGEST_EXAMPLE ? null : { skillId: skill, example: { text, at } };
  } catch {
    return null; // cut off while it was written
  }
}

/** null where there is no file. */
async function versionOf(file: string): Promise<string | null> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT') return null;
    throw error;
  }
}

function sameTexts(some: ExampleSet | undefined, others: ExampleSet | undefined): boolean {
  const [a, b] = [some?.texts ?? NONE, others?.texts ?? NONE];
  return a.length === b.length && a.every((text, at) => text === b[at]);
}
