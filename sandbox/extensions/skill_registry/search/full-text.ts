import { NAME_MATCH } from './name-index.ts';
import type { CatalogFile } from './catalog-file.ts';
import type { Ranked, RankOptions, SearchDocument } from './ranker.ts';
import { isBefore } from './tie-order.ts';
import { eachGramOf, plain, queryTerms, type QueryTerm } from './tokens.ts';

export interface Candidate {
  readonly id: string;
  readonly score: number;
}

const BODY_CHARACTERS = 20_000;
/** What is asked for first, and where too few of it may be seen by who asks. */
const TAKEN = [200, 5000];
const NAMED = 20;
/** As the ranker has it: one word that only the body has is no evidence, unless it is all that was asked. */
const WORDS_OF_BODY = 2;

/** What FTS5 is given of a document, by column. Scripts without spaces are cut as the ranker cuts them. */
export function ftsTexts(document: SearchDocument): readonly [name: string, tags: string, description: string, body: string] {
  const { id, name, tags, description, examples, body } = document;
  return [
    textOf(name === id ? id : `${id} ${name}`),
    textOf(tags.join(' ')),
    textOf([description, ...examples].join('\n')),
    textOf(body.slice(0, BODY_CHARACTERS)),
  ];
}

/** Any of these terms, as FTS5 wants to be asked; null where there is none. */
export function matchOf(terms: readonly QueryTerm[]): string | null {
  return terms.length === 0 ? null : terms.map(quoted).join(' OR ');
}

/** Ranks by FTS5 alone: for the time until the ranker has its postings. */
export function rankByFullText(catalog: CatalogFile, query: string, options: RankOptions): readonly Ranked[] {
  const { k, accept = () => true, weak = false, seed } = options;
  const terms = queryTerms(query);
  const found = bestOf(catalog, terms, k, accept);
  const ids = found.map(({ id }) => id);
  const words = new Map(terms.map((term) => [term.word, catalog.matching(quoted(term), ids)]));
  const any = matchOf(terms);
  const strong = any === null ? new Set<string>() : catalog.matching(`{name tags description} : (${any})`, ids);
  const needed = weak ? 0 : Math.min(WORDS_OF_BODY, terms.length);
  const whyOf = (id: string) => [...words].filter(([, having]) => having.has(id)).map(([word]) => word);
  const named = namedBy(catalog, query, accept);
  const highest = 1 + (found[0]?.score ?? 0);
  const scores = new Map(found.filter(({ id }) => strong.has(id) || whyOf(id).length >= needed).map(({ id, score }) => [id, score]));
  for (const [id, strength] of named) scores.set(id, (scores.get(id) ?? 0) + strength * highest);
  return [...scores]
    .sort(([a, one], [b, other]) => other - one || (isBefore(a, b, seed) ? -1 : 1))
    .slice(0, k)
    .map(([id, score]) => ({ id, score, why: whyOf(id).length > 0 ? whyOf(id) : [query.trim()] }));
}

function bestOf(catalog: CatalogFile, terms: readonly QueryTerm[], k: number, accept: (id: string) => boolean): readonly Candidate[] {
  const match = matchOf(terms);
  if (match === null) return [];
  for (const limit of TAKEN) {
    const all = catalog.best(match, limit);
    const accepted = all.filter(({ id }) => accept(id));
    if (accepted.length >= k || all.length < limit || limit === TAKEN.at(-1)) return accepted.slice(0, Math.max(k, 50));
  }
  return [];
}

/** Ids that the whole query is, or that begin with it. */
function namedBy(catalog: CatalogFile, query: string, accept: (id: string) => boolean): ReadonlyMap<string, number> {
  const form = plain(query).replaceAll(' ', '-');
  if (form === '') return new Map();
  const ids = [...catalog.beginningWith(form, NAMED), ...catalog.beginningWith(query.trim(), NAMED)].filter(accept);
  return new Map(ids.map((id) => [id, id === form || id === query.trim() ? NAME_MATCH.exact : NAME_MATCH.prefix]));
}

function quoted({ term, word, prefix }: QueryTerm): string {
  return prefix ? `"${term.replaceAll('"', '')}"*` : `"${word.replaceAll('"', '')}"`;
}

/** SQLite takes no NUL in a text. */
function textOf(text: string): string {
  const grams: string[] = [];
  eachGramOf(text, (gram) => grams.push(gram));
  return `${text} ${grams.join(' ')}`.replaceAll('\0', ' ').trim();
}
