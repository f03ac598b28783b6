import { type JsonValue, PithError } from '../../contract/index.ts';

/** `value` as plain JSON, copied. undefined becomes null; what JSON cannot say, or is too large, throws `not_serialisable` naming the place. */
export function toJsonValue(value: unknown, what: string, deepest = DEEPEST_VALUE): JsonValue {
  return new Conversion(what, deepest).whole(value, what, 0);
}

/** `value` as JSON text that reads back the same: what JSON would change is refused as well. Throws `not_serialisable` naming the place. */
export function jsonText(value: unknown, what: string, deepest = 100): string {
  return JSON.stringify(new Conversion(what, deepest, true).whole(value, what, 0));
}

/** Whether a text is longer than so many bytes. */
export function isLonger(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes;
}

class Conversion {
  #parts = 0;
  #characters = 0;

  constructor(
    private readonly what: string,
    private readonly deepest: number,
    private readonly isExact = false,
  ) {}

  /** What has a place of its own, as an item of a list has: it cannot be left out. */
  whole(value: unknown, path: string, depth: number): JsonValue {
    const converted = this.#convert(value, path, depth);
    if (converted === undefined && this.isExact) throw refused(path, 'is undefined');
    return converted ?? null;
  }

  #convert(value: unknown, path: string, depth: number): JsonValue | undefined {
    this.#count(1);
    switch (typeof value) {
      case 'string':
        this.#count(0, value.length);
        return value;
      case 'boolean':
        return value;
      case 'number':
        if (this.isExact && !Number.isFinite(value)) throw refused(path, 'is not finite');
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
    if (!this.isExact && 'toJSON' in value && typeof value.toJSON === 'function') return this.#convert(value.toJSON(), path, depth + 1);
    if (Array.isArray(value)) return this.#list(value, path, depth);
    if (this.isExact && ![Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null))
      throw refused(path, 'is not a plain object');
    if (isOpaque(value)) throw refused(path, `is a ${value.constructor.name}`);
    const copy: Record<string, JsonValue> = {};
    for (const [key, part] of Object.entries(value)) {
      this.#count(0, key.length);
      const converted = this.#convert(part, `${path}.${key}`, depth + 1);
      if (converted !== undefined) define(copy, key, converted);
    }
    return copy;
  }

  /** Its length says nothing of what it holds: it is counted before it is walked. */
  #list(value: readonly unknown[], path: string, depth: number): JsonValue {
    this.#count(value.length);
    return Array.from(value, (item, index) => this.whole(item, `${path}.${index}`, depth + 1));
  }

  #count(parts: number, characters = 0): void {
    this.#parts += parts;
    this.#characters += characters;
    const why =
      this.#parts > MOST_PARTS
        ? `${MOST_PARTS} parts`
        : this.#characters > MOST_CHARACTERS
          ? `${MOST_CHARACTERS / 1024 / 1024} million characters`
          : null;
    if (why === null) return;
    throw new PithError('not_serialisable', `${this.what} has more than ${why}, and no more is passed on`, {
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
    cure: 'use text, numbers, booleans, null, lists and plain objects',
  });
}

/** How deep a value may be that goes from one extension to another. */
export const DEEPEST_VALUE = 64;
/** How many parts it may have, each counted as often as it is met: data that names one list twice doubles at each level. */
export const MOST_PARTS = 1_000_000;
/** How many characters its texts and names may have together. */
export const MOST_CHARACTERS = 16 * 1024 * 1024;
