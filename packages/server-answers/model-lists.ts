import { serverWords } from './server-words.ts';

/**
 * The names in a list of models: `{data: [{id}]}`, as OpenAI writes it, a list alone, `{models: [{name}]}`. Where it is none, the words
 * of the server.
 */
export function modelNames(text: string): readonly string[] | { readonly words: string } {
  const list = listIn(text);
  if (list !== null) return [...new Set(list.flatMap(nameOf))];
  return { words: serverWords(text) ?? 'nothing' };
}

function listIn(text: string): readonly unknown[] | null {
  try {
    const value = JSON.parse(text) as { readonly data?: unknown; readonly models?: unknown } | null;
    const list = [value, value?.data, value?.models].find((one) => Array.isArray(one)) as readonly unknown[] | undefined;
    const isList = list !== undefined && (list.length === 0 || list.some((entry) => nameOf(entry).length > 0));
    return isList ? list : null;
  } catch {
    return null; // a web page, or words
  }
}

function nameOf(entry: unknown): readonly string[] {
  if (typeof entry !== 'object' || entry === null) return typeof entry === 'string' && entry !== '' ? [entry] : [];
  const { id, name, model } = entry as { readonly id?: unknown; readonly name?: unknown; readonly model?: unknown };
  return [id, name, model].filter((each) => typeof each === 'string' && each !== '').slice(0, 1) as string[];
}
