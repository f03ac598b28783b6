import type { z } from 'zod';
import { nearest } from '../../contract/nearest.ts';
import { describe, knownKeys, schemaAt, unwrapped, valueAt } from './schema-issues.ts';
import { isPlainMap } from '../../contract/plain-data.ts';

export interface LenientParse<T> {
  /** null: something is missing without which there is no value, or a safeguard cannot be read. */
  readonly data: T | null;
  readonly issues: readonly z.core.$ZodIssue[];
  /** The value without what the schema refused. */
  readonly rest: unknown;
}

/** Each round takes out all that zod names; a further one is needed only where that uncovers more. */
const MAX_ROUNDS = 10;

/**
 * Parses `value` and leaves out what the schema refuses, so that a slip takes no more than its own key. What a schema marks with
 * `.meta({ safeguard: true })` cannot be left out, because its default may allow more than was written: with it goes the entry of the map
 * that holds it, such as one server of many, else everything; with `narrowest: value`, too, that value stands instead. A key whose name is
 * close to that of a safeguard counts as that, where nothing smaller than everything would go with it; a text where a safeguard is a list
 * counts as the list of what its commas part.
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
    for (const issue of single.filter((each) => !isNote(each))) {
      const instead = insteadOf(schema, rest, issue);
      if (instead !== null) {
        issues.push({ code: 'custom', path: issue.path, message: instead.message, input: undefined });
        rest = replaced(rest, instead.path, instead.value);
        continue;
      }
      const path = issue.code === 'unrecognized_keys' ? [...issue.path, ...issue.keys] : issue.path;
      const away = leftOut(schema, rest, path);
      const meant = away.length === 0 ? nameMeant(schema, path) : undefined;
      const renamed = meant === undefined ? null : withName(rest, path, meant);
      issues.push(
        renamed === null ? issue : { code: 'custom', path, message: `must be written '${meant}'; it counts as that`, input: undefined },
      );
      if (renamed === null && away.length === 0)
        return { data: null, issues: [...issues, ...single.slice(single.indexOf(issue) + 1)], rest: undefined };
      rest = renamed ?? without(rest, away);
    }
  }
  return { data: null, issues, rest: undefined };
}

/** What goes because of an issue at `path`: of a missing key the map that lacks it. Nothing: all does. */
function leftOut(schema: z.ZodType, value: unknown, path: readonly PropertyKey[]): readonly PropertyKey[] {
  const found = existing(value, path);
  const entry = entryOf(schema, found);
  return isSafeguard(schema, path) ? entry : found;
}

function existing(value: unknown, path: readonly PropertyKey[]): readonly PropertyKey[] {
  let current = value;
  for (const [depth, key] of path.entries()) {
    const held = typeof current === 'object' && current !== null ? (current as Record<PropertyKey, unknown>)[key] : undefined;
    if (held === undefined) return path.slice(0, depth);
    current = held;
  }
  return path;
}

/** The innermost entry of a map with free keys on the way to `path`. */
function entryOf(schema: z.ZodType, path: readonly PropertyKey[]): readonly PropertyKey[] {
  for (let length = path.length; length > 0; length -= 1) {
    const above = schemaAt(schema, path.slice(0, length - 1));
    if (above !== null && unwrapped(above).type === 'record') return path.slice(0, length);
  }
  return [];
}

function isSafeguard(schema: z.ZodType, path: readonly PropertyKey[]): boolean {
  if (path.some((_, depth) => isMarkedAt(schema, path.slice(0, depth + 1)))) return true;
  const meant = nameMeant(schema, path);
  return meant !== undefined && isMarkedAt(schema, [...path.slice(0, -1), meant]);
}

/** The known key that an unknown one at `path` is closest to. */
function nameMeant(schema: z.ZodType, path: readonly PropertyKey[]): string | undefined {
  const known = knownKeys(schema, path.slice(0, -1));
  const key = String(path.at(-1));
  return known.includes(key) ? undefined : nearest(key, known, 1)[0];
}

function isMarkedAt(schema: z.ZodType, path: readonly PropertyKey[]): boolean {
  return schemaAt(schema, path)?.meta()?.['safeguard'] === true;
}

/** `value` without what stands at `path`; a list that would lose an item goes as a whole. */
function without(value: unknown, path: readonly PropertyKey[]): unknown {
  if (!isPlainMap(value) || path.length === 0) return undefined;
  const [key, ...below] = path as readonly [string, ...PropertyKey[]];
  const { [key]: inner, ...rest } = value;
  const kept = below.length === 0 ? undefined : without(inner, below);
  return kept === undefined ? rest : { ...rest, [key]: kept };
}

/** What an owner's schema only says, with `params: { severity: 'warning' }`, and takes. */
export function isNote(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.['severity'] === 'warning';
}

interface Instead {
  readonly path: readonly PropertyKey[];
  readonly value: unknown;
  readonly message: string;
}

/** What stands in the place of a value that is refused: the list that was meant by a text, or what `narrowest` says of it or of its list. */
function insteadOf(schema: z.ZodType, value: unknown, issue: z.core.$ZodIssue): Instead | null {
  const { path } = issue;
  const found = valueAt(value, path);
  const isListed = issue.code === 'invalid_type' && issue.expected === 'array' && isSafeguard(schema, path);
  const list = isListed && typeof found === 'string' ? textsIn(found) : null;
  if (list !== null) return { path, value: list, message: 'must be a list, such as [a, b]; it counts as one, split at commas' };
  const isEntry = typeof path.at(-1) === 'number';
  const above = isEntry ? path.slice(0, -1) : path;
  const narrowest = issue.code === 'unrecognized_keys' ? undefined : schemaAt(schema, above)?.meta()?.['narrowest'];
  if (narrowest === undefined) return null;
  const why = describe({ ...issue, path: [] }, found).replace(/^the file:? /u, '');
  const counts = typeof narrowest === 'string' ? `'${narrowest}'` : JSON.stringify(narrowest);
  return { path: above, value: narrowest, message: `${why}; ${isEntry ? 'the list' : 'it'} counts as ${counts}` };
}

function replaced(value: unknown, [key, ...below]: readonly PropertyKey[], by: unknown): unknown {
  if (key === undefined) return by;
  return isPlainMap(value) ? { ...value, [key]: replaced(value[String(key)], below, by) } : value;
}

function textsIn(text: string): readonly string[] | null {
  const texts = text.split(',').flatMap((part) => part.trim() || []);
  return texts.length === 0 ? null : texts;
}

/** `value` with the key at `path` under another name; null where that is taken. */
function withName(value: unknown, [key, ...below]: readonly PropertyKey[], name: string): unknown {
  if (!isPlainMap(value) || key === undefined) return null;
  const { [String(key)]: held, ...rest } = value;
  if (below.length === 0) return name in rest ? null : { ...rest, [name]: held };
  const inner = withName(held, below, name);
  return inner === null ? null : { ...rest, [key]: inner };
}
