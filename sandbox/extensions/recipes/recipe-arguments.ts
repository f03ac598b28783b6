import { didYouMean } from '@pith/plain-text';
import type { HeadEntry, HeadValue } from './head.ts';
import type { RecipeArgument } from './recipe.ts';
import { variablesIn } from './fill.ts';

/** Adds a finding. */
export type Say = (code: string, message: string, cure: string, at: { readonly line: number; readonly column?: number }) => void;
export type Note = Readonly<Record<'error' | 'warning', Say>>;

const NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const KEYS = ['description', 'default', 'rest'];
const FORM = 'write `arguments:` as a map of names, each with a `description:` and perhaps a `default:`';

/** The declared arguments in order, then those that only the text names; and the one that takes free text. */
export function readArguments(
  declared: HeadValue | undefined,
  { body, bodyLine }: { readonly body: string; readonly bodyLine: number },
  note: Note,
): { readonly found: readonly RecipeArgument[]; readonly freeText: string | null } {
  const found = new Map<string, RecipeArgument>();
  const rest: string[] = [];
  for (const { key, line, column, value } of entriesOf(declared, note)) {
    if (!NAME.test(key)) {
      note.error('recipe_argument', `it has an argument '${key}'`, 'name it with letters, digits, _ and -, a letter first', {
        line,
        column,
      });
      continue;
    }
    const argument = readArgument(key, value, note);
    if (found.has(key))
      note.warning('recipe_argument', `it has the argument '${key}' twice; the last one is used`, 'remove one', { line, column });
    found.set(key, argument);
    if (value.entries?.some((entry) => entry.key === 'rest' && entry.value.text === 'true')) rest.push(key);
  }
  const used = variablesIn(body);
  const names = [...found.keys()];
  for (const [name, offset] of used) {
    if (found.has(name)) continue;
    found.set(name, { name, description: '', default: null });
    const before = body.slice(0, offset).split('\n');
    if (names.length > 0)
      note.warning(
        'recipe_undeclared',
        `{{${name}}} is not among its arguments${didYouMean(name, names)}`,
        `add '${name}' to the arguments, or write \\{{${name}}} for the braces themselves`,
        { line: bodyLine + before.length - 1, column: (before.at(-1) ?? '').length + 1 },
      );
  }
  for (const name of names) {
    if (!used.has(name))
      note.warning('recipe_unused', `its argument '${name}' is nowhere in the text`, `write {{${name}}} where it belongs`, { line: 1 });
  }
  if (rest.length > 1)
    note.error('recipe_argument', `${rest.join(' and ')} both have \`rest: true\``, 'leave it to one', { line: declared?.line ?? 1 });
  const all = [...found.values()];
  return { found: all, freeText: rest[0] ?? (found.has('text') ? 'text' : all.length === 1 ? (all[0]?.name ?? null) : null) };
}

/** A map of names, or a list of names and of maps with a `name`. */
function entriesOf(declared: HeadValue | undefined, note: Note): readonly HeadEntry[] {
  if (declared === undefined || (declared.text ?? '') + (declared.entries ?? '') + (declared.items ?? '') === '') return [];
  if (declared.entries !== null) return declared.entries;
  if (declared.items === null) {
    note.error('recipe_argument', 'its arguments are neither a map nor a list', FORM, declared);
    return [];
  }
  return declared.items.flatMap((item) => {
    const key = item.text ?? item.entries?.find((entry) => entry.key === 'name')?.value.text ?? null;
    const { line, column } = item;
    if (key === null) {
      note.error('recipe_argument', 'it has an argument without a name', FORM, { line, column });
      return [];
    }
    const entries = item.entries?.filter((entry) => entry.key !== 'name') ?? null;
    return [{ key, line, column, value: { ...item, text: null, entries } }];
  });
}

function readArgument(name: string, value: HeadValue, note: Note): RecipeArgument {
  if (value.text !== null || value.items !== null)
    note.error('recipe_argument', `its argument '${name}' has a value`, `write \`description:\` or \`default:\` below '${name}:'`, value);
  const of = (key: string) => value.entries?.findLast((entry) => entry.key === key)?.value;
  for (const { key, line, column } of value.entries ?? []) {
    if (!KEYS.includes(key))
      note.warning('recipe_key', `its argument '${name}' has '${key}'${didYouMean(key, KEYS)}`, `keep ${KEYS.join(', ')}`, {
        line,
        column,
      });
  }
  const preset = of('default');
  if (preset !== undefined && (preset.entries !== null || preset.items !== null))
    note.error(
      'recipe_argument',
      `the default of '${name}' is not text`,
      'write one text, in quotes where it begins with a bracket',
      preset,
    );
  return { name, description: of('description')?.text ?? '', default: preset?.text ?? null };
}
