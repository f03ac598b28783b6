import { plain } from './tokens.ts';

/** How well a whole query matches a skill's id, name or one of its tags. */
export const NAME_MATCH = { none: 0, contained: 1, prefix: 2, exact: 3 } as const;

interface Keys {
  readonly own: readonly string[];
  readonly all: readonly string[];
}

/** Finds ids whose id, name or tag contains the whole query, by one search through all of them joined. */
export class NameIndex {
  readonly #keys = new Map<string, Keys>();
  #joined: string | null = null;
  #starts: number[] = [];
  #ids: string[] = [];

  set(id: string, name: string, tags: readonly string[]): void {
    const own = distinct(plain(id), plain(name));
    const all = distinct(...own, id.toLowerCase(), name.toLowerCase(), ...tags.flatMap((tag) => [tag.toLowerCase(), plain(tag)]));
    this.#keys.set(id, { own, all });
    this.#joined = null;
  }

  /** The texts for these ids, for `restore`: the last of each are tag forms. */
  entries(ids: readonly string[]): readonly (readonly [id: string, own: number, all: readonly string[]])[] {
    return ids.map((id) => {
      const { own, all } = this.#keys.get(id)!;
      return [id, own.length, all];
    });
  }

  restore(entries: ReturnType<NameIndex['entries']>): void {
    for (const [id, own, all] of entries) this.#keys.set(id, { own: all.slice(0, own), all });
    this.#joined = null;
  }

  delete(id: string): void {
    if (this.#keys.delete(id)) this.#joined = null;
  }

  /** The ids that match the query, with the strength of the match. */
  find(query: string): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    const wanted = [...new Set([plain(query), query.trim().toLowerCase()])].filter((form) => form !== '' && !form.includes('\n'));
    this.#join();
    for (const form of wanted) {
      for (let at = this.#joined!.indexOf(form); at >= 0; at = this.#joined!.indexOf(form, at)) {
        const owner = this.#ownerOf(at);
        const id = this.#ids[owner]!;
        found.set(id, Math.max(found.get(id) ?? 0, matchOf(this.#keys.get(id)!, form)));
        at = this.#starts[owner + 1] ?? this.#joined!.length;
      }
    }
    return found;
  }

  #join(): void {
    if (this.#joined !== null) return;
    const parts: string[] = [];
    let length = 0;
    this.#starts = [];
    this.#ids = [];
    for (const [id, keys] of this.#keys) {
      const part = `\n${keys.all.join('\n')}\n`;
      this.#starts.push(length);
      this.#ids.push(id);
      parts.push(part);
      length += part.length;
    }
    this.#joined = parts.join('');
  }

  #ownerOf(position: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#starts[middle]! <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function matchOf(keys: Keys, form: string): number {
  if (keys.own.includes(form)) return NAME_MATCH.exact;
  return keys.own.some((key) => key.startsWith(form)) ? NAME_MATCH.prefix : NAME_MATCH.contained;
}

function distinct(...forms: readonly string[]): string[] {
  return [...new Set(forms)];
}

/** Finds known terms that differ from an unknown one by a typing error. */
export class Spelling {
  readonly #buckets = new Map<string, Set<string>>();

  add(term: string): void {
    if (term.length < 3) return;
    const key = bucketOf(term[0]!, term.length);
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, (bucket = new Set()));
    bucket.add(term);
  }

  delete(term: string): void {
    if (term.length >= 3) this.#buckets.get(bucketOf(term[0]!, term.length))?.delete(term);
  }

  /**
   * Allows one edit for four to seven characters, two from eight on; the first character must be right. `isUsed` says which added terms are
   * still in use. Where nothing is near, tries without an ending, which a typing error may have kept from the stemmer.
   */
  near(term: string, isUsed: (term: string) => boolean): readonly string[] {
    const found = this.#nearest(term, isUsed);
    if (found.length > 0) return found;
    for (const ending of ENDINGS) {
      if (term.length < LEAST_STEM + ending.length || !term.endsWith(ending)) continue;
      const without = this.#nearest(term.slice(0, -ending.length), isUsed);
      if (without.length > 0) return without;
    }
    return [];
  }

  #nearest(term: string, isUsed: (term: string) => boolean): readonly string[] {
    const limit = term.length < 4 ? 0 : term.length < 8 ? 1 : 2;
    if (limit === 0 || /\p{N}/u.test(term)) return [];
    const found: { term: string; cost: number }[] = [];
    for (let length = term.length - limit; length <= term.length + limit; length++) {
      for (const candidate of this.#buckets.get(bucketOf(term[0]!, length)) ?? []) {
        const cost = edits(term, candidate, limit);
        if (cost <= limit && isUsed(candidate)) found.push({ term: candidate, cost });
      }
    }
    const best = Math.min(...found.map(({ cost }) => cost));
    return found
      .filter(({ cost }) => cost === best)
      .map(({ term: candidate }) => candidate)
      .sort()
      .slice(0, 3);
  }
}

const LEAST_STEM = 4;
/** The endings that the stemmer removes, also without the `e` that it removes first; longer ones before their parts. */
const ENDINGS =
  'ement ment ness able ible ance ence abl ibl anc enc ant ent ing ion ism iti ous ive ize ate ful al er ic ed ly iv iz at'.split(' ');

function bucketOf(first: string, length: number): string {
  return `${first}${length}`;
}

/** Insertions, deletions, replacements and swaps of neighbours between two words; more than `limit` counts as `limit + 1`. */
function edits(a: string, b: string, limit: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
      least = Math.min(least, cost);
    }
    if (least > limit) return limit + 1;
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
