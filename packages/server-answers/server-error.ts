import { jsonOf } from '@pith/plain-data';
import { codeIn, serverWords } from './server-words.ts';

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
