import { queryTerms } from './tokens.ts';

/** A person's text for which a skill was loaded. */
export interface Example {
  readonly text: string;
  /** When, in milliseconds since the epoch. */
  readonly at: number;
}

/** No skill keeps more. */
export const MOST_OF_ONE = 20;
/** Two texts that share so much of their words say the same. */
const SAME = 0.8;

/** The learned examples of one skill: few, and different from each other. */
export class ExampleSet {
  readonly #examples: Example[] = [];
  /** Made when they are first compared. */
  readonly #terms = new Map<string, ReadonlySet<string>>();
  #texts: readonly string[] | null = null;

  /** Oldest first. The same array until something changes. */
  get texts(): readonly string[] {
    return (this.#texts ??= this.#examples.map(({ text }) => text));
  }

  get examples(): readonly Example[] {
    return this.#examples;
  }

  /** Whether a text says something that none of them does. */
  isNew(text: string): boolean {
    const terms = termsOf(text);
    return !this.#examples.some((known) => likeness(terms, this.#termsOf(known)) >= SAME);
  }

  /** Where there are too many, the one goes that is told best by another; the older of two, the oldest of all where none is. */
  add(example: Example): void {
    this.#examples.push(example);
    this.#texts = null;
    if (this.#examples.length <= MOST_OF_ONE) return;
    for (const { text } of this.#examples.splice(this.#mostRedundant(), 1)) this.#terms.delete(text);
  }

  #mostRedundant(): number {
    const terms = this.#examples.map((one) => this.#termsOf(one));
    let [found, most] = [0, 0];
    for (let older = 0; older < terms.length; older++) {
      for (let newer = older + 1; newer < terms.length; newer++) {
        const alike = likeness(terms[older]!, terms[newer]!);
        if (alike > most) [found, most] = [older, alike];
      }
    }
    return found;
  }

  #termsOf({ text }: Example): ReadonlySet<string> {
    let terms = this.#terms.get(text);
    if (terms === undefined) this.#terms.set(text, (terms = termsOf(text)));
    return terms;
  }
}

function termsOf(text: string): ReadonlySet<string> {
  return new Set(queryTerms(text).map(({ term }) => term));
}

/** Common terms of all terms. */
function likeness(some: ReadonlySet<string>, others: ReadonlySet<string>): number {
  let common = 0;
  for (const term of some) if (others.has(term)) common++;
  return common === 0 ? 0 : common / (some.size + others.size - common);
}
