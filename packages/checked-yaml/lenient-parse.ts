import { isPlainMap } from '@pith/plain-data';
import type { z } from 'zod';
import { slipsOf } from '@pith/plain-text';
import { describe, knownKeys, schemaAt, unwrapped, valueAt } from './findings.ts';

export interface LenientParse<T> {
  /** null: a required value is missing, or a safeguard cannot be read. */
  readonly data: T | null;
  readonly issues: readonly z.core.$ZodIssue[];
  /** The value without what the schema refused. */
  readonly rest: unknown;
}

/** Each round removes all that zod reports; a further round is needed only where removing uncovers more. */
const MAX_ROUNDS = 10;
const MOST_WRONG = 2;

/**
 * Parses `value` without what the schema refuses, so that a mistake costs only its own key.
 *
 * A value whose schema has `.meta({ safeguard: true })` is never just dropped, because its default may allow more than was written. With
 * `narrowest` next to the mark, that value (or what a function makes of the reason) replaces one that cannot be read. Without it, the map
 * entry around it is dropped, such as one server of many; without such an entry, everything. `and` ends the message. In a marked list a
 * number counts as its text, and a text as the list of its parts between commas. An unknown key that differs from a marked one by a letter
 * or two counts as that key, unless that key is present too.
 */
export function parseLeniently<S extends z.ZodType>(schema: S, value: unknown): LenientParse<z.output<S>> {
  const issues: z.core.$ZodIssue[] = [];
  let rest = value;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const parsed = schema.safeParse(rest);
    if (parsed.success) return { data: parsed.data, issues, rest };
    const single = parsed.error.issues.flatMap((issue): z.core.$ZodIssue[] =>
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => ({ ...issue, keys: [key] })) : [issue],
    );
    if (single.every(isNote)) return { data: rest as z.output<S>, issues: [...issues, ...single], rest };
    const before = rest;
    for (const [at, issue] of single.entries()) {
      if (isNote(issue)) continue;
      if (existing(rest, issue.path).length < existing(before, issue.path).length) {
        issues.push(issue); // the map entry around it has been dropped already
        continue;
      }
      const repair = issue.code === 'unrecognized_keys' ? ofUnknownKey(schema, rest, issue) : ofWrongValue(schema, rest, issue);
      if (repair === null) return { data: null, issues: [...issues, ...single.slice(at)], rest: undefined };
      const { path, message } = repair;
      issues.push(message === undefined ? issue : { code: 'custom', path: [...path], message, input: undefined });
      rest = repair.value;
    }
  }
  return { data: null, issues, rest: undefined };
}

/** Whether an issue is only a note: an owner's schema accepts the value and says so with `params: { severity: 'warning' }`. */
export function isNote(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.['severity'] === 'warning';
}

interface Repair {
  /** The whole value, without the issue. */
  readonly value: unknown;
  readonly path: readonly PropertyKey[];
  /** What counts instead of the value; absent: the value was dropped. */
  readonly message?: string;
}

function ofUnknownKey(schema: z.ZodType, whole: unknown, { path: above, keys }: z.core.$ZodIssueUnrecognizedKeys): Repair | null {
  const [key = ''] = keys;
  const path = [...above, key];
  const guard = guardOf(schema, above);
  const isGuarded = guard !== null && guard.narrowest === undefined;
  const held = valueAt(whole, above) as Readonly<Record<string, unknown>>;
  const known = knownKeys(schema, above);
  const isKept = (name: string) => isGuarded || markAt(schema, [...above, name]) !== null;
  const meant = slipsOf(key, known, MOST_WRONG).find((name) => !(name in held) && isKept(name));
  if (meant === undefined) return isGuarded ? withoutEntry(schema, whole, path) : { value: without(whole, path), path };
  const { [key]: value, ...others } = held;
  return {
    value: replaced(whole, above, { ...others, [meant]: value }),
    path,
    message: `must be written '${meant}'; it counts as that${endOf(markAt(schema, [...above, meant]))}`,
  };
}

