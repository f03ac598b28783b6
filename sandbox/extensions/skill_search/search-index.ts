import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { RankedSkill, RankerDocument } from 'pith/skill_registry';
import { once } from '@pith/promises';
import { type RankOptions, TextRanker, type WordVectors } from '@pith/word-ranker';
import type { LearnedExamples } from './learning/learned-examples.ts';

export interface SearchIndexPorts {
  /** null where nothing may be learned. */
  readonly learned: LearnedExamples | null;
  /** What there is to search of one skill; null where it is gone. */
  document(id: string): Promise<RankerDocument | null>;
  /** The table of word vectors, read when the first skill comes; null where it cannot be. */
  vectors(): Promise<WordVectors | null>;
}

const NOTHING: readonly string[] = [];

/** Indexes the words and the meaning of all skills that were sent, and of what people said when they wanted them. */
export class SearchIndex {
  private readonly ranker = once(async () => new TextRanker(await this.ports.vectors()));
  private readonly ports: SearchIndexPorts;
  /** By id, the learned texts that stand in the index. */
  private readonly learned = new Map<string, readonly string[]>();
  /** Grows with every change. */
  revision = 0;

  constructor(ports: SearchIndexPorts) {
    this.ports = ports;
  }

  /** Others may work after each. */
  async upsert(documents: readonly RankerDocument[], signal?: AbortSignal): Promise<void> {
    await this.ports.learned?.look();
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
      this.learned.delete(id);
      this.revision++;
      if (at % 50 === 49) await yieldToOthers();
    }
  }

  async rank(query: string, options: RankOptions): Promise<readonly RankedSkill[]> {
    const ranker = await this.ranker();
    await this.relearn(ranker);
    return ranker.rank(query, options);
  }

  private add(ranker: TextRanker, document: RankerDocument): void {
    const learned = this.ports.learned?.of(document.id) ?? NOTHING;
    ranker.upsert(searchedOf(document, learned));
    this.learned.set(document.id, learned);
    this.revision++;
  }

  /** Takes over what was learned or forgotten since, also by other processes. */
  private async relearn(ranker: TextRanker): Promise<void> {
    const { learned, document } = this.ports;
    if (learned === null || !(await learned.look())) return;
    for (const [id, texts] of this.learned) {
      if (learned.of(id) === texts) continue;
      const now = await document(id);
      if (now !== null && this.learned.has(id)) this.add(ranker, now);
    }
  }
}

/** What is searched of a document. */
export function searchedOf(document: RankerDocument, learned: readonly string[] = NOTHING) {
  return { ...document, examples: [...document.examples, ...document.whenToUse, ...learned] };
}
