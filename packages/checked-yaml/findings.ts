import type { z } from 'zod';
import { didYouMean } from '@pith/plain-text';
import { positionOf, type Positions } from './positions.ts';

/** A problem in a file. Lines and columns count from 1. */
export interface Finding {
  readonly severity: 'error' | 'warning' | 'info';
  readonly code: string;
  readonly message: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** What to do, as an imperative. */
  readonly cure?: string;
}

export interface IssueSource {
  readonly file: string;
  readonly positions: Positions;
  /** The line where the value begins, for a finding without a position. */
  readonly line?: number;
  /** The code of all findings but unknown keys. */
  readonly code: string;
  readonly value: unknown;
}

/** What is wrong with one field, to be read beside it. */
export interface FieldProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Zod's issues by the fields that they are about. An unknown key names the nearest known ones. */
export function fieldProblems(issues: readonly z.core.$ZodIssue[], schema: z.ZodType, value: unknown): readonly FieldProblem[] {
  const pathOf = (path: readonly PropertyKey[]) => path.map((part) => (typeof part === 'number' ? part : String(part)));
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({
          path: pathOf([...issue.path, key]),
          message: `is unknown${didYouMean(key, knownKeys(schema, issue.path))}`,
        }))
      : [{ path: pathOf(issue.path), message: reasonOf(issue, value) }],
  );
}

/** Turns zod's issues into findings with file, line and column. A finding on an unknown key names the nearest known keys. */
export function issuesToDiagnostics(issues: readonly z.core.$ZodIssue[], schema: z.ZodType, source: IssueSource): Finding[] {
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => unknownKey([...issue.path, key], knownKeys(schema, issue.path), source))
      : [{ ...diagnostic(issue.path, source.code, describe(issue, source.value), source), cure: cureOf(issue, source.value) }],
  );
}

function cureOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.message.includes('; it counts as that')) return 'correct the name';
  return valueAt(value, issue.path) === undefined ? 'add it' : 'correct the value';
}

/** The same finding, which also says that the key or value was ignored. */
export function saidIgnored<T extends Pick<Finding, 'message'>>(finding: T): T {
  const message = finding.message.replace(/^unknown key '[^']*'(?: in '[^']*')?/u, '$& is ignored');
  const isSaid = message !== finding.message || message.includes(' counts as ');
  return { ...finding, message: isSaid ? message : `${message} (ignored)` };
}

/** The finding for an unknown key. */
export function unknownKey(
  path: readonly PropertyKey[],
  known: readonly string[],
  source: Pick<IssueSource, 'file' | 'positions' | 'line'>,
): Finding {
  const key = String(path.at(-1));
  const parent = pathText(path.slice(0, -1));
  const hint = didYouMean(key, known);
  const message = `unknown key '${key}'${parent === '' ? '' : ` in '${parent}'`}${hint}`;
  const cure = hint !== '' ? undefined : known.length === 0 ? 'remove it' : `use one of: ${known.join(', ')}`;
  return { ...diagnostic(path, 'unknown_key', message, source), ...(cure === undefined ? {} : { cure }) };
}

/** The keys of the strict object at `path`; empty where any key is allowed. */
export function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const found = schemaAt(schema, path);
  const { type, shape } = found === null ? { type: '', shape: undefined } : unwrapped(found);
  return type === 'object' ? Object.keys(shape ?? {}) : [];
}

/** The paths of the keys that the schema's objects drop silently: keys that they neither know, keep nor refuse. */
export function unreadKeys(schema: z.ZodType, value: unknown, path: readonly PropertyKey[] = []): readonly (readonly PropertyKey[])[] {
  const { type, shape, element, catchall } = unwrapped(schema);
  if (type === 'array' && element !== undefined && Array.isArray(value))
    return value.flatMap((one, index) => unreadKeys(element, one, [...path, index]));
  if (type !== 'object' || shape === undefined || catchall !== undefined || typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (Object.hasOwn(shape, key)) return unreadKeys(shape[key] as z.ZodType, inner, [...path, key]);
    return inner === null || inner === undefined ? [] : [[...path, key]];
  });
}

/** The schema at `path`, with its wrappers; null where the schema does not describe that path. */
export function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | null {
  let current: z.ZodType | undefined = schema;
  for (const part of path) {
    const { type, shape, element, valueType } = unwrapped(current);
    current = type === 'object' ? shape?.[String(part)] : type === 'array' ? element : type === 'record' ? valueType : undefined;
    if (current === undefined) return null;
  }
  return current;
}

interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly element?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly catchall?: z.ZodType;
}

/** The schema without its wrappers (default, optional, pipe). */
export function unwrapped(schema: z.ZodType): Definition {
  const definition = schema.def as unknown as Definition;
  const inner = definition.innerType ?? definition.in; // optional, default and prefault have innerType; a pipe's first half is `in`
  return inner === undefined ? definition : unwrapped(inner);
}

/** The path as messages show it: `commands[0].needs`. */
export function pathText(path: readonly PropertyKey[]): string {
  const dotted = path.filter((part) => part !== '').join('.');
  return dotted.replaceAll(/\.(\d+)(?=\.|$)/gu, '[$1]');
}

/** The issue as a sentence. `root` is put before the path. */
export function describe(issue: z.core.$ZodIssue, value: unknown, root = ''): string {
  const path = pathText([root, ...issue.path]);
  const reason = reasonOf(issue, value);
  const subject = path === '' && reason !== MISSING ? 'the file' : `'${path}'`;
  return reason === MISSING || reason.startsWith('must ') ? `${subject} ${reason}` : `${subject}: ${reason}`;
}

const MISSING = 'is missing';

/** What is said of a field after its name. */
function reasonOf(issue: z.core.$ZodIssue, value: unknown): string {
  const found = valueAt(value, issue.path);
  if (found === undefined && (issue.code === 'invalid_type' || issue.code === 'invalid_value')) return MISSING;
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String);
    return `must be ${allowed.join(', ').replace(/, ([^,]*)$/, ' or $1')}, not ${shown(found)}${typeof found === 'string' ? didYouMean(found, allowed) : ''}`;
  }
  if (issue.code === 'invalid_type' && issue.expected === 'boolean') return `must be true or false, not ${shown(found)}`;
  if (issue.code === 'invalid_type')
    return `must be ${withArticle(issue.expected)}${isCoerced(issue, found) ? '' : `, not ${kindOf(found)}`}`;
  if (issue.code === 'invalid_union')
    return `fits none of the accepted forms: ${[...new Set(issue.errors.map(firstOf(found)))].join(', or ')}`;
  const bound = boundOf(issue);
  if (bound !== null && !issue.message.startsWith('must ')) return `must ${bound}`;
  return issue.message.replace(/^Invalid \w+: /, '');
}

/** The text of a number, which is none. */
function isCoerced({ message }: z.core.$ZodIssue, found: unknown): boolean {
  return typeof found === 'string' && !message.endsWith('received string');
}

const firstOf =
  (value: unknown) =>
  ([issue]: readonly z.core.$ZodIssue[]): string => {
    if (issue === undefined) return 'something else';
    if (issue.code === 'unrecognized_keys') return `'${issue.keys[0]}' is unknown`;
    return `${issue.path.length === 0 ? 'it' : `'${pathText(issue.path)}'`} ${reasonOf(issue, value)}`;
  };

function boundOf(issue: z.core.$ZodIssue): string | null {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return null;
  const [bound, word] = issue.code === 'too_small' ? [issue.minimum, 'at least'] : [issue.maximum, 'at most'];
  if (issue.origin === 'string') return bound === 1 && word === 'at least' ? 'not be empty' : `have ${word} ${bound} characters`;
  if (issue.origin === 'array') return `have ${word} ${bound} entries`;
  return `be ${issue.inclusive === false ? (word === 'at least' ? 'more than' : 'less than') : word} ${bound}`;
}

function withArticle(type: string): string {
  const word = { int: 'whole number', record: 'map', object: 'map', array: 'list' }[type] ?? type;
  return `a ${word}`;
}

/** Shows only values of a fixed set: any other text might be a secret in the wrong place. */
function shown(value: unknown): string {
  return typeof value === 'string' && value.length <= 40 ? `'${value}'` : kindOf(value);
}

function kindOf(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : `a ${typeof value}`;
}

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<PropertyKey, unknown>)[part];
  }
  return current;
}

function diagnostic(
  path: readonly PropertyKey[],
  code: string,
  message: string,
  source: Pick<IssueSource, 'file' | 'positions' | 'line'>,
): Finding {
  const place = positionOf(source.positions, path) ?? { line: source.line ?? 1, column: 1 };
  return { severity: 'error', code, message, file: source.file, line: place.line, column: place.column };
}

/** The finding for a key that was ignored in a file that is otherwise valid. */
export function asIgnored(finding: Finding): Finding {
  return { ...saidIgnored(finding), severity: 'warning' };
}
