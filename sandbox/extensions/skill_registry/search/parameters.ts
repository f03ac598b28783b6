/** What the default ranker goes by. Chosen by `npm run bench:search -- --tune`. */
export interface RankerParameters {
  /** A field's weight, and how strongly a long one is discounted, in the order of the index's fields. */
  readonly fields: readonly { readonly name: string; readonly weight: number; readonly b: number }[];
  /** How soon a word's repetition stops to count. */
  readonly k1: number;
  /** What a near spelling counts beside the word itself. */
  readonly misspelt: number;
  /** What a word that means nearly the same counts beside the word itself. */
  readonly synonym: number;
  /** What two words of the query count in addition where a skill has them beside each other, or with one between them. */
  readonly pair: { readonly adjacent: number; readonly apart: number; readonly inDescription: number; readonly inBody: number };
}

export const PARAMETERS: RankerParameters = {
  fields: [
    { name: 'name', weight: 3, b: 0.5 },
    { name: 'tags', weight: 2, b: 0.5 },
    { name: 'description', weight: 2, b: 0.5 },
    { name: 'examples', weight: 1, b: 0.1 },
    { name: 'body', weight: 0.45, b: 0.75 },
  ],
  k1: 1.5,
  misspelt: 0.6,
  synonym: 0.3,
  pair: { adjacent: 0.7, apart: 0.5, inDescription: 0.6, inBody: 0.4 },
};
