import { PithError } from '../contract/index.ts';

/** Throws `settings_invalid` where a program without types gives what is not a text. */
export function checkText(text: unknown): void {
  if (typeof text !== 'string') throw invalid(`run: the text is ${kindOf(text)}`, 'give it as a string');
}

/** Throws `settings_invalid` where this cannot be the id of a thread. `what`: the function that was called. */
export function checkThread(what: string, thread: unknown): void {
  if (typeof thread !== 'string') throw invalid(`${what}: the thread is ${kindOf(thread)}`, 'give its id');
  if (isId(thread)) return;
  throw invalid(`${what}: ${JSON.stringify(thread.slice(0, 100))} cannot be a thread`, `use ${AN_ID}`);
}

/** Whether a text may name a thread, a user or an agent. Half a character would be kept as another one, so that two ids would be one. */
export function isId(given: string): boolean {
  return given !== '' && given.length <= LONGEST_ID && !/[\p{Cc}\p{Cs}]/u.test(given);
}

const LONGEST_ID = 1000;

/** What `isId` takes. */
export const AN_ID = `an id of at most ${LONGEST_ID} characters, without control characters and lone surrogates`;

/** Throws `settings_invalid` where a list cannot have so many entries. */
export function checkLimit(limit: unknown): void {
  if (!Number.isSafeInteger(limit) || (limit as number) < 1)
    throw invalid(`threads.list: the limit is ${typeof limit === 'number' ? limit : kindOf(limit)}`, 'give a whole number of at least 1');
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return 'a list';
  return `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`;
}

function invalid(message: string, cure: string): PithError {
  return new PithError('settings_invalid', message, { cure });
}
