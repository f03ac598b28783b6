import { setImmediate as breathe } from 'node:timers/promises';
import { type Clock, type Logger, messageOf } from 'pith';
import { within } from '@pith/promises';
import type { SkillRegistry } from '../registry.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { Bm25fRanker } from './bm25f.ts';
import type { CountedFile } from './counted-file.ts';
import { documentOf, documentVersion, fullDocumentOf, type Ranked, type RankOptions } from './ranker.ts';
import type { Learned } from './learned-examples.ts';
import { type Counted, countTerms } from './term-index.ts';
import { eachTerm, queryTerms } from './tokens.ts';

export interface RankAnswer {
  readonly ranked: readonly Ranked[];
  /** False while the index is behind the files. */
  readonly ready: boolean;
  /** `names`: the index is being built, and only ids, names and tags were compared. */
  readonly by: 'lexical' | 'names';
}

export interface SkillIndexOptions {
  readonly registry: Pick<SkillRegistry, 'studyBody' | 'publishTokens'>;
  /** What people's texts taught of each skill. */
  readonly learned: Learned;
  /** null: nothing is kept for the next start. */
  readonly file: CountedFile | null;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A skill as it was when it was indexed. */
interface Indexed {
  readonly skill: Skill;
  readonly learned: readonly string[];
  readonly version: string;
}

/** The version of a skill whose body could not be read: it is read again. */
const UNREAD = '';
/** So many skills are compared, removed or read at once; others may work after each that is counted. */
const COMPARED_AT_ONCE = 1000;
const REMOVED_AT_ONCE = 50;
const READ_AT_ONCE = 16;
/** So many counted documents are written at once. */
const KEPT_AT_ONCE = 200;
/** The first index is waited for so much longer: what answers before it is coarse. */
const FIRST_BUILD_MS = 500;

/** Follows the newest snapshot in the background: of what changed it reads each body once, or takes what an earlier start counted. */
export class SkillIndex {
  readonly #options: SkillIndexOptions;
  readonly #ranker = new Bm25fRanker();
  readonly #indexed = new Map<string, Indexed>();
  #target: Snapshot | null = null;
  #updating: Promise<void> | null = null;
  /** Something may have changed since the update that runs began. */
  #isBehind = false;
  #built = false;
  #closed = false;

  constructor(options: SkillIndexOptions) {
    this.#options = options;
  }

