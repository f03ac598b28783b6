import { setImmediate as breathe } from 'node:timers/promises';
import { messageOf, type Logger } from 'pith';
import type { Skill, Snapshot } from '../skill.ts';
import { documentOf, fullDocumentOf } from './document.ts';
import type { Ranked, RankOptions, SkillRanker } from './ranker.ts';

export interface RankAnswer {
  readonly ranked: readonly Ranked[];
  /** False while bodies are still being read: then names, descriptions and tags alone were searched. */
  readonly ready: boolean;
}

/** So few bodies are read in less time than a person notices, so that a search waits for them. */
const WAIT_FOR = 200;

/** Keeps a ranker in step with the newest snapshot: first the metadata, then, in the background, each changed body once. */
export class SkillIndex {
  readonly #ranker: SkillRanker;
  readonly #logger: Logger;
  readonly #known = new Map<string, Skill>();
  #bodies: Skill[] = [];
  #metadata: Promise<void> = Promise.resolve();
  #reading: Promise<void> | null = null;
  #target: Snapshot | null = null;
  #closed = false;

  constructor(ranker: SkillRanker, logger: Logger) {
    this.#ranker = ranker;
    this.#logger = logger;
  }

  /** Takes over what the snapshot changed. Resolves when the metadata can be searched; bodies follow. */
  sync(snapshot: Snapshot): Promise<void> {
    if (this.#target !== null && this.#target.generation >= snapshot.generation) return this.#metadata;
    this.#target = snapshot;
    this.#metadata = this.#metadata.then(() => this.#takeMetadata(snapshot));
    void this.#metadata.then(() => this.#readBodies());
    return this.#metadata;
  }

  async rank(snapshot: Snapshot, query: string, options: RankOptions): Promise<RankAnswer> {
    await this.sync(snapshot);
    if (this.#bodies.length <= WAIT_FOR) await this.settled();
    return { ranked: this.#ranker.rank(query, options), ready: this.#bodies.length === 0 && this.#reading === null };
  }

  /** Resolves when every body that is known of has been read. */
  async settled(): Promise<void> {
    await this.#metadata;
    await this.#reading;
  }

  close(): void {
    this.#closed = true;
    this.#bodies = [];
  }

  async #takeMetadata(snapshot: Snapshot): Promise<void> {
    for (const id of this.#known.keys()) {
      if (snapshot.skills.get(id)?.state === 'offered') continue;
      this.#known.delete(id);
      this.#ranker.remove(id);
    }
    let taken = 0;
    for (const skill of snapshot.skills.values()) {
      if (skill.state !== 'offered' || isSame(this.#known.get(skill.id), skill)) continue;
      if (this.#closed) return;
      this.#known.set(skill.id, skill);
      this.#ranker.upsert(documentOf(skill));
      this.#bodies.push(skill);
      if (++taken % 50 === 0) await breathe();
    }
  }

  #readBodies(): void {
    if (this.#reading !== null || this.#bodies.length === 0) return;
    this.#reading = this.#readAll().finally(() => {
      this.#reading = null;
      this.#readBodies();
    });
  }

  async #readAll(): Promise<void> {
    for (let skill = this.#bodies.shift(); skill !== undefined && !this.#closed; skill = this.#bodies.shift()) {
      try {
        const document = await fullDocumentOf(skill);
        if (document === null || this.#known.get(skill.id) !== skill) continue; // gone or changed meanwhile
        this.#ranker.upsert(document);
      } catch (error) {
        this.#logger.warn(`skill '${skill.id}': its body is not searched: ${messageOf(error)}`);
      }
      await breathe();
    }
  }
}

function isSame(before: Skill | undefined, now: Skill): boolean {
  if (before === undefined || before === now) return before === now;
  const [a, b] = [before.stamp, now.stamp];
  return before.file === now.file && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.size === b.size && a.inode === b.inode;
}
