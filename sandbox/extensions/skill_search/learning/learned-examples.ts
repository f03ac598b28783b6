import type { Clock, ExtensionContext } from 'pith';
import { queryTerms } from '@pith/word-ranker';
import { oncePromised } from '@pith/promises';

type Database = ExtensionContext['database'];

/** A text for which a skill was loaded. */
export interface Example {
  readonly skillId: string;
  readonly text: string;
}

const NONE: readonly string[] = [];
/** Of all skills together; beyond it the oldest are dropped. */
const MOST = 10_000;
/** Older texts are ignored. */
const KEPT_MS = 90 * 24 * 60 * 60 * 1000;
export const LONGEST_EXAMPLE = 300;

const TABLE = `CREATE TABLE IF NOT EXISTS skill_search__examples (
  id INTEGER PRIMARY KEY AUTOINCREMENT, skill TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL)`;

/** Texts learned from people, in one table, read again when another process has changed it. */
export class LearnedExamples {
  private readonly database: Database;
  private readonly clock: Clock;
  private readonly make = oncePromised(() => this.database.write([{ sql: TABLE }]));
  private sets = new Map<string, ExampleSet>();
  /** The version of the table when it was read. */
  private version = '';

  constructor({ database, clock }: { readonly database: Database; readonly clock: Clock }) {
    this.database = database;
    this.clock = clock;
  }

  /** People's texts for which the skill was loaded, oldest first. */
  of(skillId: string): readonly string[] {
    return this.sets.get(skillId)?.texts ?? NONE;
  }

  /** The number of texts of one skill, or of all. */
  count(skillId: string | null): number {
    if (skillId !== null) return this.of(skillId).length;
    return [...this.sets.values()].reduce((sum, { texts }) => sum + texts.length, 0);
  }

  /** Ids of the skills with learned texts. */
  ids(): readonly string[] {
    return [...this.sets.keys()];
  }

  /** Reads new rows, also those of other processes; returns the present version. */
  async look(): Promise<string> {
    await this.make();
    const now = await this.database.get('SELECT count(*) AS count, max(id) AS last FROM skill_search__examples');
    const version = `${String(now?.['count'])} ${String(now?.['last'])}`;
    if (version === this.version) return version;
    const since = this.clock.now() - KEPT_MS;
    const rows = await this.database.all('SELECT skill, text, at FROM skill_search__examples WHERE at > ? ORDER BY id', since);
    this.sets = new Map();
    for (const { skill, text } of rows) this.setOf(String(skill)).add(String(text));
    this.version = version;
    return version;
  }

  /** Stores texts that say something new. */
  async add(examples: readonly Example[]): Promise<void> {
    await this.look();
    const now = this.clock.now();
    const written = [];
    for (const { skillId, text } of examples) {
      const set = this.setOf(skillId);
      if (!set.isNew(text)) continue;
      const gone = set.add(text);
      written.push({ sql: 'INSERT INTO skill_search__examples (skill, text, at) VALUES (?, ?, ?)', values: [skillId, text, now] });
      if (gone !== null) written.push({ sql: 'DELETE FROM skill_search__examples WHERE skill = ? AND text = ?', values: [skillId, gone] });
    }
    if (written.length === 0) return;
    await this.database.write([
      ...written,
      { sql: 'DELETE FROM skill_search__examples WHERE at <= ?', values: [now - KEPT_MS] },
      { sql: `DELETE FROM skill_search__examples WHERE id <= (SELECT max(id) FROM skill_search__examples) - ${MOST}` },
    ]);
  }

  /** Removes the texts of one skill, or of all; returns how many of which. */
  async forget(skillId: string | null): Promise<ReadonlyMap<string, number>> {
    await this.look();
    const ids = skillId === null ? this.ids() : this.ids().filter((id) => id === skillId);
    const gone = new Map(ids.map((id) => [id, this.count(id)]));
    const sql = 'DELETE FROM skill_search__examples';
    await this.database.write([skillId === null ? { sql } : { sql: `${sql} WHERE skill = ?`, values: [skillId] }]);
    await this.look();
    return gone;
  }

  private setOf(skillId: string): ExampleSet {
    let set = this.sets.get(skillId);
    if (set === undefined) this.sets.set(skillId, (set = new ExampleSet()));
    return set;
  }
}

/** The most texts of one skill. */
const MOST_OF_ONE = 20;
/** Two texts with this share of common words say the same. */
const SAME = 0.8;

/** The learned examples of one skill: few, and different from each other. */
class ExampleSet {
  private known: readonly { readonly text: string; readonly terms: ReadonlySet<string> }[] = [];
  /** Oldest first. */
  texts: readonly string[] = [];

  /** Whether a text differs from all of them. */
  isNew(text: string): boolean {
    const terms = termsOf(text);
    return !this.known.some((one) => likeness(terms, one.terms) >= SAME);
  }

  /** Returns the text that is removed where there are too many: the older of the two most similar ones; null where there are not. */
  add(text: string): string | null {
    const all = [...this.known, { text, terms: termsOf(text) }];
    const [gone] = all.length > MOST_OF_ONE ? all.splice(mostRedundant(all.map(({ terms }) => terms)), 1) : [];
    this.known = all;
    this.texts = all.map((one) => one.text);
    return gone?.text ?? null;
  }
}

function mostRedundant(terms: readonly ReadonlySet<string>[]): number {
  let [found, most] = [0, 0];
  for (let older = 0; older < terms.length; older++) {
    for (let newer = older + 1; newer < terms.length; newer++) {
      const alike = likeness(terms[older]!, terms[newer]!);
      if (alike > most) [found, most] = [older, alike];
    }
  }
  return found;
}

function termsOf(text: string): ReadonlySet<string> {
  return new Set(queryTerms(text).map(({ term }) => term));
}

/** Common terms divided by all terms. */
function likeness(some: ReadonlySet<string>, others: ReadonlySet<string>): number {
  let common = 0;
  for (const term of some) if (others.has(term)) common++;
  return common === 0 ? 0 : common / (some.size + others.size - common);
}
