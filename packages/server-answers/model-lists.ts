import { fieldsOf, jsonOf } from '@pith/plain-data';
import { hideKeys, printableLine } from '@pith/plain-text';
import { ServerError } from './server-error.ts';
import { serverWords } from './server-words.ts';

const LONGEST = 200;

/**
 * The names of a server's models, each once. Reads `{data: [{id}]}`, as OpenAI writes it, a plain list and `{models: [{name}]}`. Rejects
 * `model_auth` with `key.cure` for a refused key, else `model_unreachable`, in one line without keys.
 */
export async function modelNames(
  host: string,
  asked: Promise<Pick<Response, 'status' | 'text'>>,
  key: { readonly isSent: boolean; readonly cure: string },
  signal?: AbortSignal,
): Promise<readonly string[]> {
  try {
    const answer = await asked;
    const [{ status }, text] = [answer, await answer.text()];
    if (status === 401 || status === 403)
      throw unlisted('model_auth', `${host} ${key.isSent ? 'refused the key' : 'wants a key'} (status ${status})`, key.cure);
    if (status < 200 || status > 299) throw new Error([`status ${status}`, serverWords(text) ?? []].flat().join(', '));
    const list = listIn(text);
    if (list === null) throw new Error(`it sent ${serverWords(text) ?? 'nothing'}`);
    return [...new Set(list.flatMap(nameOf))];
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof ServerError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    const what =
      why === 'fetch failed' ? `nothing answers at ${host}` : `${host} did not list its models: ${printableLine(hideKeys(why), LONGEST)}`;
    throw unlisted('model_unreachable', what, 'check the address, and that the server runs', cause);
  }
}

function unlisted(code: string, message: string, cure: string, cause?: unknown): ServerError {
  return new ServerError(message, { code, cure, cause, retryable: false });
}

function listIn(text: string): readonly unknown[] | null {
  const value = jsonOf(text);
  const { data, models } = fieldsOf(value);
  const list = [value, data, models].find((one) => Array.isArray(one)) as readonly unknown[] | undefined;
  const isList = list !== undefined && (list.length === 0 || list.some((entry) => nameOf(entry).length > 0));
  return isList ? list : null;
}

/** What a line cannot show is no name. */
function nameOf(entry: unknown): readonly string[] {
  const { id, name, model } = fieldsOf(entry);
  return [entry, id, name, model]
    .filter((each): each is string => typeof each === 'string' && each !== '')
    .slice(0, 1)
    .filter((each) => printableLine(each, LONGEST) === each);
}
