import { fieldsOf, isPlainMap } from '@pith/plain-data';
import { messageOf, PithError, type JsonValue } from '../contract/index.ts';
import type { Codec } from '@pith/process-rpc';
import { DEEPEST_VALUE, type ErrorCode, MOST_PARTS, type Phase, PHASES, Problem, readable, toJsonValue } from '../kernel/index.ts';

/** How values and errors cross between the kernel and the process of an extension. */
export const CODEC: Codec = {
  deepest: DEEPEST_VALUE,
  mostParts: MOST_PARTS,
  plain: toJsonValue,
  errorToData: (error) => errorToData(error),
  errorFromData: (data) => errorFromData(data),
  refusal(code, message, cause) {
    if (code === 'too_large')
      return new PithError('not_serialisable', message, { cure: 'return less, or write it to a file and return its path' });
    if (code === 'no_parts') return new PithError('provider_failed', message);
    return cause instanceof PithError ? cause : new PithError('aborted', `${message}: ${messageOf(cause)}`, { cause });
  },
};

/** An error on its way to another process. */
export interface ErrorData {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly cure?: string;
  readonly where?: string;
  readonly retryable?: boolean;
  readonly statusCode?: number;
  readonly retryAfterMs?: number;
  readonly problems?: PithError['problems'];
  /** `retry-after` and the like, of what a model's server answered. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly stack?: string;
  readonly cause?: ErrorData;
  /** Of a `Problem`. */
  readonly phase?: Phase;
  readonly file?: string;
  readonly line?: number;
}

const MOST_TEXT = 64 * 1024;
const MOST_STACK = 4 * 1024;
const DEEPEST_CAUSE = 3;
const MOST_HEADERS = 100;
const MOST_PROBLEMS = 100;

/** Never throws, whatever was thrown. */
export function errorToData(thrown: unknown, depth = 0): ErrorData {
  try {
    return dataOf(readable(thrown), depth);
  } catch {
    return { name: 'Error', message: 'what was thrown cannot be read' }; // reading it throws
  }
}

function dataOf(error: unknown, depth: number): ErrorData {
  const { isRetryable, cause } = fieldsOf(error);
  const { phase, file, line, ...data } = read(error);
  return {
    ...data,
    message: messageOf(error).slice(0, MOST_TEXT),
    retryable: data.retryable ?? (typeof isRetryable === 'boolean' ? isRetryable : undefined),
    cause: cause !== undefined && depth < DEEPEST_CAUSE ? errorToData(cause, depth + 1) : undefined,
    ...(error instanceof Problem ? { phase, file, line } : {}),
  };
}

/** The error again: a `Problem`, a `PithError`, or a plain error with its code. Never throws, whatever was sent. */
export function errorFromData(data: unknown, depth = 0): Error {
  const { name, message, code, stack, cause, phase, file, line, responseHeaders, ...more } = read(data);
  const hasCause = cause !== undefined && depth < DEEPEST_CAUSE;
  const options = { ...more, ...(hasCause ? { cause: errorFromData(cause, depth + 1) } : {}) };
  const error =
    phase !== undefined && code !== undefined
      ? new Problem(phase, code as ErrorCode, message, { ...options, file, line })
      : name === 'PithError'
        ? new PithError(code ?? 'provider_failed', message, options)
        : Object.assign(new Error(message, options), { code, statusCode: more.statusCode, retryable: more.retryable, responseHeaders });
  if (error.name !== name && name !== 'PithError') error.name = name;
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** What of an error, or of its data, is what it should be. */
function read(error: unknown): ErrorData {
  const given: { readonly [Key in keyof ErrorData]?: unknown } = fieldsOf(error);
  const { retryable, statusCode, retryAfterMs, problems, responseHeaders, cause, phase, line } = given;
  return {
    name: text(given.name, 200) ?? 'Error',
    message: text(given.message, MOST_TEXT) ?? 'it failed without a message',
    code: text(given.code, 200),
    cure: text(given.cure, MOST_TEXT),
    where: text(given.where, MOST_TEXT),
    retryable: typeof retryable === 'boolean' ? retryable : undefined,
    statusCode: typeof statusCode === 'number' ? statusCode : undefined,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
    problems: Array.isArray(problems) ? problems.slice(0, MOST_PROBLEMS).flatMap(fieldProblem) : undefined,
    responseHeaders: isPlainMap(responseHeaders) ? textsOf(responseHeaders) : undefined,
    stack: text(given.stack, MOST_STACK),
    cause: isPlainMap(cause) ? (cause as unknown as ErrorData) : undefined,
    phase: PHASES.find((each) => each === phase),
    file: text(given.file, MOST_STACK),
    line: typeof line === 'number' ? line : undefined,
  };
}

function text(value: unknown, most: number): string | undefined {
  return typeof value === 'string' ? value.slice(0, most) : undefined;
}

function fieldProblem(given: unknown): NonNullable<PithError['problems']> {
  const { path, message } = isPlainMap(given) ? given : {};
  const isPath = Array.isArray(path) && path.every((part) => typeof part === 'string' || typeof part === 'number');
  return isPath && typeof message === 'string' ? [{ path, message: message.slice(0, MOST_STACK) }] : [];
}

function textsOf(headers: object): Record<string, string> {
  const texts = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(texts.slice(0, MOST_HEADERS).map(([name, value]) => [name.slice(0, 200), value.slice(0, MOST_STACK)]));
}

/** Each part as `change` makes it. No generator: one that was returned before it began would leave its source open. */
export function mapParts<From, To>(parts: AsyncIterable<From>, change: (part: From) => To): AsyncIterable<To> {
  return {
    [Symbol.asyncIterator]() {
      const source = parts[Symbol.asyncIterator]();
      return {
        async next() {
          const { done, value } = await source.next();
          if (done) return { done, value: undefined };
          try {
            return { done: false, value: change(value) };
          } catch (error) {
            await source.return?.();
            throw error;
          }
        },
        async return() {
          await source.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/** A text among the arguments of a call; `what` names it. Throws `parameter_invalid`. */
export function givenText(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw new PithError('parameter_invalid', `${what} must be a text`);
}

/** An object among the arguments of a call, as JSON; `what` names it. Throws `parameter_invalid` or `not_serialisable`. */
export function givenObject(value: unknown, what: string): { readonly [key: string]: JsonValue | undefined } {
  const json = toJsonValue(value, what);
  if (typeof json === 'object' && json !== null && !isList(json)) return json;
  throw new PithError('parameter_invalid', `${what} must be an object`);
}

/** A list of at most `most` texts. Throws `parameter_invalid`. */
export function givenTexts(value: unknown, what: string, most: number): readonly string[] {
  if (Array.isArray(value) && value.length <= most && value.every((each) => typeof each === 'string')) return value as string[];
  throw new PithError('parameter_invalid', `${what} must be a list of at most ${most} texts`);
}

/** A text for people, cut to what anyone reads. */
export function cutText(value: unknown, most: number): string {
  if (typeof value !== 'string') return '';
  return value.length > most ? `${value.slice(0, most)}…` : value;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
