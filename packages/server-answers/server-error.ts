import { jsonOf } from '@pith/plain-data';
import { codeIn, serverWords, isWebPage } from './server-words.ts';
import { printableLine } from '@pith/plain-text';

/** That a server failed, in its own words, with the fields that errors of the AI SDK have. */
export class ServerError extends Error {
  constructor(message: string, { cause, ...known }: { readonly cause?: unknown; readonly [field: string]: unknown } = {}) {
    super(message, { cause });
    Object.assign(this, known);
  }
}

/** What a server sent in the place of an answer, or within it, to say that it failed. */
export function failureIn(said: unknown): ServerError {
  const parsed = typeof said === 'string' ? jsonOf(said) : said;
  const data = parsed === undefined ? said : parsed;
  const words = serverWords(data) ?? 'the server reports an error and does not say which';
  return new ServerError(words, { data, statusCode: codeIn(data) ?? undefined });
}

const MOST_WORDS = 200;

/** Why there is no answer, or no whole one. `sent`: what came that is none of it. It may come if it is asked for again, unless something else came. */
export function missingAnswer(hasBegun: boolean, sent: string): ServerError {
  const words = printableLine(serverWords(sent) ?? sent.trim(), MOST_WORDS);
  if (hasBegun || words === '') {
    const what = hasBegun ? 'the answer ended in the middle' : 'the server sent nothing';
    return new ServerError(`${what}${words === '' ? '' : `; it sent: ${words}`}`, { isRetryable: true });
  }
  if (!isWebPage(sent)) return new ServerError(`the server sent no answer, but this: ${words}`);
  return new ServerError(`the server sent no answer, but ${words}; check the address, and whether a log-in or a proxy is in the way`);
}