function ofWrongValue(schema: z.ZodType, whole: unknown, issue: z.core.$ZodIssue): Repair | null {
  const { path } = issue;
  const found = valueAt(whole, path);
  const guard = guardOf(schema, path);
  if (guard === null) {
    const away = existing(whole, path);
    return away.length === 0 ? null : { value: without(whole, away), path };
  }
  const isItem = path.length > guard.path.length;
  const isType = (expected: string) => issue.code === 'invalid_type' && issue.expected === expected;
  const texts = typeof found === 'string' && isType('array') ? found.split(',').flatMap((part) => part.trim() || []) : [];
  if (texts.length > 0)
    return { value: replaced(whole, path, texts), path, message: 'must be a list, such as [a, b]; it counts as one, split at commas' };
  if (isItem && isType('string') && ['number', 'boolean'].includes(typeof found))
    return {
      value: replaced(whole, path, String(found)),
      path,
      message: `must be a string, not ${String(found)}; it counts as '${String(found)}'`,
    };
  if (guard.narrowest === undefined) return withoutEntry(schema, whole, path);
  if (typeof guard.narrowest === 'function') return { value: replaced(whole, guard.path, guard.narrowest(issue.message)), path };
  const why = describe({ ...issue, path: [] }, found).replace(/^the file:? /u, '');
  const counts = typeof guard.narrowest === 'string' ? `'${guard.narrowest}'` : JSON.stringify(guard.narrowest);
  return {
    value: replaced(whole, guard.path, guard.narrowest),
    path,
    message: `${why}; ${isItem ? 'the list' : 'it'} counts as ${counts}${endOf(guard)}`,
  };
}

interface Mark {
  readonly narrowest?: unknown;
  readonly and?: string | undefined;
}

interface Guard extends Mark {
  readonly path: readonly PropertyKey[];
}

function endOf(mark: Mark | null): string {
  return mark?.and === undefined ? '' : `, and ${mark.and}`;
}

/** The innermost safeguard around `path`. With `narrowest` it guards one value or list, without it all that it contains. */
function guardOf(schema: z.ZodType, path: readonly PropertyKey[]): Guard | null {
  for (let length = path.length; length >= 0; length -= 1) {
    const place = path.slice(0, length);
    const mark = markAt(schema, place);
    const isInList = path.length === length + 1 && typeof path.at(-1) === 'number';
    if (mark !== null && (mark.narrowest === undefined || length === path.length || isInList)) return { path: place, ...mark };
  }
  return null;
}

function markAt(schema: z.ZodType, path: readonly PropertyKey[]): Mark | null {
  const meta = schemaAt(schema, path)?.meta() as (Mark & { readonly safeguard?: unknown }) | undefined;
  return meta?.safeguard === true ? { narrowest: meta.narrowest, and: meta.and } : null;
}

/** `whole` without the innermost map entry (of a map with free keys) on the way to `path`; null: there is no such entry. */
function withoutEntry(schema: z.ZodType, whole: unknown, path: readonly PropertyKey[]): Repair | null {
  for (let length = existing(whole, path).length; length > 0; length -= 1) {
    const above = schemaAt(schema, path.slice(0, length - 1));
    if (above !== null && unwrapped(above).type === 'record') return { value: without(whole, path.slice(0, length)), path };
  }
  return null;
}

/** The longest part of `path` that exists: for a missing key, the map that lacks it. */
function existing(value: unknown, path: readonly PropertyKey[]): readonly PropertyKey[] {
  const depth = path.findIndex((_, at) => valueAt(value, path.slice(0, at + 1)) === undefined);
  return depth === -1 ? path : path.slice(0, depth);
}

/** `value` without what is at `path`. A list that would lose an item is dropped as a whole. */
function without(value: unknown, path: readonly PropertyKey[]): unknown {
  if (!isPlainMap(value) || path.length === 0) return undefined;
  const [key, ...below] = path as readonly [string, ...PropertyKey[]];
  const { [key]: inner, ...rest } = value;
  const kept = below.length === 0 ? undefined : without(inner, below);
  return kept === undefined ? rest : { ...rest, [key]: kept };
}

function replaced(value: unknown, [key, ...below]: readonly PropertyKey[], by: unknown): unknown {
  if (key === undefined) return by;
  if (Array.isArray(value)) return value.map((item: unknown, at) => (at === key ? replaced(item, below, by) : item));
  return isPlainMap(value) ? { ...value, [key]: replaced(value[String(key)], below, by) } : value;
}
