/** How deep a value may be that goes from one extension to another. */
export const DEEPEST_VALUE = 64;
/** How many parts it may have, each counted as often as it is met: data that names one list twice doubles at each level. */
export const MOST_PARTS = 1_000_000;
/** How many characters its texts and names may have together. */
export const MOST_CHARACTERS = 16 * 1024 * 1024;

/** Counts what has been walked of one value. Each answer says why the walk must end, or undefined. */
export class Measure {
  #parts = 0;
  #characters = 0;

  part(count = 1): string | undefined {
    this.#parts += count;
    return this.#parts > MOST_PARTS ? `has more than ${MOST_PARTS} parts` : undefined;
  }

  text(length: number): string | undefined {
    this.#characters += length;
    return this.#characters > MOST_CHARACTERS ? `has more than ${MOST_CHARACTERS / 1024 / 1024} million characters` : undefined;
  }
}
