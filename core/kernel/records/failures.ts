import { type Clock, type Events, type Logger, messageOf, type TopicMap } from '../../contract/index.ts';
import type { Problem } from './problem.ts';

export type Failure = TopicMap['extension.failed'];

/** What went wrong, by extension: the last few of each, newest last. */
export interface Failures {
  /** Keeps it, publishes `extension.failed` and logs it, with the id of the message that it was called for. Secrets are taken out first. */
  record(extensionId: string, problem: Problem, correlationId?: string): Failure;
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
    record(extensionId, problem, correlationId) {
      const failure = failures.describe(extensionId, problem);
      failures.keep(failure, correlationId);
      return failure;
    },
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
