/** A finding about one file or part. Data, never thrown. Lines and columns count from 1. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning' | 'info';
  readonly code: string;
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** What to do, as an imperative. */
  readonly cure?: string;
}

/** A value that JSON represents exactly. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined };

interface PithErrorOptions {
  readonly cause?: unknown;
  /** What to do about it, as an imperative without a full stop. */
  readonly cure?: string;
  /** A file, `file:line`, a settings path or an id. */
  readonly where?: string;
  readonly retryable?: boolean;
  readonly statusCode?: number;
  /** After which a server takes requests again, as it said. */
  readonly retryAfterMs?: number;
  /** Fields of what was given that are wrong: where, and what is wrong there, to be read beside the field. */
  readonly problems?: readonly { readonly path: readonly (string | number)[]; readonly message: string }[] | undefined;
}

/** Misuse or a failure that its caller must see: who and what. Any error with a `code` and `retryable` is an instance, whoever threw it. */
export class PithError extends Error {
  static {
    Object.defineProperty(this, 'name', { value: 'PithError' }); // the build shortens it, and a printed error begins with it
  }

  readonly cure: string | undefined;
  readonly where: string | undefined;
  readonly retryable: boolean;
  readonly statusCode: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly problems: PithErrorOptions['problems'];

  constructor(
    readonly code: string,
    message: string,
    { cause, cure, where, retryable = false, statusCode, retryAfterMs, problems }: PithErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PithError';
    this.cure = cure;
    this.where = where;
    this.retryable = retryable;
    this.statusCode = statusCode;
    this.retryAfterMs = retryAfterMs;
    this.problems = problems;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== PithError) return reading(() => Function.prototype[Symbol.hasInstance].call(this, value), false);
    return reading(() => value instanceof Error && 'code' in value && typeof value.code === 'string' && 'retryable' in value, false);
  }
}

/** The message of anything thrown, without a stack. */
export function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  return reading(() => (error instanceof Error ? String(error.message || error.name) : `thrown: ${describe(error)}`), UNREADABLE);
}

/** The code of anything thrown, or `fallback` where it has none. */
export function codeOf(error: unknown, fallback: string): string {
  const code = reading(() => (typeof error === 'object' && error !== null && 'code' in error ? error.code : null), null);
  return typeof code === 'string' ? code : fallback;
}

const UNREADABLE = 'thrown: what cannot be read';

/** Whatever is read of something thrown may throw itself. */
function reading<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise; // what the thrown thing throws says nothing
  }
}

function describe(value: unknown): string {
  return reading(() => JSON.stringify(value) ?? String(value), Object.prototype.toString.call(value)); // a cycle or a throwing toJSON
}
