import { eachPlainWord } from './tokens.ts';

const HEAD_BYTES = 12;
/** So many words say nothing of what is talked about. */
const COMMON = 300;

/**
 * A table of words, the most frequent first, each with a vector that lies near those of words which mean much the same. The file, little-endian: the number of
 * words, their dimensions and the bytes of their text as uint32; the words joined by line feeds; a float32 scale for each; int8 numbers.
 */
export class WordVectors {
  readonly dimensions: number;
  /** Tells tables apart: how many words, and how they are written in numbers. */
  readonly digest: string;
  readonly #places = new Map<string, number>();
  readonly #scales: Float32Array;
  readonly #numbers: Int8Array;

  /** Throws where the bytes are no such table. */
  constructor(bytes: Uint8Array) {
    const whole = new Uint8Array(bytes).buffer; // begins where numbers of four bytes may
    const [words = 0, dimensions = 0, text = 0] = whole.byteLength < HEAD_BYTES ? [] : new Uint32Array(whole, 0, 3);
    const scales = HEAD_BYTES + text;
    const numbers = scales + words * 4;
    if (words === 0 || text % 4 !== 0 || numbers + words * dimensions !== whole.byteLength)
      throw new Error('it is no table of word vectors, or a part of one');
    this.dimensions = dimensions;
    const names = new TextDecoder()
      .decode(new Uint8Array(whole, HEAD_BYTES, text))
      .trimEnd()
      .split('\n');
    for (const [place, word] of names.entries()) this.#places.set(word, place);
    if (dimensions === 0 || this.#places.size !== words) throw new Error('its words are damaged');
    this.#scales = new Float32Array(whole, scales, words);
    this.#numbers = new Int8Array(whole, numbers);
    this.digest = `${words} ${dimensions} ${this.#scales.reduce((sum, scale) => sum + scale, 0)}`;
  }

  /** How little a word is said in passing: 0 of the most frequent words and of numbers, 1 of those that are not in the table, which are rarer than all that are. */
  rarity(word: string): number {
    if (!/\p{L}/u.test(word)) return 0;
    const place = this.#places.get(word.toLowerCase());
    if (place === undefined) return 1;
    return Math.max(0, Math.log((place + 1) / COMMON) / Math.log(this.#places.size / COMMON));
  }

  /** The direction of a text: what its words have in common, of length 1. null where it has no word of the table. */
  of(text: string): Float32Array | null {
    const sum = new Float32Array(this.dimensions);
    eachPlainWord(text, (word) => {
      const place = this.#places.get(word);
      if (place === undefined) return;
      const scale = this.#scales[place]!;
      const from = place * this.dimensions;
      for (let at = 0; at < sum.length; at++) sum[at]! += scale * this.#numbers[from + at]!;
    });
    return direction(sum);
  }
}

/** The same direction with the length 1; null where there is none. */
export function direction(vector: Float32Array): Float32Array | null {
  const length = Math.sqrt(nearness(vector, vector));
  return length === 0 ? null : vector.map((value) => value / length);
}

/** The cosine of the angle between two directions. */
export function nearness(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += one[at]! * other[at]!;
  return sum;
}
