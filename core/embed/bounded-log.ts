import type { ThreadLog } from '../agent/index.ts';
import { PithError } from '../contract/index.ts';
import { keepAliveClock, untilAborted, within } from '@pith/promises';

/** So long may a store take for one request. */
const ANSWER_MS = 30_000;

/** The log of a program, which may hang: each request ends after a while, and when `ended` aborts. */
export function boundedLog(log: ThreadLog, ended: AbortSignal): ThreadLog {
  const answer = <T>(ask: () => Promise<T>): Promise<T> => {
    const late = (): never => {
      throw new PithError('database_failed', `it did not answer within ${ANSWER_MS / 1000} s`);
    };
    // A signal of its own, so that no listeners pile up at one.
    return untilAborted(within(keepAliveClock, ANSWER_MS, Promise.resolve().then(ask), late), AbortSignal.any([ended]));
  };
  return {
    read: (...given) => answer(() => log.read(...given)),
    append: (...given) => answer(() => log.append(...given)),
    list: (limit) => answer(() => log.list(limit)),
    remove: (thread) => answer(() => log.remove(thread)),
  };
}
