import { fieldsOf, jsonOf } from '@pith/plain-data';
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
  const value = jsonOf(text);
  const { data, models } = fieldsOf(value);
  const list = [value, data, models].find((one) => Array.isArray(one)) as readonly unknown[] | undefined;
  const isList = list !== undefined && (list.length === 0 || list.some((entry) => nameOf(entry).length > 0));
  return isList ? list : null;
}

function nameOf(entry: unknown): readonly string[] {
  const { id, name, model } = fieldsOf(entry);
  return [entry, id, name, model].filter((each) => typeof each === 'string' && each !== '').slice(0, 1) as string[];
}
