import { setImmediate as breathe } from 'node:timers/promises';
import { messageOf, type Clock, type Logger } from 'pith';
import type { Skill, Snapshot } from '../skill.ts';
import { documentOf, documentVersion, fullDocumentOf } from './document.ts';
import { idsEditedSince } from '../scan/edited-snapshot.ts';
import { within } from '../scan/patience.ts';
import { restoreIndex, storeIndex } from './index-file.ts';
import type { Learned } from './learned-examples.ts';
import type { Ranked, RankOptions, StoredRanker } from './ranker.ts';

export interface RankAnswer {
  readonly ranked: readonly Ranked[];
  /** False while the index is behind the files: then bodies were not searched, or not all of them. */
  readonly ready: boolean;
}

export interface AskOptions extends RankOptions {
  /** How long to wait for bodies that are being read, where they are few. */
  readonly patienceMs: number;
}

export interface SkillIndexOptions {
  readonly createRanker: () => StoredRanker;
  /** Where the index is kept from one process to the next. */
  readonly file: string;
  /** The body of a skill that is about to be indexed; null where it cannot be read now. */
  readBody(skill: Skill): Promise<string | null>;
  /** What people's texts taught of each skill. */
  readonly learned: Learned;
  /** Called when the bodies that were to be read have been. */
  onRead?(): Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** So few bodies are read in less time than a person notices, so that a search waits for them. */
const WAIT_FOR = 200;
const STORE_AFTER_MS = 20_000;
/** Work between two yields: to compare a version counts 1. */
const AT_ONCE = 1000;
const DOCUMENT_COST = 20;

/**
 * Keeps a ranker in step with the newest snapshot: first what the last process stored, then the metadata of what changed
 * since, then, in the background, each changed body once.
 */
export class SkillIndex {
  readonly #options: SkillIndexOptions;
  readonly #known = new Map<string, Skill>();
  #ranker: StoredRanker;
  #unread: Skill[] = [];
  #metadata: Promise<void> | null = null;
  #reading: Promise<void> | null = null;
  #target: Snapshot | null = null;
  /** The last snapshot whose metadata can be searched. */
  #taken: Snapshot | null = null;
  #closed = false;
  #changed = false;
  #cancelStore: (() => void) | null = null;
  #storing: Promise<void> = Promise.resolve();
  #storeFailed = false;

  constructor(options: SkillIndexOptions) {
    this.#options = options;
    this.#ranker = options.createRanker();
  }

  /** Takes over what the snapshot changed. Resolves when the metadata can be searched; bodies follow. */
  sync(snapshot: Snapshot): Promise<void> {
    void this.#follow();
    return this.#sync(snapshot);
  }

  #sync(snapshot: Snapshot): Promise<void> {
    const before = this.#metadata ?? this.#restore();
    if (this.#target !== null && this.#target.generation >= snapshot.generation) return before;
    this.#target = snapshot;
    this.#metadata = before.then(() => this.#takeMetadata(snapshot));
    void this.#metadata.then(() => this.#readUnread());
    return this.#metadata;
  }

  /** Waits for bodies that are being read, as long as the asker has patience. */
  async rank(snapshot: Snapshot, query: string, options: AskOptions): Promise<RankAnswer> {
    await Promise.all([this.#sync(snapshot), this.#follow()]);
    if (this.#unread.length <= WAIT_FOR) await within(this.#options.clock, options.patienceMs, this.settled());
    return this.rankNow(query, options);
  }

  /** Ranks what is indexed at this moment: it waits for nothing. */
  rankNow(query: string, options: RankOptions): RankAnswer {
    const ready = this.#taken === this.#target && this.#unread.length === 0 && this.#reading === null;
    return { ranked: this.#ranker.rank(query, options), ready };
  }

  /** Resolves when every body that is known of has been read. */
  async settled(): Promise<void> {
    await this.#metadata;
    await this.#reading;
  }

  /** Stops reading and stores what there is. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#unread = [];
    await this.settled();
    await this.#store();
  }

  async #restore(): Promise<void> {
    const { file, createRanker, learned, logger } = this.#options;
    await learned.look();
    try {
      await restoreIndex(file, this.#ranker);
    } catch (error) {
      logger.warn(`the search index ${file} is of no use and is made anew: ${messageOf(error)}`);
      this.#ranker = createRanker();
    }
  }

  /** Indexes anew the skills of which something was learned or forgotten meanwhile, here or in another process. */
  async #follow(): Promise<void> {
    for (const id of await this.#options.learned.look()) {
      const skill = this.#known.get(id);
      if (skill !== undefined && !this.#unread.includes(skill)) this.#unread.push(skill);
    }
    this.#readUnread();
  }

  async #takeMetadata(snapshot: Snapshot): Promise<void> {
    const edited = this.#taken === null ? null : idsEditedSince(this.#taken, snapshot);
    for (const id of edited === null ? this.#ranker.known() : []) {
      if (snapshot.skills.get(id)?.state === 'offered') continue;
      this.#known.delete(id);
      this.#ranker.remove(id);
      this.#change();
    }
    let spent = 0;
    for (const id of edited ?? snapshot.skills.keys()) {
      if (spent > AT_ONCE) {
        spent = 0;
        await breathe();
      }
      spent += 1;
      const skill = snapshot.skills.get(id) as Skill;
      if (skill.state !== 'offered' || this.#known.get(skill.id) === skill) continue;
      if (this.#closed) return;
      this.#known.set(skill.id, skill);
      const learned = this.#options.learned.of(skill.id);
      const same = this.#ranker.versionOf(skill.id) === documentVersion(skill, learned);
      if (!same) this.#ranker.upsert(documentOf(skill, learned));
      if (!same || skill.tokensEstimated) this.#unread.push(skill);
      if (!same) spent += DOCUMENT_COST;
    }
    this.#taken = snapshot;
  }

  #readUnread(): void {
    if (this.#reading !== null || this.#unread.length === 0) return;
    this.#reading = this.#readAll()
      .then(() => this.#options.onRead?.())
      .finally(() => {
        this.#reading = null;
        this.#readUnread();
      });
  }

  async #readAll(): Promise<void> {
    const { readBody, logger } = this.#options;
    for (let skill = this.#unread.shift(); skill !== undefined && !this.#closed; skill = this.#unread.shift()) {
      try {
        const body = await readBody(skill);
        if (body === null || this.#known.get(skill.id) !== skill) continue; // gone or changed meanwhile
        this.#ranker.upsert(fullDocumentOf(skill, body, this.#options.learned.of(skill.id)));
        this.#change();
      } catch (error) {
        logger.warn(`skill '${skill.id}': its body is not searched: ${messageOf(error)}`);
      }
      await breathe();
    }
  }

  #change(): void {
    this.#changed = true;
    if (!this.#closed) this.#cancelStore ??= this.#options.clock.after(STORE_AFTER_MS, () => void this.#store());
  }

  #store(): Promise<void> {
    this.#cancelStore?.();
    this.#cancelStore = null;
    this.#storing = this.#storing.then(() => this.#storeNow());
    return this.#storing;
  }

  async #storeNow(): Promise<void> {
    if (!this.#changed) return;
    const { file, logger } = this.#options;
    this.#changed = false;
    try {
      if (!(await storeIndex(file, this.#ranker))) this.#change();
      this.#storeFailed = false;
    } catch (error) {
      if (!this.#storeFailed)
        logger.warn(`the search index cannot be written to ${file}: ${messageOf(error)}; the next start reads every skill again`);
      this.#storeFailed = true;
    }
  }
}