  /** Takes over, in the background, what changed in the snapshot and in what was learned. */
  sync(snapshot: Snapshot): void {
    if (this.#target === null || snapshot.generation > this.#target.generation) this.#target = snapshot;
    this.#isBehind = true;
    if (!this.#closed) this.#updating ??= this.#update();
  }

  /** The same; resolves when it is done, or `patienceMs` are over, and a while longer where nothing was indexed before. */
  async prepare(snapshot: Snapshot, patienceMs: number): Promise<void> {
    this.sync(snapshot);
    await within(this.#options.clock, this.#built ? patienceMs : patienceMs + FIRST_BUILD_MS, this.settled());
  }

  /** Ranks what is indexed at this moment. */
  rank(query: string, options: RankOptions): RankAnswer {
    const ready = this.#built && this.#updating === null;
    if (this.#built) return { ranked: this.#ranker.rank(query, options), ready, by: 'lexical' };
    return { ranked: this.#target === null ? [] : rankByNames(this.#target.skills.values(), query, options), ready, by: 'names' };
  }

  /** Resolves when all that is known of is indexed. */
  async settled(): Promise<void> {
    while (this.#updating !== null) await this.#updating;
  }

  /** Stops reading. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.settled();
  }

  async #update(): Promise<void> {
    try {
      while (this.#isBehind && !this.#closed && this.#target !== null) {
        this.#isBehind = false;
        await this.#options.learned.look();
        await this.#takeOver(this.#target);
        await this.#options.registry.publishTokens();
      }
    } catch (error) {
      this.#options.logger.warn(`the search for skills: ${messageOf(error)}`);
    } finally {
      this.#updating = null; // at once: a change that comes now begins the next update
    }
  }

  async #takeOver({ skills }: Snapshot): Promise<void> {
    const { learned } = this.#options;
    let removed = 0;
    for (const id of this.#indexed.keys()) {
      if (skills.get(id)?.state === 'offered') continue;
      this.#indexed.delete(id);
      this.#ranker.remove(id);
      if (++removed % REMOVED_AT_ONCE === 0) await breathe();
    }
    let compared = 0;
    const changed: Indexed[] = [];
    for (const skill of skills.values()) {
      if (++compared % COMPARED_AT_ONCE === 0) await breathe();
      if (skill.state !== 'offered') continue;
      const texts = learned.of(skill.id);
      const before = this.#indexed.get(skill.id);
      if (before?.skill === skill && before.learned === texts && before.version !== UNREAD) continue;
      const now = { skill, learned: texts, version: documentVersion(skill, texts) };
      if (before?.version === now.version) this.#indexed.set(skill.id, now);
      else changed.push(now);
    }
    const uncounted = this.#built ? changed : await this.#restore(changed);
    const fresh = new Map<string, Counted>();
    try {
      for (let from = 0; from < uncounted.length; from += READ_AT_ONCE) {
        const some = uncounted.slice(from, from + READ_AT_ONCE);
        const bodies = await Promise.all(some.map(({ skill }) => this.#bodyOf(skill)));
        for (const [at, one] of some.entries()) {
          if (this.#closed) return;
          this.#count(one, bodies[at] ?? null, fresh);
          await breathe();
        }
        if (fresh.size >= KEPT_AT_ONCE) this.#keep(fresh);
      }
    } finally {
      this.#keep(fresh);
    }
    this.#built = true;
  }

  /** Indexes what an earlier start counted; what is left is returned: also what was never read, because tokens are counted with a body. */
  async #restore(changed: readonly Indexed[]): Promise<readonly Indexed[]> {
    if (this.#options.file === null) return changed;
    const wanted = new Map(changed.map((one) => [one.version, one]));
    await this.#options.file.read((version, counted) => {
      const one = wanted.get(version);
      if (one === undefined || this.#closed || one.skill.tokensEstimated) return one !== undefined;
      wanted.delete(version);
      this.#ranker.upsert(documentOf(one.skill), counted);
      this.#indexed.set(one.skill.id, one);
      return true;
    });
    return [...wanted.values()];
  }

  /** Without its body what else is known of a skill can be searched. */
  #count(one: Indexed, body: string | null, fresh: Map<string, Counted>): void {
    const { skill, learned } = one;
    const document = body === null ? documentOf(skill, learned) : fullDocumentOf(skill, body, learned);
    const counted = countTerms(document);
    this.#ranker.upsert(document, counted);
    this.#indexed.set(skill.id, body === null ? { ...one, version: UNREAD } : one);
    if (body !== null && learned.length === 0) fresh.set(one.version, counted); // texts of people stay in their own file
  }

  #keep(fresh: Map<string, Counted>): void {
    this.#options.file?.append(fresh);
    fresh.clear();
  }

  /** null where it cannot be read now. */
  async #bodyOf(skill: Skill): Promise<string | null> {
    try {
      return await this.#options.registry.studyBody(skill);
    } catch (error) {
      if (this.#indexed.get(skill.id)?.version !== UNREAD)
        this.#options.logger.warn(`skill '${skill.id}': its body is not searched: ${messageOf(error)}`);
      return null;
    }
  }
}

/** Ranks without an index: by how many of the query's words stand in a skill's id, name and tags. */
function rankByNames(skills: Iterable<Skill>, query: string, { k, among }: RankOptions): readonly Ranked[] {
  const words = queryTerms(query);
  const found: Ranked[] = [];
  for (const { id, name, tags, state } of skills) {
    if (state !== 'offered' || !(among?.(id) ?? true)) continue;
    const terms = new Set<string>();
    eachTerm([id, name, ...tags].join(' '), (term) => terms.add(term));
    const why = words.filter(({ term }) => terms.has(term)).map(({ word }) => word);
    if (why.length > 0) found.push({ id, score: why.length / words.length, why });
  }
  return found.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).slice(0, k);
}
