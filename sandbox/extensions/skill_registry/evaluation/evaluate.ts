import { setImmediate as breathe } from 'node:timers/promises';
import { Bm25fRanker } from '../search/bm25f.ts';
import type { Ranked, SearchDocument } from '../search/ranker.ts';
import type { EvalCase } from './eval-case.ts';
import type { Outcome } from './figures.ts';

/** How deep it is looked for the right skill. */
export const DEPTH = 100;

export type RankCase = (one: EvalCase) => readonly Ranked[] | Promise<readonly Ranked[]>;

/** Where the right skill stands for each case. Others may work in between. */
export async function outcomesOf(cases: readonly EvalCase[], rank: RankCase, signal?: AbortSignal): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const one of cases) {
    signal?.throwIfAborted();
    const ids = (await rank(one)).map(({ id }) => id);
    const at = ids.indexOf(one.skillId);
    outcomes.push({ case: one, rank: at < 0 ? null : at + 1, before: ids.slice(0, at < 0 ? 3 : at).slice(0, 3) });
    await breathe();
  }
  return outcomes;
}

/**
 * Ranks by words as a turn does, without help from the case itself: where its text is one of those that the skill is found by, the skill
 * is indexed without it meanwhile.
 */
export class LexicalTrial {
  readonly #ranker = new Bm25fRanker();
  readonly #documents: ReadonlyMap<string, SearchDocument>;

  constructor(documents: ReadonlyMap<string, SearchDocument>) {
    this.#documents = documents;
  }

  /** Indexes all, letting others work in between. */
  async prepare(signal?: AbortSignal): Promise<void> {
    for (const document of this.#documents.values()) {
      signal?.throwIfAborted();
      this.#ranker.upsert(document);
      await breathe();
    }
  }

  rank(one: EvalCase): readonly Ranked[] {
    const document = this.#documents.get(one.skillId);
    const without = document && withoutCase(document, one);
    if (without) this.#ranker.upsert(without);
    const ranked = this.#ranker.rank(one.text, { k: DEPTH, weak: true });
    if (without && document) this.#ranker.upsert(document);
    return ranked;
  }
}

/** Whether the skill is found by the case's text itself. */
export function isIn(document: SearchDocument | undefined, one: EvalCase): boolean {
  return document !== undefined && withoutCase(document, one) !== null;
}

/** The document without the case's text; null where it does not hold it. */
function withoutCase(document: SearchDocument, { text }: EvalCase): SearchDocument | null {
  const examples = document.examples.filter((example) => example.trim() !== text.trim());
  return examples.length === document.examples.length ? null : { ...document, examples };
}
