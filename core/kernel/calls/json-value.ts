import { type JsonValue, PithError } from '../../contract/index.ts';

/** `value` as plain JSON, copied. undefined becomes null; what JSON cannot say, or is too large, throws `not_serialisable` naming the place. */
export function toJsonValue(value: unknown, what: string, deepest = DEEPEST_VALUE): JsonValue {
  return new Conversion(what, deepest).convert(value, what, 0) ?? null;
}

class Conversion {
  readonly #measure = new Measure();

  constructor(
    private readonly what: string,
    private readonly deepest: number,
  ) {}

  convert(value: unknown, path: string, depth: number): JsonValue | undefined {
    this.#within(this.#measure.part());
    switch (typeof value) {
      case 'string':
        this.#within(this.#measure.text(value.length));
        return value;
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) ? value : null;
      case 'undefined':
        return undefined;
      case 'object':
        return value === null ? null : this.#object(value, path, depth);
      default:
        throw refused(path, `is a ${typeof value}`);
    }
  }

  #object(value: object, path: string, depth: number): JsonValue | undefined {
    if (depth > this.deepest) throw refused(path.slice(0, 200), 'is a cycle or too deep');
    if ('toJSON' in value && typeof value.toJSON === 'function') return this.convert(value.toJSON(), path, depth + 1);
    if (Array.isArray(value)) return this.#list(value, path, depth);
    if (isOpaque(value)) throw refused(path, `is a ${value.constructor.name}`);
    const copy: Record<string, JsonValue> = {};
    for (const [key, part] of Object.entries(value)) {
      this.#within(this.#measure.text(key.length));
      const converted = this.convert(part, `${path}.${key}`, depth + 1);
      if (converted !== undefined) define(copy, key, converted);
    }
    return copy;
  }

  /** Its length says nothing of what it holds: it is counted before it is walked. */
  #list(value: readonly unknown[], path: string, depth: number): JsonValue {
    this.#within(this.#measure.part(value.length));
    return Array.from(value, (item, index) => this.convert(item, `${path}.${index}`, depth + 1) ?? null);
  }

  #within(why: string | undefined): void {
    if (why === undefined) return;
    throw new PithError('not_serialisable', `${this.what} ${why}, and no more is passed on`, {
      cure: 'return less, or write it to a file and return its path',
    });
  }
}

/** Objects that JSON would quietly empty. */
function isOpaque(value: object): boolean {
  return (
    value instanceof Map ||
    value instanceof Set ||
    value instanceof Error ||
    value instanceof RegExp ||
    value instanceof Promise ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value)
  );
}

function define(target: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

function refused(path: string, why: string): PithError {
  return new PithError('not_serialisable', `${path} ${why}, which is not JSON`, {
    cure: 'return text, numbers, booleans, null, lists and plain objects',
  });
}

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
