import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { TextRanker, type WordVectors } from '@pith/word-ranker';
import type { RankedSkill, SkillRecord } from 'pith/skill_registry';
import type { SearchCase, SearchFigures, SearchOutcome } from '../contract.ts';
import type { searchedOf } from '../search-index.ts';

/** Cases from a skill's frontmatter. A trigger of one word is not a request. */
export function casesOf({ id, examples, triggers }: Pick<SkillRecord, 'id' | 'examples' | 'triggers'>): readonly SearchCase[] {
  const phrases = (triggers?.keywords ?? []).filter((phrase) => /\S\s+\S/.test(phrase.trim()));
  return [...positive(id, 'examples', examples), ...positive(id, 'triggers', phrases)];
}

export function positive(skillId: string, from: SearchCase['from'], texts: readonly string[]): readonly SearchCase[] {
  return texts.filter((text) => text.trim() !== '').map((text) => ({ skillId, text, should: 'load', from }));
}

/** Each text of a skill once, in the order of skills, then as given. */
export function distinct(cases: readonly SearchCase[]): readonly SearchCase[] {
  const found = new Map<string, SearchCase>();
  for (const one of cases) {
    const key = JSON.stringify([one.skillId, one.text.trim()]);
    if (!found.has(key) || one.from === 'evals') found.set(key, one);
  }
  return [...found.values()].sort((a, b) => (a.skillId < b.skillId ? -1 : a.skillId > b.skillId ? 1 : 0));
}

export function figuresOf(outcomes: readonly SearchOutcome[]): SearchFigures {
  const ranks = outcomes.filter((outcome) => outcome.case.should === 'load').map(({ rank }) => rank ?? Infinity);
  const mean = (value: (rank: number) => number): number =>
    ranks.length === 0 ? 0 : ranks.reduce((sum, rank) => sum + value(rank), 0) / ranks.length;
  const within = (k: number) => mean((rank) => (rank <= k ? 1 : 0));
  return {
    cases: ranks.length,
    recallAt1: within(1),
    recallAt5: within(5),
    recallAt12: within(12),
    ndcgAt10: mean((rank) => (rank <= 10 ? 1 / Math.log2(rank + 1) : 0)),
    mrr: mean((rank) => 1 / rank),
  };
}

/** How many ranks are searched for the right skill. */
export const DEPTH = 100;

export type RankCase = (one: SearchCase) => readonly RankedSkill[] | Promise<readonly RankedSkill[]>;

/** The rank of the right skill for each case. Yields to other work in between. */
export async function outcomesOf(cases: readonly SearchCase[], rank: RankCase, signal?: AbortSignal): Promise<readonly SearchOutcome[]> {
  const outcomes: SearchOutcome[] = [];
  for (const one of cases) {
    signal?.throwIfAborted();
    const ids = (await rank(one)).map(({ id }) => id);
    const at = ids.indexOf(one.skillId);
    outcomes.push({ case: one, rank: at < 0 ? null : at + 1, before: ids.slice(0, at < 0 ? 3 : at).slice(0, 3) });
    await yieldToOthers();
  }
  return outcomes;
}

/** A skill's searched texts, learned ones included. */
type Document = ReturnType<typeof searchedOf>;

/**
 * Ranks as a turn does without a re-ranker, and without help from the case itself: a skill that contains the case's text is indexed without
 * it for that case.
 */
export class LeaveOneOutRanker {
  readonly #ranker: TextRanker;
  readonly #documents: ReadonlyMap<string, Document>;

  constructor(documents: ReadonlyMap<string, Document>, vectors: WordVectors | null) {
    this.#documents = documents;
    this.#ranker = new TextRanker(vectors);
  }

  /** Indexes all, and yields to other work in between. */
  async prepare(signal?: AbortSignal): Promise<void> {
    for (const document of this.#documents.values()) {
      signal?.throwIfAborted();
      this.#ranker.upsert(document);
      await yieldToOthers();
    }
  }

  rank(one: SearchCase): readonly RankedSkill[] {
    const document = this.#documents.get(one.skillId);
    const without = document && withoutCase(document, one);
    if (without) this.#ranker.upsert(without);
    const ranked = this.#ranker.rank(one.text, { k: DEPTH, weak: true });
    if (without && document) this.#ranker.upsert(document);
    return ranked;
  }
}

/** Whether the case's text itself is among those that find the skill. */
export function isIn(document: Document | undefined, one: SearchCase): boolean {
  return document !== undefined && withoutCase(document, one) !== null;
}

/** The document without the case's text; null where it does not contain it. */
function withoutCase(document: Document, { text }: SearchCase): Document | null {
  const examples = document.examples.filter((example) => example.trim() !== text.trim());
  return examples.length === document.examples.length ? null : { ...document, examples };
}
