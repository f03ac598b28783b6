import { PithError } from '../../contract/errors.ts';
import type { JsonValue } from '../../contract/index.ts';

const DEEPEST = 200;

/** `value` as plain JSON, copied. undefined becomes null; what JSON cannot say throws `not_serialisable` naming the place. */
export function toJsonValue(value: unknown, what: string): JsonValue {
  return convert(value, what, 0) ?? null;
}

function convert(value: unknown, path: string, depth: number): JsonValue | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'undefined':
      return undefined;
    case 'object':
      return value === null ? null : convertObject(value, path, depth);
    default:
      throw refused(path, `is a ${typeof value}`);
  }
}

function convertObject(value: object, path: string, depth: number): JsonValue | undefined {
  if (depth > DEEPEST) throw refused(path.slice(0, 200), 'is a cycle or too deep');
  if ('toJSON' in value && typeof value.toJSON === 'function') return convert(value.toJSON(), path, depth + 1);
  if (Array.isArray(value)) return value.map((item, index) => convert(item, `${path}.${index}`, depth + 1) ?? null);
  if (isOpaque(value)) throw refused(path, `is a ${value.constructor.name}`);
  const copy: Record<string, JsonValue> = {};
  for (const [key, part] of Object.entries(value)) {
    const converted = convert(part, `${path}.${key}`, depth + 1);
    if (converted !== undefined) define(copy, key, converted);
  }
  return copy;
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
