import { type Remote, PithError } from 'pith';
import type { RankedSkill, RankerDocument, RankerProvider, SkillLibrary, SkillRecord } from 'pith/skill_registry';
import type { WordVectors } from '@pith/word-ranker';
import { sha256 } from '@pith/plain-data';
import type { RerankerProvider, SearchCase } from '../contract.ts';
import { isOffered } from '../commands.ts';
import { searchedOf } from '../search-index.ts';
import { casesOf, DEPTH, distinct, figuresOf, LeaveOneOutRanker, outcomesOf, type RankCase } from './evaluate.ts';

/** nDCG@10 on the examples of the skills: with words alone, and with a re-ranker. */
export interface Measure {
  /** The digest of the cases. */
  readonly digest: string;
  readonly cases: number;
  readonly lexical: number;
  readonly reranked: number;
}

/** With fewer examples a figure means nothing. */
export const ENOUGH_CASES = 20;
/** The measure runs during a conversation. This many cases and skills suffice to distinguish a good order from a bad one. */
const MOST_CASES = 200;
const MOST_SKILLS = 1000;
const AT_ONCE = 64;

export function isWorse({ lexical, reranked }: Measure): boolean {
  return reranked < lexical - 1e-9;
}

/** The figures in words. */
export function figuresText(model: string, { cases, lexical, reranked }: Measure): string {
  const verb = reranked < lexical ? 'lowers' : 'changes';
  return `the embedding model ${model} ${verb} nDCG@10 on ${cases} examples of your skills from ${lexical.toFixed(3)} to ${reranked.toFixed(3)}`;
}

/** Cases from the frontmatter of offered skills. */
export function exampleCases(skills: readonly SkillRecord[]): { readonly cases: readonly SearchCase[]; readonly digest: string } {
  const cases = distinct(skills.filter(isOffered).flatMap(casesOf));
  const said = JSON.stringify(cases.map(({ skillId, text }) => [skillId, text]));
  return { cases, digest: sha256(said) };
}

/** Compares words alone with the re-ranker, on the same cases and skills. Rejects where the re-ranker has no answer. */
export async function measure(
  reranker: Remote<RerankerProvider>,
  { library, vectors }: { readonly library: Remote<SkillLibrary>; readonly vectors: WordVectors | null },
  all: ReturnType<typeof exampleCases>,
  signal: AbortSignal,
): Promise<Measure> {
  const cases = spread(all.cases, MOST_CASES);
  const { skills } = await library.records();
  const asked = new Set(cases.map(({ skillId }) => skillId));
  const others = skills.filter((skill) => isOffered(skill) && !asked.has(skill.id)).map(({ id }) => id);
  const documents = await documentsOf([...asked, ...spread(others, Math.max(0, MOST_SKILLS - asked.size))], library, signal);
  const lexicalRanker = new LeaveOneOutRanker(documents, vectors);
  await lexicalRanker.prepare(signal);
  const lexical = await outcomesOf(cases, (one) => lexicalRanker.rank(one), signal);
  const ranked = await rankByReranker(cases, lexicalRanker, reranker, { among: [...documents.keys()], signal });
  const reranked = await outcomesOf(cases, ranked, signal);
  return { digest: all.digest, cases: cases.length, lexical: figuresOf(lexical).ndcgAt10, reranked: figuresOf(reranked).ndcgAt10 };
}

/** The searched texts of these skills; `extras`: also texts learned from people, or written by a model. */
export async function documentsOf(
  ids: readonly string[],
  library: Remote<SkillLibrary>,
  signal: AbortSignal,
  extras: (document: RankerDocument) => readonly string[] = () => [],
): Promise<ReadonlyMap<string, ReturnType<typeof searchedOf>>> {
  const documents = new Map<string, ReturnType<typeof searchedOf>>();
  for (const id of ids) {
    signal.throwIfAborted();
    const document = await library.document(id);
    documents.set(id, searchedOf(document, extras(document)));
  }
  return documents;
}

/** The order of a re-ranker, which gets all cases at once. */
export async function rankByReranker(
  cases: readonly SearchCase[],
  lexicalRanker: LeaveOneOutRanker,
  reranker: Remote<RerankerProvider>,
  { among, signal }: { readonly among?: readonly string[]; readonly signal: AbortSignal },
): Promise<RankCase> {
  const found = new Map<SearchCase, readonly RankedSkill[]>();
  const options = { k: DEPTH, weak: true, complete: true, ...(among === undefined ? {} : { among }) };
  for (let from = 0; from === 0 || from < cases.length; from += AT_ONCE) {
    const some = cases.slice(from, from + AT_ONCE);
    const requests = some.map((one) => ({ query: one.text, found: lexicalRanker.rank(one) }));
    const answers = await reranker.rerank(requests, options, signal);
    for (const [at, one] of some.entries()) {
      const answer = answers[at];
      if (!answer) throw new PithError('provider_failed', 'the embedding model gives no vectors', { cure: 'see pith doctor' });
      found.set(one, answer);
    }
  }
  return (one) => found.get(one) ?? [];
}

/**
 * Sends all skills to another extension's ranker first, as a chat does. Others may be using it, so nothing is removed from it for the
 * measure.
 */
export async function rankByProvider(
  ranker: Remote<RankerProvider>,
  documents: readonly RankerDocument[],
  signal: AbortSignal,
): Promise<RankCase> {
  for (let from = 0; from < documents.length; from += AT_ONCE) await ranker.upsert(documents.slice(from, from + AT_ONCE), signal);
  return async (one) => {
    const answer: unknown = await ranker.rank(one.text, { k: DEPTH }, signal);
    if (Array.isArray(answer)) return answer as readonly RankedSkill[];
    throw new PithError('provider_failed', `the ranker '${ranker.extensionId}' answered something else than a list of { id, score, why }`);
  };
}

/** At most that many, spread over the list; the same ones each time. */
function spread<T>(items: readonly T[], most: number): readonly T[] {
  return items.length <= most ? items : Array.from({ length: most }, (_, at) => items[Math.floor((at * items.length) / most)]!);
}
