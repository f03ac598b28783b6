import { bytesOf, numbers32 } from './packed.ts';

/**
 * A stored table of texts, searched without reading all of it: the bytes, where each text ends, and a hash table of places from 1, 0 for
 * none.
 */
export class TextTable {
  static readonly PARTS = 3;
  readonly #bytes: Uint8Array;
  readonly #ends: Uint32Array;
  readonly #slots: Uint32Array;

  constructor([bytes, ends, slots]: readonly Uint8Array[]) {
    this.#bytes = bytes!;
    [this.#ends, this.#slots] = [numbers32(ends!), numbers32(slots!)];
  }

  get size(): number {
    return this.#ends.length;
  }

  at(place: number): string {
    return Buffer.from(this.#bytes.subarray(this.#start(place), this.#ends[place])).toString();
  }

  placeOf(text: string): number | undefined {
    const wanted = Buffer.from(text);
    const hash = hashOf(wanted);
    for (let tried = 0; tried < this.#slots.length; tried++) {
      const place = this.#slots[(hash + tried) % this.#slots.length]! - 1;
      if (place < 0) return undefined;
      if (this.#is(place, wanted)) return place;
    }
    return undefined;
  }

  #is(place: number, wanted: Uint8Array): boolean {
    const start = this.#start(place);
    if (this.#ends[place]! - start !== wanted.length) return false;
    for (let at = 0; at < wanted.length; at++) if (this.#bytes[start + at] !== wanted[at]) return false;
    return true;
  }

  #start(place: number): number {
    return place === 0 ? 0 : this.#ends[place - 1]!;
  }
}

/** The data for `TextTable`, in parts. */
export function* encodedTexts(texts: readonly Uint8Array[]): Generator<void, readonly Uint8Array[]> {
  const ends = new Uint32Array(texts.length);
  const slots = new Uint32Array(Math.ceil((texts.length * 4) / 3) + 1);
  let end = 0;
  for (const [place, text] of texts.entries()) {
    ends[place] = end += text.length;
    let slot = hashOf(text);
    while (slots[slot % slots.length] !== 0) slot++;
    slots[slot % slots.length] = place + 1;
    if (place % 20_000 === 19_999) yield;
  }
  return [Buffer.concat(texts), bytesOf(ends), bytesOf(slots)];
}

function hashOf(text: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text[at]!, 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
