import { createHash } from 'node:crypto';
import { bytesOf, packed, unpacked } from './packed.ts';
import { encodedTexts, TextTable } from './text-table.ts';
import { eachPlainWord } from './tokens.ts';

/** How many of the most frequent words say nothing about a topic. */
const COMMON = 300;

/**
 * A table of words, most frequent first, with vectors: words of similar meaning have similar vectors. A vector is whole numbers of one
 * byte, times its scale.
 */
export class WordVectors {
  readonly dimensions: number;
  /** Covers words and scales; identifies the table. */
  readonly digest: string;
  readonly #words: TextTable;
  readonly #scales: Float32Array;
  readonly #numbers: Int8Array;

  /** Uses the output of `packedVectors`, in a buffer of its own. Throws where the bytes are not such a table. */
  constructor(bytes: Uint8Array) {
    const [texts, ends, slots, scales, numbers, ...more] = partsOf(bytes);
    if (numbers === undefined || more.length > 0) throw new Error('it is not a table of word vectors, or a part of one');
    this.#words = new TextTable([texts!, ends!, slots!]);
    this.#scales = new Float32Array(scales!.buffer, scales!.byteOffset, scales!.byteLength / 4);
    this.#numbers = new Int8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    this.dimensions = this.#numbers.length / this.#words.size;
    if (!Number.isInteger(this.dimensions) || this.#scales.length !== this.#words.size) throw new Error('its words are damaged');
    this.digest = createHash('sha256').update(texts!).update(scales!).digest('hex');
  }

  /** How rare a word is: 0 for the most frequent words and numbers, 1 for words outside the table, which are rarer than all in it. */
  rarity(word: string): number {
    if (!/\p{L}/u.test(word)) return 0;
    const place = this.#words.placeOf(word.toLowerCase());
    if (place === undefined) return 1;
    return Math.max(0, Math.log((place + 1) / COMMON) / Math.log(this.#words.size / COMMON));
  }

  /** The direction of a text, of length 1, from all its words. null where the table has none of them. */
  of(text: string): Float32Array | null {
    const sum = new Float32Array(this.dimensions);
    eachPlainWord(text, (word) => {
      const place = this.#words.placeOf(word);
      if (place === undefined) return;
      const scale = this.#scales[place]!;
      const from = place * this.dimensions;
      for (let at = 0; at < sum.length; at++) sum[at]! += scale * this.#numbers[from + at]!;
    });
    return direction(sum);
  }
}

/** The bytes for `WordVectors`. */
export function packedVectors(words: readonly string[], scales: Float32Array, numbers: Int8Array): Uint8Array {
  const texts = encodedTexts(words.map((word) => Buffer.from(word)));
  for (let step = texts.next(); ; step = texts.next()) if (step.done) return packed([...step.value, bytesOf(scales), bytesOf(numbers)]);
}

function partsOf(bytes: Uint8Array): readonly Uint8Array[] {
  try {
    return unpacked(bytes);
  } catch {
    return []; // cut off, or other data
  }
}

/** The direction with length 1; null for a zero vector. */
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
