import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { RankedSkill, RankerDocument } from 'pith/skill_registry';
import { once } from '@pith/promises';
import { type RankOptions, TextRanker, type WordVectors } from '@pith/word-ranker';
import { digestOf, type WrittenExamples } from './enriching/written-examples.ts';
import type { LearnedExamples } from './learning/learned-examples.ts';

export interface SearchIndexPorts {
  /** null where nothing may be learned. */
  readonly learned: Pick<LearnedExamples, 'look' | 'of'> | null;
  readonly written: Pick<WrittenExamples, 'look' | 'of'>;
  /** What there is to search of one skill; null where it is gone. */
  document(id: string): Promise<RankerDocument | null>;
  /** The table of word vectors, read when the first skill comes; null where it cannot be. */
  vectors(): Promise<WordVectors | null>;
}

/** What of one skill is in the index besides what it says itself. */
interface Indexed {
  readonly digest: string;
  readonly learned: readonly string[];
  readonly written: readonly string[];
}

const NOTHING: readonly string[] = [];

/** Indexes the words and the meaning of all skills that were sent, of what people said when they wanted them, and of what a model wrote for them. */
export class SearchIndex {
  private readonly ranker = once(async () => new TextRanker(await this.ports.vectors()));
  private readonly ports: SearchIndexPorts;
  private readonly indexed = new Map<string, Indexed>();
  /** Of what was learned and written: that of which the index has all. */
  private taken = '';
  /** Grows with every change. */
  revision = 0;

  constructor(ports: SearchIndexPorts) {
    this.ports = ports;
  }

  /** Others may work after each. */
  async upsert(documents: readonly RankerDocument[], signal?: AbortSignal): Promise<void> {
    await this.look();
    const ranker = await this.ranker();
    for (const document of documents) {
      signal?.throwIfAborted();
      this.add(ranker, document);
      await yieldToOthers();
    }
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const ranker = await this.ranker();
    for (const [at, id] of ids.entries()) {
      ranker.remove(id);
      this.indexed.delete(id);
      this.revision++;
      if (at % 50 === 49) await yieldToOthers();
    }
  }

  async rank(query: string, options: RankOptions): Promise<readonly RankedSkill[]> {
    const ranker = await this.ranker();
    const version = await this.look();
    if (version !== this.taken) await this.takeOver(ranker);
    this.taken = version;
    return ranker.rank(query, options);
  }

  private async look(): Promise<string> {
    const { learned, written } = this.ports;
    return `${await learned?.look()} ${await written.look()}`;
  }

  private add(ranker: TextRanker, document: RankerDocument): void {
    const indexed = this.extrasOf(document.id, digestOf(document));
    ranker.upsert(searchedOf(document, indexed.learned, indexed.written));
    this.indexed.set(document.id, indexed);
    this.revision++;
  }

  private extrasOf(id: string, digest: string): Indexed {
    return { digest, learned: this.ports.learned?.of(id) ?? NOTHING, written: this.ports.written.of(digest) };
  }

  /** Indexes again that of which something was learned, forgotten or written since, also by other processes. */
  private async takeOver(ranker: TextRanker): Promise<void> {
    for (const [id, before] of this.indexed) {
      const { learned, written } = this.extrasOf(id, before.digest);
      if (learned === before.learned && written === before.written) continue;
      const now = await this.ports.document(id);
      if (now !== null && this.indexed.has(id)) this.add(ranker, now);
    }
  }
}

/** What is searched of a document. */
export function searchedOf(document: RankerDocument, ...more: readonly (readonly string[])[]) {
  return { ...document, examples: [...document.examples, ...document.whenToUse, ...more.flat()] };
}
