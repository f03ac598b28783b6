import { setImmediate as breathe } from 'node:timers/promises';
import type { RankedSkill, RankerDocument } from 'pith/skill_registry';
import { Bm25fRanker, type RankOptions } from '@pith/word-ranker';
import type { LearnedExamples } from './learning/learned-examples.ts';

export interface SearchIndexPorts {
  /** null where nothing may be learned. */
  readonly learned: LearnedExamples | null;
  /** What there is to search of one skill; null where it is gone. */
  document(id: string): Promise<RankerDocument | null>;
}

const NOTHING: readonly string[] = [];

/** The words of all skills that it was told of, and of what people said when they wanted them. */
export class SearchIndex {
  private readonly ranker = new Bm25fRanker();
  private readonly ports: SearchIndexPorts;
  /** By id, the learned texts that stand in the index. */
  private readonly taught = new Map<string, readonly string[]>();
  /** Grows with every change. */
  revision = 0;

  constructor(ports: SearchIndexPorts) {
    this.ports = ports;
  }

  /** Others may work after each. */
  async upsert(documents: readonly RankerDocument[], signal?: AbortSignal): Promise<void> {
    await this.ports.learned?.look();
    for (const document of documents) {
      signal?.throwIfAborted();
      this.add(document);
      await breathe();
    }
  }

  async remove(ids: readonly string[]): Promise<void> {
    for (const [at, id] of ids.entries()) {
      this.ranker.remove(id);
      this.taught.delete(id);
      this.revision++;
      if (at % 50 === 49) await breathe();
    }
  }

  async rank(query: string, options: RankOptions): Promise<readonly RankedSkill[]> {
    await this.relearn();
    return this.ranker.rank(query, options);
  }

  private add(document: RankerDocument): void {
    const learned = this.ports.learned?.of(document.id) ?? NOTHING;
    this.ranker.upsert(searchedOf(document, learned));
    this.taught.set(document.id, learned);
    this.revision++;
  }

  /** Takes over what was learned or forgotten since, also by other processes. */
  private async relearn(): Promise<void> {
    const { learned, document } = this.ports;
    if (learned === null || !(await learned.look())) return;
    for (const [id, texts] of this.taught) {
      if (learned.of(id) === texts) continue;
      const now = await document(id);
      if (now !== null && this.taught.has(id)) this.add(now);
    }
  }
}

/** What is searched of a document. */
export function searchedOf(document: RankerDocument, learned: readonly string[] = NOTHING) {
  return { ...document, examples: [...document.examples, ...document.whenToUse, ...learned] };
}
