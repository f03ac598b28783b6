import { createRanker } from './bm25f.ts';
import type { CatalogDb } from './catalog-db.ts';
import { holdingIn, matchesOf } from './full-text.ts';
import { PARAMETERS } from './parameters.ts';
import type { Collection, CountedDocument, Ranked, RankOptions, StoredRanker } from './ranker.ts';
import { decodeRecord, Decoded } from './record.ts';
import { synonymsOf } from './synonyms.ts';
import { isBefore } from './tie-order.ts';
import { plain, queryTerms, type QueryTerm } from './tokens.ts';

/** So many are scored: the best by FTS5, and the best by all but their bodies. */
const BY_FULL_TEXT = 200;
const BY_METADATA = 100;
const BY_PREFIX = 200;
const BY_NAME = 20;
/** What FTS5 is asked for where too few of the best may be seen by who asks. */
const FOR_FEW = 5000;

/** Ranks by the file alone: for the time until the ranker has its postings. FTS5 finds candidates, and what is kept of them is scored. */
export function rankByFullText(catalog: CatalogDb, query: string, options: RankOptions): readonly Ranked[] {
  const { k, among = () => true } = options;
  const terms = queryTerms(query);
  const size = catalog.count();
  const holding = holdingIn(catalog);
  const others = othersOf(terms);
  const byText = bestOf(catalog, matchesOf([...terms, ...others], size, holding), k, among);
  const candidates = [...new Set([...byText, ...namedBy(catalog, query).filter(among)])];
  const words = [...terms, ...others].map(({ term }) => term);
  const wanted = numbersOf(catalog, words, terms);
  const documents = catalog.records(candidates).map((row) => countedOf(row, wanted));
  return scored(documents, { size, totals: totalsOf(documents, size), holding }).rank(query, options);
}

/** Ranks as the ranker itself would, where it knows no bodies: FTS5 finds candidates, and only theirs are read from `catalog.db`. */
export function rankCandidates(catalog: CatalogDb, metadata: StoredRanker, query: string, options: RankOptions): readonly Ranked[] {
  const { k, among = () => true } = options;
  const terms = queryTerms(query);
  const holding = holdingIn(catalog);
  const byText = bestOf(catalog, matchesOf(terms, metadata.size, holding), k, among);
  const byMetadata = metadata.rank(query, { ...options, k: Math.max(k, BY_METADATA), weak: true });
  const candidates = [...new Set([...byText, ...byMetadata.map(({ id }) => id)])];
  const wanted = numbersOf(catalog, metadata.related(query), terms);
  const rows = catalog.records(candidates).filter(({ id, version }) => metadata.versionOf(id) === version);
  const documents = rows.map((row) => countedOf(row, wanted));
  const ranker = scored(documents, { size: metadata.size, totals: metadata.totals, holding });
  const ranked = ranker.rank(query, options);
  if (ranker.size === candidates.length) return ranked;
  const unread = metadata.rank(query, options).filter(({ id }) => ranker.versionOf(id) === null); // not in the file yet
  return [...ranked, ...unread].sort((a, b) => b.score - a.score || (isBefore(a.id, b.id, options.seed) ? -1 : 1)).slice(0, k);
}

function bestOf(catalog: CatalogDb, matches: readonly string[], k: number, among: (id: string) => boolean): readonly string[] {
  let found: readonly string[] = [];
  for (const match of matches) {
    const best = catalog.best(match, BY_FULL_TEXT);
    found = best.filter(among);
    if (found.length < k && best.length === BY_FULL_TEXT) found = catalog.best(match, FOR_FEW).filter(among).slice(0, BY_FULL_TEXT);
    if (found.length >= k) break;
  }
  return found;
}

/** What counts as these terms and would not be found by the words as they are written: synonyms, and other forms (`wrote`, `colour`). */
function othersOf(terms: readonly QueryTerm[]): readonly QueryTerm[] {
  const forms = terms.filter(({ term, word, prefix }) => !prefix && !word.toLowerCase().startsWith(term)).map(({ term }) => term);
  const others = new Set([...forms, ...terms.flatMap(({ term, prefix }) => (prefix ? [] : synonymsOf(term)))]);
  return [...others].map((term) => ({ term, word: term, prefix: false }));
}

/** Ids that the whole query is, or that begin with it. */
function namedBy(catalog: CatalogDb, query: string): readonly string[] {
  const forms = new Set([plain(query).replaceAll(' ', '-'), query.trim()]);
  return [...forms].flatMap((form) => (form === '' ? [] : catalog.beginningWith(form, BY_NAME)));
}

function scored(documents: readonly CountedDocument[], collection: Collection): StoredRanker {
  const ranker = createRanker(PARAMETERS, collection);
  for (const document of documents) ranker.add(document);
  return ranker;
}

/** Of the whole collection, as some of it are on average. */
function totalsOf(some: readonly CountedDocument[], size: number): readonly number[] {
  const sums: number[] = [];
  for (const { lengths } of some) lengths.forEach((length, field) => (sums[field] = (sums[field] ?? 0) + length));
  return sums.map((sum) => (sum * size) / some.length);
}

function numbersOf(catalog: CatalogDb, words: readonly string[], terms: readonly QueryTerm[]): ReadonlyMap<number, string> {
  const begun = terms.filter(({ prefix }) => prefix).flatMap(({ term }) => catalog.termsBeginningWith(term, BY_PREFIX));
  const numbers = new Map<number, string>();
  for (const term of [...words, ...begun]) {
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
  decoded.length = 0;
  const head = decodeRecord(row, decoded);
  for (let at = 0; at < decoded.length; at += 2) {
    const term = wanted.get(decoded.numbers[at]!);
    if (term !== undefined) counts.set(term, decoded.numbers[at + 1]!);
  }
  return { id: row.id, version: row.version, ...head, trail: head.trail.slice(), counts };
}

const decoded = new Decoded();
