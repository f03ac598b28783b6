import { plain } from './tokens.ts';

/** How a whole query meets a skill's id, name or one of its tags. */
export const NAME_MATCH = { none: 0, contained: 1, prefix: 2, exact: 3 } as const;

interface Keys {
  readonly own: readonly string[];
  readonly all: readonly string[];
}

/** Finds ids whose id, name or tag contains a whole query, by one search through all of them joined. */
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

  delete(id: string): void {
    if (this.#keys.delete(id)) this.#joined = null;
  }

  /** Every id that the query names in part, with the strength of the match. */
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
