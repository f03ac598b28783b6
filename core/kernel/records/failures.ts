import { type Clock, type Events, type Logger, messageOf, codeOf, PithError } from '../../contract/index.ts';
import type { Failure } from '../../declarations/index.ts';
import type { ErrorCode, Phase } from './error-codes.ts';
import { fieldsOf } from '@pith/plain-data';
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What went wrong, by extension: the last few of each, newest last. */
export interface Failures {
  /** Keeps it, publishes `extension.failed` and logs it, with the id of the message that it was called for. Secrets are taken out first. */
  record(extensionId: string, problem: Problem, correlationId?: string): void;
  /** As `record` would keep it. */
  describe(extensionId: string, problem: Problem): Failure;
  /** As `record`, of what `describe` made. */
  keep(failure: Failure, correlationId?: string): void;
  all(): readonly Failure[];
  /** The newest; but a reload that failed, until one succeeds: what runs is not what is written. */
  last(extensionId: string): Failure | undefined;
  clear(extensionId: string): void;
}

const MOST_KEPT = 20;
const LONGEST_TEXT = 8000;

export function createFailures(options: { clock: Clock; events: Events; logger: Logger; redact(text: string): string }): Failures {
  const kept = new Map<string, Failure[]>();
  const failures: Failures = {
    record: (extensionId, problem, correlationId) => failures.keep(failures.describe(extensionId, problem), correlationId),
    describe(extensionId, problem) {
      return {
        extensionId,
        phase: problem.phase,
        code: problem.code,
        message: cut(options.redact(problem.message)),
        at: options.clock.now(),
        ...(problem.cause === undefined ? {} : { cause: cut(options.redact(causeOf(problem.cause))) }),
        ...(problem.file === undefined ? {} : { file: problem.file }),
        ...(problem.line === undefined ? {} : { line: problem.line }),
        ...(problem.cure === undefined ? {} : { cure: cut(options.redact(problem.cure)) }),
      };
    },
    keep(failure, correlationId) {
      const { extensionId } = failure;
      const list = kept.get(extensionId) ?? [];
      kept.set(extensionId, list);
      const repeated = list.findIndex(
        (other) => other.phase === failure.phase && other.code === failure.code && other.message === failure.message,
      );
      if (repeated >= 0) list.splice(repeated, 1);
      list.push(failure);
      if (list.length > MOST_KEPT) list.splice(Math.max(0, list.findIndex(isNoReload)), 1);
      options.logger.warn(`${extensionId} failed in ${failure.phase}`, {
        ...failure,
        ...(correlationId === undefined ? {} : { correlationId }),
      });
      options.events.publish('extension.failed', failure);
    },
    all: () => [...kept.values()].flat().sort((a, b) => a.at - b.at),
    last: (extensionId) => kept.get(extensionId)?.findLast(({ phase }) => phase === 'reload') ?? kept.get(extensionId)?.at(-1),
    clear: (extensionId) => void kept.delete(extensionId),
  };
  return failures;
}

function cut(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}

function isNoReload({ phase }: Failure): boolean {
  return phase !== 'reload';
}

function causeOf(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : messageOf(cause);
}

/** Codes of errors that are an extension's own fault: they are recorded, although the caller sees them too. */
export const FAULTS: ReadonlySet<string> = new Set(['provider_timeout', 'tool_timeout', 'not_serialisable', 'exit_refused']);

/** What stopped an extension, on its way to become a `Failure`. */
export class Problem extends PithError {
  readonly phase: Phase;
  readonly file: string | undefined;
  readonly line: number | undefined;

  constructor(
    phase: Phase,
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; cure?: string; file?: string; line?: number; problems?: PithError['problems'] } = {},
  ) {
    super(code, message, options);
    this.phase = phase;
    this.file = options.file;
    this.line = options.line;
  }
}

/** Anything thrown, or, where it throws when it is read, an error that can be read. */
export function readable(thrown: unknown): unknown {
  try {
    const fields = fieldsOf(thrown);
    for (const name of READ) void fields[name];
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new PithError('provider_failed', messageOf(thrown)); // reading it throws
  }
}

/** What others read of an error. */
const READ = ['name', 'message', 'stack', 'cause', 'code', 'cure', 'where', 'retryable', 'statusCode', 'retryAfterMs', 'problems'];

/** `error` as a problem of `phase`; one that is a problem already keeps its own phase. */
export function problemOf(thrown: unknown, phase: Phase, code: ErrorCode): Problem {
  const error = readable(thrown);
  if (error instanceof Problem) return error;
  const own = codeOf(error, code);
  const known = error instanceof PithError ? (own as ErrorCode) : code;
  const at = placeOfError(error);
  return new Problem(phase, known, messageOf(error), { cause: error, cure: error instanceof PithError ? error.cure : undefined, ...at });
}

/** The innermost place in an error's stack that lies in the bundle of an extension, as file and line of its source; empty when there is none. */
export function placeOfError(error: unknown): { readonly file?: string; readonly line?: number } {
  const frame = error instanceof Error ? FRAME.exec(error.stack ?? '') : null;
  if (!frame?.[1]) return {};
  const file = frame[1].startsWith('file:') ? fileURLToPath(frame[1]) : frame[1];
  return sourceOf(file, Number(frame[2]), Number(frame[3])) ?? {};
}

const FRAME = /((?:file:\/\/)?\/[^\n()]*?[\\/]\.cache[\\/]bundles[\\/][^\n():?]+\.mjs)(?:\?[^\n():]*)?:(\d+):(\d+)/;
const MAP = /\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]+)\s*$/;

function sourceOf(bundle: string, line: number, column: number): { readonly file: string; readonly line: number } | null {
  try {
    const encoded = MAP.exec(readFileSync(bundle, 'utf8'))?.[1];
    if (encoded === undefined) return null;
    const map = new SourceMap(JSON.parse(Buffer.from(encoded, 'base64').toString('utf8')) as ConstructorParameters<typeof SourceMap>[0]);
    const entry = map.findEntry(line - 1, column - 1);
    if (!('originalSource' in entry) || !entry.originalSource) return null;
    const source = fileURLToPath(new URL(entry.originalSource, pathToFileURL(bundle)));
    return path.isAbsolute(source) ? { file: source, line: entry.originalLine + 1 } : null;
  } catch {
    return null; // a bundle that has been pruned, or no map: the failure has no place
  }
}
