import { messageOf, PithError } from '../../contract/index.ts';
import type { ThreadLog } from './thread-log.ts';

/** The log of a program, of which nothing is taken on trust: what rejects, or resolves what it must not, is `database_failed`. */
export function checkedLog(log: ThreadLog): ThreadLog {
  return {
    read: (thread, from, limit) =>
      answered(thread, 'read', () => log.read(thread, from, limit), { isRight: isTexts(limit), must: `a list of at most ${limit} texts` }),
    append: (thread, length, entries) =>
      answered(thread, 'append', () => log.append(thread, length, entries), { isRight: isBoolean, must: 'true or false' }),
    list: (limit) => answered('', 'list', () => log.list(limit), { isRight: isTexts(limit), must: `a list of at most ${limit} ids` }),
    remove: (thread) => answered(thread, 'remove', () => log.remove(thread), { isRight: () => true, must: 'nothing' }),
  };
}

interface Answer {
  isRight(given: unknown): boolean;
  readonly must: string;
}

async function answered<T>(threadId: string, what: keyof ThreadLog, ask: () => Promise<T>, { isRight, must }: Answer): Promise<T> {
  let given: T;
  try {
    given = await ask();
  } catch (error) {
    if (error instanceof PithError && error.code === 'aborted') throw error; // it was closed
    throw new PithError('database_failed', `${storeOf(threadId)}: '${what}' failed: ${messageOf(error)}`, {
      cause: error,
      retryable: true,
      cure: 'what was done until then is kept; run it again when the store works',
    });
  }
  if (isRight(given)) return given;
  const kind = Array.isArray(given) ? 'another list' : given === null ? 'null' : typeof given;
  throw wrongLog(threadId, `'${what}' must resolve ${must}, not ${kind}`);
}

/** For a log that does not do what it must: to try again does not help. */
export function wrongLog(threadId: string, what: string): PithError {
  return new PithError('database_failed', `${storeOf(threadId)}: ${what}`, {
    cure: 'correct the store: `threadLogCases` of pith/testing says what it must do',
  });
}

function storeOf(threadId: string): string {
  return threadId === '' ? 'store' : `store of thread '${threadId}'`;
}

function isTexts(limit: number): (given: unknown) => boolean {
  return (given) => Array.isArray(given) && given.length <= limit && given.every((each) => typeof each === 'string');
}

function isBoolean(given: unknown): boolean {
  return typeof given === 'boolean';
}
