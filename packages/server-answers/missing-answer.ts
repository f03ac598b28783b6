import { printableLine } from '@pith/plain-text';
import { ServerError } from './server-error.ts';
import { isWebPage, serverWords } from './server-words.ts';

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
