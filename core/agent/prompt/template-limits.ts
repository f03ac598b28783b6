/** The longest template that is read. */
export const TEMPLATE_LIMIT = 256 * 1024;
/** The longest run of blanks in it: the parser takes the square of a run's length to cut it off. */
export const BLANKS_LIMIT = 500;
/** How deep its parts may stand in each other. */
export const TREE_LIMIT = 200;

/** Bounds of what one rendering may take; beyond them it fails as `prompt_invalid`. */
export const TEXT_LIMIT = 1024 * 1024;
export const LIST_LIMIT = 10_000;
/** Values, rounds and calls together; long texts and lists count for more. */
export const STEP_LIMIT = 500_000;
/** What is evaluated inside what is evaluated: macros that call macros end here, far from the end of the stack. */
const DEPTH_LIMIT = 800;
/** How deep a value may be when it becomes text. */
const VALUE_DEPTH_LIMIT = 100;

/** So many characters or items are one step. */
const STEP_SIZE = 32;
/** A comparison of two characters takes far less than a step. */
const COMPARISONS = 1000;

/** What is left of the steps of one rendering. All throw `RangeError`, in words that end a sentence. */
export class Budget {
  #steps = STEP_LIMIT;
  #depth = 0;

  spend(steps: number): void {
    this.#steps -= Math.max(0, steps) || 0; // what is computed may be negative or no number
    if (this.#steps < 0) throw new RangeError(`more than ${STEP_LIMIT} steps (values, rounds of loops and calls)`);
  }

  /** Before a text of `length` is made. */
  forText(length: number): void {
    atMost(length, TEXT_LIMIT, 'characters of text');
    this.spend(length / STEP_SIZE);
  }

  /** Before a list of `length` is made or walked. */
  forList(length: number): void {
    atMost(length, LIST_LIMIT, 'items in a list');
    this.spend(length / STEP_SIZE);
  }

  /** Before `part` is looked for in `text`: at worst each character is compared with each. */
  forSearch(text: string, part: string): void {
    this.spend(text.length / STEP_SIZE + (text.length * part.length) / COMPARISONS);
  }

  deeper<T>(work: () => T): T {
    this.spend(1);
    if (++this.#depth > DEPTH_LIMIT) throw new RangeError(`parts and macros inside each other deeper than ${DEPTH_LIMIT}`);
    try {
      return work();
    } finally {
      this.#depth -= 1;
    }
  }

  /** Throws for a value that is deeper than anybody prints, such as a list within itself. */
  forDepth(depth: number): void {
    this.spend(1);
    if (depth > VALUE_DEPTH_LIMIT) throw new RangeError(`a list or map deeper than ${VALUE_DEPTH_LIMIT}`);
  }
}

/** Throws unless `count` is a number that is not above `limit`. */
export function atMost(count: number, limit: number, what: string): number {
  if (Number.isNaN(count) || count <= limit) return count;
  throw new RangeError(`more than ${limit} ${what}`);
}
