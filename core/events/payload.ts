import { PithError } from '../contract/errors.ts';

const MAX_BYTES = 256 * 1024;
const DEEPEST = 100;

/** The payload of a durable topic as JSON. Throws `not_serialisable` for what would read back as something else, `parameter_invalid` for what is too long. */
export function payloadText(topic: string, payload: unknown): string {
  check(payload, topic, 0);
  const text = JSON.stringify(payload);
  if (text.length * 3 > MAX_BYTES && Buffer.byteLength(text) > MAX_BYTES) {
    throw new PithError('parameter_invalid', `the payload of '${topic}' is longer than 256 KiB`, {
      cure: 'keep the text in a table or a file and publish where it is',
    });
  }
  return text;
}

function check(value: unknown, path: string, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value)) throw refused(path, 'is not finite');
      return;
    case 'object':
      if (value !== null) checkParts(value, path, depth);
      return;
    default:
      throw refused(path, `is ${typeof value}`);
  }
}

function checkParts(value: object, path: string, depth: number): void {
  if (depth > DEEPEST) throw refused(path.slice(0, 200), 'is a cycle or too deep');
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) value.forEach((part, index) => check(part, `${path}.${index}`, depth + 1));
  else if (prototype === Object.prototype || prototype === null) {
    for (const key in value) {
      const part = (value as Record<string, unknown>)[key];
      if (part !== undefined) check(part, `${path}.${key}`, depth + 1);
    }
  } else throw refused(path, 'is not a plain object');
}

function refused(path: string, why: string): PithError {
  return new PithError('not_serialisable', `${path} ${why}, which is not JSON`, {
    cure: 'publish text, numbers, booleans, null, lists and plain objects',
  });
}
