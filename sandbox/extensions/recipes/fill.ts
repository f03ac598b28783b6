import { PithError } from 'pith';
import { didYouMean } from '@pith/plain-text';
import type { Given } from './given.ts';
import type { Recipe } from './recipe.ts';

/** The message. Throws `usage` that names everything that is missing, or what the recipe does not take. */
export function fill(recipe: Recipe, given: Given): string {
  const { pairs, text } = withFirstWord(recipe, given);
  const values = new Map<string, string>();
  const names = recipe.arguments.map(({ name }) => name);
  const unknown = pairs.map(([name]) => name).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const hint = unknown.length === 1 ? didYouMean(unknown[0] ?? '', names) : '';
    throw wrong(recipe, `it has no argument ${listed(unknown)}${hint}`);
  }
  for (const [name, value] of pairs) {
    if (values.has(name)) throw wrong(recipe, `'${name}' is given more than once`);
    values.set(name, value);
  }
  if (text !== '') {
    const { freeText } = recipe;
    if (freeText === null)
      throw wrong(recipe, `it takes no free text, but was given '${text.length > 60 ? `${text.slice(0, 60)}…` : text}'`);
    if (values.has(freeText)) throw wrong(recipe, `'${freeText}' is given by name and as free text`);
    values.set(freeText, text);
  }
  const missing: string[] = [];
  for (const { name, default: preset } of recipe.arguments) {
    if (values.has(name)) continue;
    if (preset === null) missing.push(name);
    else values.set(name, preset);
  }
  if (missing.length > 0) throw wrong(recipe, `${listed(missing)} ${missing.length === 1 ? 'is' : 'are'} missing`);
  return render(recipe.body, values);
}

/** `/review main.ts` sets the first argument, unless that has a default or takes free text, or anything is given by name. */
function withFirstWord({ arguments: args, freeText }: Recipe, given: Given): Given {
  const [argument] = args;
  if (given.pairs.length > 0 || argument === undefined || argument.default !== null || argument.name === freeText) return given;
  const [, word = '', rest = ''] = /^(\S+)\s*([^]*)$/u.exec(given.text) ?? [];
  return word === '' || (rest !== '' && freeText === null) ? given : { pairs: [[argument.name, word]], text: rest };
}

/** The usage line in a chat: `/review path=… [focus=…] text…`. */
export function usageOf({ name, arguments: args, freeText }: Recipe): string {
  const parts = args.map((argument) => {
    const part = argument.name === freeText ? `<${argument.name}>` : `${argument.name}=…`;
    return argument.default === null ? part : `[${part}]`;
  });
  const free = args.findIndex((argument) => argument.name === freeText);
  const last = free === -1 ? [] : parts.splice(free, 1); // free text follows the pairs
  return [`/${name}`, ...parts, ...last].join(' ');
}

function listed(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(', ');
}

function wrong(recipe: Recipe, why: string): PithError {
  return new PithError('usage', `wrong use of the recipe '${recipe.name}': ${why}`, { cure: `write: ${usageOf(recipe)}` });
}

/** `{{ name }}`, with the backslashes before it. */
const VARIABLE = /(\\{0,2})\{\{[ \t]*([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\}\}/g;

/** The names in the text, each once, with the offset of the first use. */
export function variablesIn(body: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { 1: escape = '', 2: name = '', index } of body.matchAll(VARIABLE)) {
    if (escape !== '\\' && !found.has(name)) found.set(name, index + escape.length);
  }
  return found;
}

/**
 * Inserts the values byte for byte, without reading them again. `\{{name}}` gives `{{name}}`, `\\{{name}}` a backslash and the value;
 * everything else stays as it is.
 */
export function render(body: string, values: ReadonlyMap<string, string>): string {
  return body.replace(VARIABLE, (whole, escape: string, name: string) => {
    if (escape === '\\') return whole.slice(1);
    return (escape === '' ? '' : '\\') + (values.get(name) ?? '');
  });
}
