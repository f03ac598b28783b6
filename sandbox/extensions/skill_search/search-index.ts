import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { RankedSkill, RankerDocument } from 'pith/skill_registry';
import { once } from '@pith/promises';
import { inPieces } from '@pith/skill-files';
import { type RankOptions, TextRanker, type WordVectors } from '@pith/word-ranker';
import { sha256 } from '@pith/plain-data';
import { digestOf, type WrittenExamples } from './enriching/written-examples.ts';
import type { KeptIndex } from './kept-index.ts';
import type { LearnedExamples } from './learning/learned-examples.ts';

export interface SearchIndexPorts {
  /** null where learning is off. */
  readonly learned: Pick<LearnedExamples, 'look' | 'of'> | null;
  readonly written: Pick<WrittenExamples, 'look' | 'of'>;
  /** The searched text of one skill; null where it is gone. */
  document(id: string): Promise<RankerDocument | null>;
  /** The table of word vectors, loaded for counting; null where it cannot be read. */
  vectors(): Promise<WordVectors | null>;
  /** null where no index is stored. */
  readonly kept: Pick<KeptIndex, 'read' | 'write'> | null;
}

/** What is noted of each document, in the stored index too. */
interface Indexed {
  readonly id: string;
  readonly version: string;
  /** The digest of its own text. */
  readonly digest: string;
  /** The digest of its other texts. */
  readonly extras: string;
}

const NOTHING: readonly string[] = [];
/** How many skills are loaded or counted within a search. Mostly all skills have a line in the prompt, and nobody searches. */
const FEW = 64;

/** Indexes the words and the meaning of all skills, of people's requests for them, and of what a model wrote for them. */
export class SearchIndex {
  private ranker = once(async () => new TextRanker(await this.ports.vectors()));
  private readonly indexed = new Map<string, Indexed>();
  /** Received, and not counted yet. */
  private readonly waiting = new Map<string, RankerDocument>();
  /** Loads and counts a few, for all concurrent callers. */
  private counting: Promise<void> | null = null;
  /** The version of the learned and written texts that the index contains. */
  private taken = '';
  /** The revision that is stored on disk. */
  private kept = 0;
  /** Grows with every change. */
  revision = 0;

  constructor(private readonly ports: SearchIndexPorts) {}

  /** Loads what an earlier process counted for these documents, with the learned and written texts of that time. Returns their ids. */
  async recall(versions: readonly Pick<RankerDocument, 'id' | 'version'>[]): Promise<readonly string[]> {
    return versions.length <= FEW || this.waiting.size > 0 ? NOTHING : this.restore(versions);
  }

  private async restore(versions: readonly Pick<RankerDocument, 'id' | 'version'>[]): Promise<readonly string[]> {
    if (this.ports.kept === null || this.indexed.size > 0) return NOTHING;
    const taken = await this.look();
    const vectors = await this.ports.vectors();
    const ranker = new TextRanker(vectors);
    const decode = (bytes: Uint8Array) => JSON.parse(Buffer.from(ranker.restore(bytes)).toString()) as readonly Indexed[];
    const documents = this.ports.kept.read(vectors, decode);
    await yieldToOthers(); // parsing thousands of skills took as long as other work may wait
    if (documents === null || this.indexed.size > 0) return NOTHING; // some were counted meanwhile
    this.taken = taken;
    this.ranker = once(async () => ranker);
    const wanted = new Map(versions.map(({ id, version }) => [id, version]));
    for (const one of documents) {
      if (wanted.get(one.id) === one.version && one.extras === extrasDigest(this.extrasOf(one))) this.indexed.set(one.id, one);
      else ranker.remove(one.id);
    }
    this.revision++;
    if (this.indexed.size === documents.length) this.kept = this.revision;
    return [...this.indexed.keys()];
  }

  /** Yields to other work after each document. */
  async upsert(documents: readonly RankerDocument[], signal?: AbortSignal): Promise<void> {
    for (const document of documents) this.waiting.set(document.id, document);
    this.revision++;
    await this.counting?.catch(() => undefined);
    if (this.indexed.size > 0 || this.waiting.size > FEW) await this.countAll(signal);
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.counting?.catch(() => undefined); // a document that is loaded meanwhile is removed too
    for (const id of ids) this.waiting.delete(id);
    this.revision++;
    if (this.indexed.size === 0) return;
    const ranker = await this.ranker();
    for (const [at, id] of ids.entries()) {
      ranker.remove(id);
      this.indexed.delete(id);
      if (at % 50 === 49) await yieldToOthers();
    }
  }

  async rank(query: string, options: RankOptions): Promise<readonly RankedSkill[]> {
    if (this.waiting.size > 0 && this.waiting.size <= FEW) this.counting ??= this.countFew().finally(() => (this.counting = null));
    await this.counting;
    const ranker = await this.ranker();
    const version = await this.look();
    if (version !== this.taken) await this.takeOver(ranker);
    this.taken = version;
    return ranker.rank(query, options);
  }

  private async countFew(): Promise<void> {
    for (const id of await this.restore([...this.waiting.values()]))
      if (this.waiting.get(id)?.version === this.indexed.get(id)?.version) this.waiting.delete(id);
    await this.countAll();
  }

  /** Stores what was counted since the last load, for the next process. */
  async keep(): Promise<void> {
    if (this.ports.kept === null || this.kept === this.revision || this.indexed.size === 0) return;
    const { revision } = this;
    const vectors = await this.ports.vectors();
    const ranker = await this.ranker();
    const bytes = await inPieces(ranker.encoded(Buffer.from(JSON.stringify([...this.indexed.values()]))));
    if (bytes === null || revision !== this.revision) return; // the index is changing: the next time
    await this.ports.kept.write(bytes, vectors);
    this.kept = revision;
  }

  private async look(): Promise<string> {
    const { learned, written } = this.ports;
    return `${await learned?.look()} ${await written.look()}`;
  }

  private async countAll(signal?: AbortSignal): Promise<void> {
    await this.look();
    for (const [id, document] of this.waiting) {
      signal?.throwIfAborted();
      const ranker = await this.ranker(); // the stored index may have replaced it
      if (this.waiting.get(id) !== document) continue;
      this.waiting.delete(id);
      this.add(ranker, document);
      await yieldToOthers();
    }
  }

  private add(ranker: TextRanker, document: RankerDocument): void {
    const { id, version } = document;
    const digest = digestOf(document);
    const extras = this.extrasOf({ id, digest });
    ranker.upsert(searchedOf(document, extras));
    this.indexed.set(id, { id, version, digest, extras: extrasDigest(extras) });
    this.revision++;
  }

  /** People's texts, and what a model wrote. */
  private extrasOf({ id, digest }: Pick<Indexed, 'id' | 'digest'>): readonly string[] {
    return [...(this.ports.learned?.of(id) ?? NOTHING), ...this.ports.written.of(digest)];
  }

  /** Indexes again the skills with changed learned or written texts, also those of other processes. */
  private async takeOver(ranker: TextRanker): Promise<void> {
    for (const one of this.indexed.values()) {
      if (one.extras === extrasDigest(this.extrasOf(one))) continue;
      const now = await this.ports.document(one.id);
      if (now !== null && this.indexed.has(one.id)) this.add(ranker, now);
    }
  }
}

/** Empty where there are none, as mostly. */
function extrasDigest(texts: readonly string[]): string {
  return texts.length === 0 ? '' : sha256(JSON.stringify(texts));
}

/** The searched texts of a document. */
export function searchedOf(document: RankerDocument, extras: readonly string[]) {
  return { ...document, examples: [...document.examples, ...document.whenToUse, ...extras] };
}
