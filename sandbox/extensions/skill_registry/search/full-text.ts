import type { CatalogDb } from './catalog-db.ts';
import { BODY_CHARACTERS, type SearchDocument } from './ranker.ts';
import { eachGramOf, type QueryTerm } from './tokens.ts';

/** How many skills have a term, as FTS5 counts. */
export type Holding = (term: string, word?: string, prefix?: boolean) => number;

/** A word that more than this share of the skills have, and more than a few, is looked for in names, tags and descriptions only. */
const COMMON = { share: 0.1, least: 1000 } as const;
/** Of the skills that have a common word so many have it there, by rule of thumb. */
const OUTSIDE_BODY = 1 / 3;
/** FTS5 compares so many skills at most, as far as can be foretold: those of the rarest words. */
const COMPARED = 6000;
/** A longer query is a text that was pasted: what it is about stands in these. */
const MOST_TERMS = 32;

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

/** Counts each term once. */
export function holdingIn(catalog: CatalogDb): Holding {
  const counts = new Map<string, number>();
  return (term, word, prefix = false) => {
    const match = word === undefined ? term : quoted({ term, word, prefix });
    let count = counts.get(match);
    if (count !== undefined) return count;
    count = catalog.holding(word === undefined ? quoted({ term, word: term, prefix }) : match);
    counts.set(match, count);
    counts.set(term, Math.max(count, counts.get(term) ?? 0)); // of all its forms that were asked for
    return count;
  };
}

/**
 * What to ask FTS5 for skills that have any of these terms, and then, where that finds too few, what else. How long it takes
 * hardly grows with the number of skills.
 */
export function matchesOf(terms: readonly QueryTerm[], size: number, holding: Holding): readonly string[] {
  const common = Math.max(size * COMMON.share, COMMON.least);
  const counted = terms
    .slice(0, MOST_TERMS)
    .map((term) => ({ term: quoted(term), count: holding(term.term, term.word, term.prefix) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => a.count - b.count);
  let compared = 0;
  const asked = counted.filter(({ count }, at) => (compared += count > common ? count * OUTSIDE_BODY : count) <= COMPARED || at === 0);
  const rare = asked.filter(({ count }) => count <= common).map(({ term }) => term);
  const others = asked.slice(rare.length).map(({ term }) => term);
  if (others.length === 0) return rare.length === 0 ? [] : [rare.join(' OR ')];
  const outside = `{name tags description} : (${others.join(' OR ')})`;
  return rare.length === 0 ? [outside, others[0]!] : [[...rare, outside].join(' OR ')];
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
