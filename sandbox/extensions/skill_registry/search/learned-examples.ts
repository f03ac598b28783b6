import path from 'node:path';
import { messageOf, type Clock, type CommandContext, type Logger } from 'pith';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { exclusively } from '../exclusive.ts';
import { queryTerms } from './tokens.ts';

/** What the search index asks of what was learned. */
export interface Learned {
  /** Texts of people for which the skill was loaded; the same array until something changes. */
  of(skillId: string): readonly string[];
  /** Takes over what other processes wrote. Never rejects. */
  look(): Promise<void>;
}

/** A text for which a skill was loaded. */
export interface Lesson {
  readonly skillId: string;
  readonly text: string;
}

export const NOTHING_LEARNED: Learned = { of: () => NONE, look: async () => undefined };

const NONE: readonly string[] = [];
const FILE = 'examples.jsonl';
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
  readonly #folder: StateFolder;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #sets = new Map<string, ExampleSet>();
  #lines = 0;
  #version = '';
  /** Its last line has no end: somebody was killed while writing it. */
  #torn = false;
  #said = '';
  #damaged = 0;
  #unreadable = false;

  constructor({ dataDirectory, clock, logger }: { readonly dataDirectory: string; readonly clock: Clock; readonly logger: Logger }) {
    this.#folder = stateFolder(dataDirectory);
    this.file = path.join(dataDirectory, FILE);
    this.#clock = clock;
    this.#logger = logger;
  }

  of(skillId: string): readonly string[] {
    return this.#sets.get(skillId)?.texts ?? NONE;
  }

  /** How many texts are known of one skill, or of all. */
  count(skillId: string | null): number {
    if (skillId !== null) return this.of(skillId).length;
    let count = 0;
    for (const { examples } of this.#sets.values()) count += examples.length;
    return count;
  }

  /** Ids of the skills of which anything was learned. */
  ids(): readonly string[] {
    return [...this.#sets.keys()];
  }

  /** What the file holds beside examples: damaged lines, or nobody can say what. */
  get rest(): 'nothing' | 'damaged' | 'unreadable' {
    return this.#unreadable ? 'unreadable' : this.#damaged > 0 ? 'damaged' : 'nothing';
  }

  async look(): Promise<void> {
    try {
      this.#read();
      this.#unreadable = false;
    } catch (error) {
      this.#unreadable = true;
      this.#warn(`what was learned cannot be read from ${this.file}: ${messageOf(error)}; skills are found without it`);
      this.#sets = new Map();
    }
  }

  /** Keeps what says something new. */
  async add(lessons: readonly Lesson[]): Promise<void> {
    this.#read();
    if (!lessons.some(({ skillId, text }) => this.#sets.get(skillId)?.isNew(text) ?? true)) return; // mostly: then nobody is kept waiting
    return this.#alone(async () => {
      this.#read();
      const at = this.#clock.now();
      const rows: string[] = [];
      for (const { skillId, text } of lessons) {
        const set = this.#setOf(this.#sets, skillId);
        if (!set.isNew(text)) continue;
        set.add({ text, at });
        rows.push(rowOf(skillId, { text, at }));
      }
      if (rows.length === 0) return;
      this.#lines += rows.length;
      const count = this.count(null);
      if (count > MOST || this.#lines > count + MOST_DEAD) await this.#writeAnew();
      else this.#append(rows);
    });
  }

  /** Removes what was learned of one skill, or of all; how many texts of which. All goes also where it cannot be read. */
  async forget(skillId: string | null): Promise<ReadonlyMap<string, number>> {
    return this.#alone(async () => {
      try {
        this.#read();
      } catch (error) {
        if (skillId !== null) throw error;
      }
      const gone = new Map<string, number>();
      for (const [id, { examples }] of this.#sets) if (skillId === null || id === skillId) gone.set(id, examples.length);
      for (const id of gone.keys()) this.#sets.delete(id);
      if (gone.size > 0 || skillId === null) await this.#writeAnew(); // damaged lines go too
      return gone;
    });
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const busy = { code: 'examples_busy', message: 'another process is changing what was learned' };
    return exclusively({ file: `${this.file}.lock`, staging: this.#folder.folder('.examples'), busy }, this.#clock, work);
  }

  #read(): void {
    const version = this.#folder.stamp(FILE);
    if (version === this.#version) return;
    const [sets, text] = [new Map<string, ExampleSet>(), version === '' ? '' : String(this.#folder.read(FILE, MOST_BYTES) ?? '')];
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
    this.#damaged = damaged;
    this.#torn = text !== '' && !text.endsWith('\n');
    this.#version = version;
    if (damaged > 0) this.#warn(`${this.file}: ${damaged === 1 ? 'a damaged line is' : `${damaged} damaged lines are`} left out`);
  }

  #append(rows: readonly string[]): void {
    this.#folder.append(FILE, `${this.#torn ? '\n' : ''}${rows.join('')}`);
    this.#written();
  }

  /** Beyond the most that are kept the oldest go. */
  async #writeAnew(): Promise<void> {
    const all = [...this.#sets].flatMap(([skillId, { examples }]) => examples.map((example) => ({ skillId, example })));
    all.sort((a, b) => a.example.at - b.example.at);
    const kept = all.slice(-MOST);
    await this.#folder.write(FILE, kept.map(({ skillId, example }) => rowOf(skillId, example)).join(''));
    this.#sets = new Map();
    for (const { skillId, example } of kept) this.#setOf(this.#sets, skillId).add(example);
    this.#lines = kept.length;
    this.#damaged = 0;
    this.#written();
  }

  #written(): void {
    this.#torn = false;
    this.#version = this.#folder.stamp(FILE);
  }

  #setOf(sets: Map<string, ExampleSet>, skillId: string): ExampleSet {
    let set = sets.get(skillId);
    if (set === undefined) sets.set(skillId, (set = new ExampleSet()));
    return set;
  }

  /** The same is said once. */
  #warn(message: string): void {
    if (message !== this.#said) this.#logger.warn(message);
    this.#said = message;
  }
}

/** What people's texts taught; null where `skills.learn_examples` is off. */
export function learnedOf(context: Pick<CommandContext, 'dataDirectory' | 'clock' | 'logger' | 'config'>): LearnedExamples | null {
  return context.config['learn_examples'] === false ? null : new LearnedExamples(context);
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

/** A person's text for which a skill was loaded. */
interface Example {
  readonly text: string;
  /** When, in milliseconds since the epoch. */
  readonly at: number;
}

/** No skill keeps more. */
const MOST_OF_ONE = 20;
/** Two texts that share so much of their words say the same. */
const SAME = 0.8;

/** The learned examples of one skill: few, and different from each other. */
class ExampleSet {
  readonly #examples: Example[] = [];
  /** Made when they are first compared. */
  readonly #terms = new Map<string, ReadonlySet<string>>();
  #texts: readonly string[] | null = null;

  /** Oldest first. The same array until something changes. */
  get texts(): readonly string[] {
    return (this.#texts ??= this.#examples.map(({ text }) => text));
  }

  get examples(): readonly Example[] {
    return this.#examples;
  }

  /** Whether a text says something that none of them does. */
  isNew(text: string): boolean {
    const terms = termsOf(text);
    return !this.#examples.some((known) => likeness(terms, this.#termsOf(known)) >= SAME);
  }

  /** Where there are too many, the one goes that is told best by another; the older of two, the oldest of all where none is. */
  add(example: Example): void {
    this.#examples.push(example);
    this.#texts = null;
    if (this.#examples.length <= MOST_OF_ONE) return;
    for (const { text } of this.#examples.splice(this.#mostRedundant(), 1)) this.#terms.delete(text);
  }

  #mostRedundant(): number {
    const terms = this.#examples.map((one) => this.#termsOf(one));
    let [found, most] = [0, 0];
    for (let older = 0; older < terms.length; older++) {
      for (let newer = older + 1; newer < terms.length; newer++) {
        const alike = likeness(terms[older]!, terms[newer]!);
        if (alike > most) [found, most] = [older, alike];
      }
    }
    return found;
  }

  #termsOf({ text }: Example): ReadonlySet<string> {
    let terms = this.#terms.get(text);
    if (terms === undefined) this.#terms.set(text, (terms = termsOf(text)));
    return terms;
  }
}

function termsOf(text: string): ReadonlySet<string> {
  return new Set(queryTerms(text).map(({ term }) => term));
}

/** Common terms of all terms. */
function likeness(some: ReadonlySet<string>, others: ReadonlySet<string>): number {
  let common = 0;
  for (const term of some) if (others.has(term)) common++;
  return common === 0 ? 0 : common / (some.size + others.size - common);
}
