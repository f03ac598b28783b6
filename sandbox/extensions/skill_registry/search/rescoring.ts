import { createRanker } from './bm25f.ts';
import type { CatalogFile } from './catalog-file.ts';
import { matchOf } from './full-text.ts';
import { PARAMETERS } from './parameters.ts';
import type { CountedDocument, Ranked, RankOptions, StoredRanker } from './ranker.ts';
import { decodeRecord } from './record.ts';
import { isBefore } from './tie-order.ts';
import { queryTerms } from './tokens.ts';

/** So many are scored: the best by FTS5, and the best by all but their bodies. */
const BY_FULL_TEXT = 200;
const BY_METADATA = 100;
const BY_PREFIX = 200;
/** A word that more than this share of the skills have finds no candidates, where others do. */
const COMMON = 0.1;

/** Ranks as the ranker itself would, where it knows no bodies: FTS5 finds candidates, and only theirs are read from `catalog.db`. */
export function rankCandidates(catalog: CatalogFile, metadata: StoredRanker, query: string, options: RankOptions): readonly Ranked[] {
  const { k, accept = () => true } = options;
  const terms = queryTerms(query);
  const counts = new Map<string, number>();
  const holding = (term: string, word = term, prefix = false): number => {
    let count = counts.get(term);
    if (count === undefined) counts.set(term, (count = catalog.holding(matchOf([{ term, word, prefix }])!)));
    return count;
  };
  const rare = terms.filter(({ term, word, prefix }) => holding(term, word, prefix) <= metadata.size * COMMON);
  const match = matchOf(rare.length > 0 ? rare : terms);
  const byText = match === null ? [] : catalog.best(match, BY_FULL_TEXT).map(({ id }) => id);
  const byMetadata = metadata.rank(query, { ...options, k: Math.max(k, BY_METADATA), weak: true });
  const candidates = [...new Set([...byText.filter(accept), ...byMetadata.map(({ id }) => id)])];
  const ranker = createRanker(PARAMETERS, { size: metadata.size, totals: metadata.totals, holding });
  const begun = terms.filter(({ prefix }) => prefix).flatMap(({ term }) => catalog.termsBeginningWith(term, BY_PREFIX));
  const wanted = numbersOf(catalog, [...metadata.related(query), ...begun]);
  for (const row of catalog.records(candidates)) {
    if (metadata.versionOf(row.id) === row.version) ranker.add(countedOf(row, wanted));
  }
  const ranked = ranker.rank(query, options);
  if (ranker.size === candidates.length) return ranked;
  const unread = metadata.rank(query, options).filter(({ id }) => ranker.versionOf(id) === null); // not in the file yet
  return [...ranked, ...unread].sort((a, b) => b.score - a.score || (isBefore(a.id, b.id, options.seed) ? -1 : 1)).slice(0, k);
}

function numbersOf(catalog: CatalogFile, terms: readonly string[]): ReadonlyMap<number, string> {
  const numbers = new Map<number, string>();
  for (const term of terms) {
    const number = catalog.numberOf(term);
    if (number !== null) numbers.set(number, term);
  }
  return numbers;
}

function countedOf(
  row: { readonly id: string; readonly version: string; readonly record: Uint8Array },
  wanted: ReadonlyMap<number, string>,
): CountedDocument {
  const counts = new Map<string, number>();
  const head = decodeRecord(row.record, (number, packed) => {
    const term = wanted.get(number);
    if (term !== undefined) counts.set(term, packed);
  });
  return { id: row.id, version: row.version, ...head, counts };
}
