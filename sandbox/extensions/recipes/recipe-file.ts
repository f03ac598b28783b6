import type { Diagnostic } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { type Note, readArguments, type Say } from './recipe-arguments.ts';
import { readHead, type HeadValue } from './head.ts';
import type { BrokenRecipe, Recipe } from './recipe.ts';

export interface RecipeSource {
  readonly name: string;
  readonly source: string;
  readonly file: string;
}

type Place = Pick<HeadValue, 'line' | 'column'>;

export const RECIPE_LIMIT = 256 * 1024;
const HEAD_LIMIT = 16 * 1024;
const NAME = /^[a-z][a-z0-9_-]{0,63}$/;
const KEYS = ['description', 'arguments'];

/** Parses one recipe of any content. Never rejects. */
export async function readRecipe(from: RecipeSource, bytes: Uint8Array): Promise<Recipe | BrokenRecipe> {
  const { name, file } = from;
  const broken = (code: string, message: string, cure: string, { line, column }: Place = { line: 1, column: 1 }): BrokenRecipe => {
    const finding: Diagnostic = { severity: 'error', code, message, file, line, column, cure };
    return { ...from, findings: [finding], shown: true };
  };
  if (!NAME.test(name))
    return broken(
      'recipe_name',
      `'${name}' cannot be typed after a slash`,
      'name the file with small letters, digits and hyphens, a letter first',
    );
  if (bytes.length > RECIPE_LIMIT) return broken('recipe_large', `it has more than ${RECIPE_LIMIT} bytes`, 'make it shorter');
  const text = decode(bytes);
  if (text === null) return broken('recipe_encoding', 'it is not UTF-8', 'save it as UTF-8');
  const split = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)(?<=\n)---[ \t]*(?:\r?\n|$)/.exec(text);
  if (split === null)
    return broken('recipe_head', 'it has no frontmatter', 'begin it with a line `---`, then `description: …`, then a line `---`');
  const head = (split[1] ?? '').replaceAll('\r\n', '\n');
  if (head.length > HEAD_LIMIT) return broken('recipe_head', 'its frontmatter has more than 16 KiB', 'move text below it');
  const read = head.trim() === '' ? EMPTY : readHead(head, 2);
  if ('problem' in read) return broken('recipe_head', `its frontmatter is not YAML: ${read.problem}`, 'correct that line', read);

  const findings: Diagnostic[] = [];
  const saying =
    (severity: Diagnostic['severity']): Say =>
    (code, message, cure, { line, column = 1 }) =>
      void findings.push({ severity, code, message, file, line, column, cure });
  const note: Note = { error: saying('error'), warning: saying('warning') };
  const entries = read.entries ?? [];
  for (const { key, line, column } of entries) {
    if (KEYS.includes(key)) continue;
    const hint = didYouMean(
      key,
      KEYS.filter((known) => Math.abs(known.length - key.length) <= 2), // keys of other systems are not typing errors
    );
    const [code, cure] = hint === '' ? ['recipe_key', 'keep description and arguments'] : ['field_misspelt', 'correct the name'];
    note.warning(code, `it has a field '${key}', which means nothing here${hint}`, cure, { line, column });
  }
  const last = (key: string): HeadValue | undefined => entries.findLast((entry) => entry.key === key)?.value;
  const description = last('description')?.text?.trim().replaceAll(/\s+/g, ' ') ?? '';
  if (description === '')
    note.warning('recipe_description', 'it has no description', 'add `description:` that says what it is for', { line: 1 });
  const body = text.slice(split[0].length);
  const bodyLine = split[0].split('\n').length;
  const { found, freeText } = readArguments(last('arguments'), { body, bodyLine }, note);
  if (findings.some(({ severity }) => severity === 'error')) return { ...from, findings, shown: true };
  return { ...from, description, arguments: found, freeText, body, findings };
}

const EMPTY: HeadValue = { text: null, entries: [], items: null, line: 1, column: 1 };

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null; // the decoder throws for invalid bytes
  }
}
