import { PithError } from '../contract/index.ts';

/** Throws `settings_invalid` where a program without types gives what is not a text. */
export function checkText(text: unknown): void {
  if (typeof text !== 'string') throw invalid(`run: the text is ${kindOf(text)}`, 'give it as a string');
}

/** Throws `settings_invalid` where this cannot be the id of a thread. `what`: the function that was called. */
export function checkThread(what: string, thread: unknown): void {
  if (typeof thread !== 'string') throw invalid(`${what}: the thread is ${kindOf(thread)}`, 'give its id');
  if (thread === '' || /\p{Cc}/u.test(thread))
    throw invalid(`${what}: ${JSON.stringify(thread)} cannot be a thread`, 'use an id without control characters');
}

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
