import { type ExtensionContext, PithError } from 'pith';
import { RankerProvider } from '../contract.ts';
import type { EmbeddingClient } from '../meaning/embedding-client.ts';
import { vectorTextOf } from '../meaning/skill-vectors.ts';
import { fuse } from '../search/fusion.ts';
import { rankedIn, toRankerDocument } from '../search/other-ranker.ts';
import type { SearchDocument } from '../search/ranker.ts';
import type { SearchBackends } from '../search/search-backends.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { DEPTH, type EvalCase, type LexicalTrial, type RankCase } from './evaluate.ts';

export interface TrialParts {
  readonly snapshot: Snapshot;
  readonly cases: readonly EvalCase[];
  readonly documents: ReadonlyMap<string, SearchDocument>;
  readonly lexical: LexicalTrial;
  readonly backends: SearchBackends;
  readonly signal: AbortSignal;
}

const DOCUMENTS_AT_ONCE = 50;

/** Words and meaning together. What a case's own text taught is in no vector that it is compared with. */
export async function fusedTrial({ snapshot, cases, documents, lexical, backends, signal }: TrialParts): Promise<RankCase> {
  await backends.settle(snapshot);
  const { model: meaning, client } = backends;
  if (meaning === null || client === null)
    throw new PithError('not_found', 'no embedding model is set up', { cure: 'set extensions.embedding.model in pith.yaml' });
  const vectors = new Map(meaning.skills.vectors);
  if (vectors.size === 0) throw unreachable(client);
  const taught = [...new Set(cases.filter(({ from }) => from === 'learned').map(({ skillId }) => skillId))];
  const texts = taught.map((id) => vectorTextOf(snapshot.skills.get(id) as Skill, documents.get(id)?.body ?? ''));
  const embedded = async (some: readonly string[], purpose: 'query' | 'document') => {
    const found = await client.embedAll(some, purpose, signal);
    if (found === null) throw unreachable(client);
    return found;
  };
  for (const [at, vector] of (await embedded(texts, 'document')).entries()) vectors.set(taught[at]!, vector);
  const said = cases.map(({ text }) => text);
  const queries = await embedded(said, 'query');
  const vectorOf = new Map(cases.map((one, at) => [one, queries[at]!]));
  return (one) => fuse({ lexical: lexical.rank(one), query: vectorOf.get(one)!, vectors, count: meaning.count, k: DEPTH, weak: true });
}

/** The ranker of an extension, told of all skills first, as a chat tells it. Others may be using it: nothing is taken from it to measure it. */
export async function otherTrial(id: string, { find }: Pick<ExtensionContext, 'find'>, parts: TrialParts): Promise<RankCase> {
  const { documents, signal } = parts;
  const rankers = find(RankerProvider);
  const ranker = rankers.find(({ extensionId }) => extensionId === id);
  if (ranker === undefined) {
    const names = ['lexical', 'fused', ...rankers.map(({ extensionId }) => extensionId)].join(', ');
    throw new PithError('not_found', `there is no ranker '${id}'`, { cure: `use one of ${names}` });
  }
  const all = [...documents.values()].map(toRankerDocument);
  for (let from = 0; from < all.length; from += DOCUMENTS_AT_ONCE) await ranker.upsert(all.slice(from, from + DOCUMENTS_AT_ONCE), signal);
  const known = new Set(documents.keys());
  return async (one) => {
    const answer = rankedIn(await ranker.rank(one.text, { k: DEPTH }, signal), known, DEPTH);
    if (answer !== null) return answer;
    throw new PithError('provider_failed', `the ranker '${id}' answered something else than a list of { id, score, why }`);
  };
}

function unreachable({ failure }: EmbeddingClient): PithError {
  const why = failure === null ? '' : `: ${failure.message}`;
  return new PithError('provider_failed', `the embedding model gives no vectors${why}`, { cure: failure?.cure ?? 'see pith doctor' });
}
