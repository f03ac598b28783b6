import { atMost, bounded, isText, TEXT_LIMIT } from './template-limits.ts';

/** What `target.name` is in a template: an own property of plain data, or one of the methods below. undefined for all else. */
export function memberOf(target: unknown, key: unknown): unknown {
  if (target === undefined || target === null) return undefined;
  // A key object could answer differently on each look, so only its text is used from here on.
  const name = String(key);
  if (typeof target === 'number') return methodOf(target, name, NUMBER_METHODS);
  if (isText(target)) return ofText(String(bounded(target)), name);
  if (Array.isArray(target))
    return Object.hasOwn(target, name) ? target[name as unknown as number] : methodOf(bounded(target), name, LIST_METHODS);
  if (!isPlain(target) || !Object.hasOwn(target, name)) return undefined;
  const value = target[name];
  return typeof value === 'function' ? (...args: unknown[]) => value.apply(target, args) : value;
}

const NUMBER_METHODS = new Set(['toFixed', 'toString']);

const LIST_METHODS = new Set([
  'at',
  'concat',
  'includes',
  'indexOf',
  'join',
  'lastIndexOf',
  'pop',
  'push',
  'reverse',
  'slice',
  'sort',
  'toString',
]);

const TEXT_METHODS = new Set(
  `at charAt concat endsWith includes indexOf lastIndexOf match normalize padEnd padStart repeat replace replaceAll slice split
  startsWith substring toLowerCase toString toUpperCase trim trimEnd trimStart`.split(/\s+/),
);

function ofText(text: string, name: string): unknown {
  if (name === 'repeat')
    return (given: unknown) => text.repeat(atMost(Number(given), TEXT_LIMIT / Math.max(1, text.length), 'repetitions'));
  if (name === 'padStart' || name === 'padEnd')
    return (length: unknown, filler?: string) => text[name](atMost(Number(length), TEXT_LIMIT, 'characters of text'), filler);
  if (name === 'length') return text.length;
  return /^\d+$/.test(name) ? text[Number(name)] : methodOf(text, name, TEXT_METHODS);
}

function methodOf(target: string | number | unknown[], name: string, known: ReadonlySet<string>): unknown {
  if (!known.has(name)) return undefined;
  const method = (target as unknown as Readonly<Record<string, (...args: unknown[]) => unknown>>)[name]!;
  return (...args: unknown[]) => {
    const result = bounded(method.apply(target, args));
    bounded(target);
    return result;
  };
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
