import { type ExtensionContext, PithError } from '../contract/index.ts';

export type SqlRow = Awaited<ReturnType<ExtensionContext['database']['all']>>[number];
export type SqlValue = SqlRow[string];

const LARGEST = 2n ** 63n - 1n;
const SMALLEST = -(2n ** 63n);

/**
 * Refuses what drivers accept silently: too few or too many parameters, NUL in strings (cut there), unsafe integers (rounded), NaN (stored
 * as null), booleans and dates (converted), objects (taken for named parameters).
 */
export function checkParameters(sql: string, expected: number, values: readonly SqlValue[]): void {
  if (values.length !== expected) throw invalid(sql, `it has ${expected} parameter(s), ${values.length} given`);
  for (let index = 0; index < values.length; index += 1) {
    const fault = faultOf(values[index]);
    if (fault !== null) throw invalid(sql, `parameter ${index + 1} ${fault}`);
  }
}

/** Integers as BigInt, for a driver that binds numbers as REAL. */
export function withExactIntegers(values: readonly SqlValue[]): SqlValue[] {
  return values.map((value) => (typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value));
}

/** Counts the `?` of one statement. Throws `parameter_invalid` for named or numbered parameters and for a second statement. */
export function countParameters(sql: string): number {
  let count = 0;
  const isTrigger = /^\s*CREATE\s+(?:TEMP(?:ORARY)?\s+)?TRIGGER\b/i.test(sql); // its body contains further statements
  let ended = false;
  for (const [token] of sql.matchAll(TOKENS)) {
    if (ended && !isBlank(token)) throw invalid(sql, 'it has more than one statement; give them one by one');
    if (token === '?') count += 1;
    else if (token === ';') ended = !isTrigger;
    else if (/^[?:@$]/.test(token)) throw invalid(sql, `it uses '${token}'; only plain '?' parameters are supported`);
  }
  return count;
}

// strings, quoted names, comments, parameters, words, anything else
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\?\d*|[:@$]\w+|\s+|\w+|[\s\S]/g;

function isBlank(token: string): boolean {
  return token === ';' || token.startsWith('--') || token.startsWith('/*') || token.trim() === '';
}

function faultOf(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
      return value.includes('\0') ? 'contains a NUL character' : null;
    case 'number':
      if (Number.isNaN(value)) return 'is NaN';
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? 'is an integer beyond ±2^53; give a bigint' : null;
    case 'bigint':
      return value > LARGEST || value < SMALLEST ? 'is beyond 64 bits' : null;
    case 'object':
      return value === null || value instanceof Uint8Array
        ? null
        : `is ${value instanceof Date ? 'a Date; give milliseconds' : 'an object; give JSON text'}`;
    case 'boolean':
      return 'is a boolean; give 0 or 1';
    default:
      return `is ${typeof value}; give null for none`;
  }
}

/** The SQL goes to the log only: messages for a person or a model have none. */
function invalid(sql: string, why: string): PithError {
  return new PithError('parameter_invalid', `a statement for the database cannot be run: ${why}`, { cause: statementCause(sql) });
}

/** The cause of an error about a statement. */
export function statementCause(sql: string): Error {
  return new Error(`the statement: ${sql.replace(/\s+/g, ' ').trim().slice(0, LONGEST_SHOWN)}`);
}

const LONGEST_SHOWN = 1_000;
