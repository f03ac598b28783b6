import { setImmediate as breathe } from 'node:timers/promises';
import { messageOf, type Clock, type CommandContext, type Logger } from 'pith';
import type { Skill, Snapshot } from '../skill.ts';
import { documentOf, documentVersion, fullDocumentOf } from './document.ts';
import { withTimeout } from '../with-timeout.ts';
import { CatalogDbWriter, isRetryable } from './catalog-db-writer.ts';
import type { CatalogDb } from './catalog-db.ts';
import type { Learned } from './learned-examples.ts';
import type { Ranked, RankOptions, SearchDocument, StoredRanker } from './ranker.ts';
import { rankByFullText, rankCandidates } from './rescoring.ts';
import { countDocument, withoutBodyWords } from './term-index.ts';

export interface RankAnswer {
  readonly ranked: readonly Ranked[];
  /** False while the index is behind the files: then bodies were not searched, or not all of them. */
  readonly ready: boolean;
  /** `cache`: the full-text index alone, while what the ranker needs is being loaded. */
  readonly by: 'lexical' | 'cache';
}

export interface AskOptions extends RankOptions {
  /** How long to wait for bodies that are being read, where they are few. */
  readonly patienceMs: number;
}

export interface SkillIndexOptions {
  readonly createRanker: () => StoredRanker;
  readonly context: CommandContext;
  /** With more skills than this the words of their bodies stay on disk. */
  readonly candidatesAbove: number;
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
/** Work between two yields: to compare a version counts 1. */
const AT_ONCE = 1000;
const DOCUMENT_COST = 40;
const REMOVAL_COST = 4;
const METADATA_MS = 500; // what names and descriptions say is waited for so long where nothing else can answer
const ENOUGH = 0.9; // a file with less of the skills does not answer: the first by the alphabet would stand for all

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
  readonly #catalog: CatalogDbWriter;
  #loaded = false; // the ranker has what was kept
  /** So many skills that the words of their bodies are not kept in memory. */
  #large = false;
  #stored = 0; // skills that the file had when it was opened

  constructor(options: SkillIndexOptions) {
    this.#options = options;
    this.#ranker = options.createRanker();
    this.#catalog = new CatalogDbWriter(options.context, () => this.#readMissing());
  }

  /** Takes over what the snapshot changed. Resolves when the metadata can be searched; bodies follow. */
  sync(snapshot: Snapshot): Promise<void> {
    void this.#follow();
    return this.#sync(snapshot);
  }

  #sync(snapshot: Snapshot): Promise<void> {
    const before = this.#metadata ?? this.#restore(snapshot);
    if (this.#target !== null && this.#target.generation >= snapshot.generation) return before;
    this.#target = snapshot;
    this.#metadata = before.then(() => this.#takeMetadata(snapshot));
    void this.#metadata.then(
      () => this.#readUnread(),
      () => undefined, // whoever waits for it is told
    );
    return this.#metadata;
  }

  /** For who has little time: until `patienceMs` are over for what is kept, and a while longer where that is too little to answer. */
  async prepare(snapshot: Snapshot, patienceMs: number): Promise<void> {
    let done = false;
    const whole = this.sync(snapshot).then(() => (done = true));
    await withTimeout(this.#options.clock, patienceMs, whole);
    if (!done && this.#answering() === null) await withTimeout(this.#options.clock, METADATA_MS, whole);
  }

  /** Waits for bodies that are being read, as long as the asker has patience. */
  async rank(snapshot: Snapshot, query: string, options: AskOptions): Promise<RankAnswer> {
    await Promise.all([this.#sync(snapshot), this.#follow()]);
    if (this.#unread.length <= WAIT_FOR) await withTimeout(this.#options.clock, options.patienceMs, this.settled());
    return this.rankNow(query, options);
  }

  /** Ranks what is indexed at this moment: it waits for nothing. */
  rankNow(query: string, options: RankOptions): RankAnswer {
    const ready = this.#loaded && this.#taken === this.#target && this.#unread.length === 0 && this.#reading === null;
    return { ...this.#rank(query, options), ready };
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
    await this.#catalog.close();
  }

  /** What the last process left. The one line of it that makes no sense costs all of it. */
  async #restore(snapshot: Snapshot): Promise<void> {
    const { createRanker, learned, candidatesAbove } = this.#options;
    const looked = learned.look();
    await this.#catalog.open();
    this.#stored = this.#catalog.count();
    await looked;
    this.#large = Math.max(this.#stored, snapshot.skills.size) > candidatesAbove;
    const load = (file: CatalogDb) => (this.#ranker = createRanker()).load(file, { bodies: !this.#large });
    if (!(await this.#catalog.load(load))) this.#ranker = createRanker();
    this.#loaded = true;
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
    let spent = 0;
    for (const id of this.#ranker.known()) {
      if (snapshot.skills.get(id)?.state === 'offered') continue;
      if ((spent += REMOVAL_COST) > AT_ONCE) {
        spent = 0;
        await breathe();
      }
      this.#known.delete(id);
      this.#catalog.remove(id, this.#ranker.versionOf(id));
      this.#ranker.remove(id);
    }
    for (const skill of snapshot.skills.values()) {
      if (spent > AT_ONCE) {
        spent = 0;
        await breathe();
      }
      spent += 1;
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
    void this.#catalog.flush();
  }

  #readUnread(): void {
    if (this.#reading !== null || this.#unread.length === 0) return;
    this.#reading = this.#readAll()
      .then(() => this.#catalog.flush())
      .then(() => this.#options.onRead?.())
      .catch((error: unknown) => this.#options.logger.warn(`bodies of skills: ${messageOf(error)}`))
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
        await this.#add(fullDocumentOf(skill, body, this.#options.learned.of(skill.id)));
      } catch (error) {
        logger.warn(`skill '${skill.id}': its body is not searched: ${messageOf(error)}`);
      }
      await breathe();
    }
  }

  /** What is kept of bodies is on disk, and here only where they are few. */
  #add(document: SearchDocument): Promise<void> {
    const counted = countDocument(document);
    const kept = this.#catalog.put({ document, counted });
    this.#ranker.add(this.#large && this.#catalog.file !== null ? withoutBodyWords(counted) : counted);
    return kept;
  }

  /** A new file lacks what an old one had. Who removed that may have done so to forget texts. */
  async #readMissing(): Promise<void> {
    await this.#follow();
    const stored = this.#catalog.file?.versions();
    for (const skill of this.#known.values()) {
      const version = documentVersion(skill, this.#options.learned.of(skill.id));
      if (stored?.get(skill.id) !== version && !this.#unread.includes(skill)) this.#unread.push(skill);
    }
    this.#readUnread();
  }

  /** The file, where it must answer because the ranker is not loaded or never knows bodies. */
  #answering(): CatalogDb | null {
    if (this.#loaded) return this.#large ? this.#catalog.file : null;
    return this.#stored > 0 && this.#stored >= (this.#target?.skills.size ?? 0) * ENOUGH ? this.#catalog.file : null;
  }

  /** FTS5 alone while the ranker loads, with it where bodies are only in the file. */
  #rank(query: string, options: RankOptions): Pick<RankAnswer, 'ranked' | 'by'> {
    const file = this.#answering();
    if (file !== null) {
      try {
        if (!this.#loaded) return { ranked: rankByFullText(file, query, options), by: 'cache' };
        return { ranked: rankCandidates(file, this.#ranker, query, options), by: 'lexical' };
      } catch (error) {
        if (!isRetryable(error)) this.#catalog.failed(error);
      }
    }
    return { ranked: this.#ranker.rank(query, options), by: 'lexical' };
  }
}
