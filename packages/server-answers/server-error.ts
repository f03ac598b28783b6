import { jsonOf } from '@pith/plain-data';
import { codeIn, serverWords, isWebPage } from './server-words.ts';
import { printableLine } from '@pith/plain-text';

/** A server's failure in its own words, with the fields of the AI SDK's errors. */
export class ServerError extends Error {
  constructor(message: string, { cause, ...known }: { readonly cause?: unknown; readonly [field: string]: unknown } = {}) {
    super(message, { cause });
    Object.assign(this, known);
  }
}

/** The error in what a server sent instead of an answer, or within one. */
export function failureIn(said: unknown): ServerError {
  const parsed = typeof said === 'string' ? jsonOf(said) : said;
  const data = parsed === undefined ? said : parsed;
  const words = serverWords(data) ?? 'the server reports an error without a reason';
  return new ServerError(words, { data, statusCode: codeIn(data) ?? undefined });
}

const MOST_WORDS = 200;

/** Why an answer is missing or incomplete. `sent`: what arrived instead. A retry may help, unless something arrived. */
export function missingAnswer(hasBegun: boolean, sent: string): ServerError {
  const words = printableLine(serverWords(sent) ?? sent.trim(), MOST_WORDS);
  if (hasBegun || words === '') {
    const what = hasBegun ? 'the answer ended in the middle' : 'the server sent nothing';
    return new ServerError(`${what}${words === '' ? '' : `; it sent: ${words}`}`, { isRetryable: true });
  }
  if (!isWebPage(sent)) return new ServerError(`the server sent no answer, but this: ${words}`);
  return new ServerError(`the server sent no answer, but ${words}; check the address, and whether a log-in or a proxy is in the way`);
}
