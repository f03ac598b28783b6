import { DEPTH, type EvalCase, figuresOf, LexicalTrial, outcomesOf } from '../evaluation/evaluate.ts';
import { fullDocumentOf, type SearchDocument } from '../search/ranker.ts';
import { fuse } from '../search/fusion.ts';
import type { Snapshot } from '../skill.ts';
import type { MeaningOptions } from './meaning.ts';
import type { Measure } from './verdict.ts';

export interface MeasureOptions extends Pick<MeaningOptions, 'client' | 'readBody' | 'learned'> {
  readonly cases: readonly EvalCase[];
  readonly digest: string;
  readonly snapshot: Snapshot;
  readonly vectors: ReadonlyMap<string, Float32Array>;
  readonly signal: AbortSignal;
}

/** It runs beside a conversation: so many cases and skills tell a good model from a bad one. */
const MOST_CASES = 200;
const MOST_SKILLS = 1000;

/** Words alone against words and meaning, on the same cases and skills; null where the vectors of the cases cannot be had now. */
export async function measureModel(options: MeasureOptions): Promise<Measure | null> {
  const { snapshot, vectors, digest, signal } = options;
  const cases = spread(options.cases, MOST_CASES);
  const texts = cases.map(({ text }) => text);
  const asked = await options.client.embedAll(texts, 'query', signal);
  if (asked === null) return null;
  const queries = new Map(cases.map((one, at) => [one, asked[at]!]));
  const documents = await documentsOf(cases, options);
  const trial = new LexicalTrial(documents);
  await trial.prepare(signal);
  const count = [...snapshot.skills.values()].filter(({ state }) => state === 'offered').length;
  const among = (id: string): boolean => documents.has(id);
  const lexical = await outcomesOf(cases, (one) => trial.rank(one), signal);
  const fused = await outcomesOf(
    cases,
    (one) => fuse({ lexical: trial.rank(one), query: queries.get(one)!, vectors, count, among, k: DEPTH, weak: true }),
    signal,
  );
  return { digest, cases: cases.length, lexical: figuresOf(lexical).ndcgAt10, fused: figuresOf(fused).ndcgAt10 };
}

/** Of the skills of the cases, and of others up to the limit. */
async function documentsOf(cases: readonly EvalCase[], { snapshot, readBody, learned, signal }: MeasureOptions) {
  const documents = new Map<string, SearchDocument>();
  const offered = [...snapshot.skills.values()].filter(({ state }) => state === 'offered');
  const asked = new Set(cases.map(({ skillId }) => skillId));
  const others = offered.filter(({ id }) => !asked.has(id));
  for (const skill of [...offered.filter(({ id }) => asked.has(id)), ...spread(others, Math.max(0, MOST_SKILLS - asked.size))]) {
    signal.throwIfAborted();
    const body = await readBody(skill);
    if (body !== null) documents.set(skill.id, fullDocumentOf(skill, body, learned.of(skill.id)));
  }
  return documents;
}

/** So many of them, from all over the list; the same ones each time. */
function spread<T>(items: readonly T[], most: number): readonly T[] {
  return items.length <= most ? items : Array.from({ length: most }, (_, at) => items[Math.floor((at * items.length) / most)]!);
}
