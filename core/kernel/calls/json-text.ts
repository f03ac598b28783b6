import { PithError } from '../../contract/index.ts';

/** `value` as JSON text that reads back the same. Throws `not_serialisable` naming the place, which begins with `what`. */
export function jsonText(value: unknown, what: string, deepest = 100): string {
  check(value, what, deepest);
  return JSON.stringify(value);
}

/** Whether a text is longer than so many bytes. */
export function isLonger(text: string, bytes: number): boolean {
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes;
}

function check(value: unknown, path: string, levels: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value)) throw refused(path, 'is not finite');
      return;
    case 'object':
      if (value !== null) checkParts(value, path, levels);
      return;
    default:
      throw refused(path, `is ${typeof value}`);
  }
}

function checkParts(value: object, path: string, levels: number): void {
  if (levels < 0) throw refused(path.slice(0, 200), 'is a cycle or too deep');
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) value.forEach((part, index) => check(part, `${path}.${index}`, levels - 1));
  else if (prototype === Object.prototype || prototype === null) {
    for (const key in value) {
      const part = (value as Record<string, unknown>)[key];
      if (part !== undefined) check(part, `${path}.${key}`, levels - 1);
    }
  } else throw refused(path, 'is not a plain object');
}

function refused(path: string, why: string): PithError {
  return new PithError('not_serialisable', `${path} ${why}, which is not JSON`, {
    cure: 'give text, numbers, booleans, null, lists and plain objects',
  });
}
