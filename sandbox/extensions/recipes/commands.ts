import {
  CommandProvider,
  messageOf,
  PithError,
  type Command,
  type CommandInput,
  type CommandIO,
  type Diagnostic,
  type ExtensionContext,
  type JsonValue,
} from 'pith';
import { didYouMean, withCure } from '@pith/plain-text';
import { fill, usageOf } from './fill.ts';
import type { RecipeFolders } from './recipe-folders.ts';
import { givenWords } from './given.ts';
import { isBroken, type Recipe } from './recipe.ts';
import { brokenError } from './recipe-command.ts';

/** Commands of the terminal's conversation itself. */
export const CONVERSATION_COMMANDS = [
  'agent',
  'branch',
  'clear',
  'edit',
  'effort',
  'exit',
  'expand',
  'help',
  'model',
  'new',
  'plan',
  'quit',
  'resume',
  'thread',
];

export function listRecipes(folders: RecipeFolders, context: Pick<ExtensionContext, 'id' | 'find' | 'logger'>): Command {
  return {
    path: 'recipes list',
    description: 'List recipes, and problems of their files',
    async run(_input, io) {
      const [{ recipes, broken }, taken] = await Promise.all([folders.read(), takenWords(context)]);
      const rows = recipes.map((recipe) => {
        const isHidden = taken.has(recipe.name);
        const findings = isHidden ? [...recipe.findings, hidden(recipe.name, recipe.file)] : recipe.findings;
        return { recipe, state: isHidden ? 'hidden' : 'usable', findings };
      });
      io.json([
        ...rows.map(({ recipe, state, findings }) => ({
          name: recipe.name,
          description: recipe.description,
          source: recipe.source,
          path: recipe.file,
          state,
          usage: usageOf(recipe),
          arguments: recipe.arguments.map((argument) => ({ ...argument })),
          diagnostics: findings.map(findingJson),
        })),
        ...broken.map(({ name, source, file, findings }) => ({
          name,
          description: '',
          source,
          path: file,
          state: 'broken',
          usage: `/${name}`,
          arguments: [],
          diagnostics: findings.map(findingJson),
        })),
      ]);
      if (rows.length === 0) io.print(`No recipes: each file <name>.md in ${folders.sources().at(-1)?.directory} is one`);
      const width = Math.min(48, Math.max(0, ...recipes.map((recipe) => usageOf(recipe).length)));
      for (const { recipe } of rows) {
        const source = recipe.source === 'sandbox/recipes' ? '' : ` (${recipe.source})`;
        io.print(`${usageOf(recipe).padEnd(width)}  ${recipe.description}${source}`);
      }
      for (const finding of [...rows.flatMap(({ findings }) => findings), ...broken.flatMap(({ findings }) => findings)])
        io.error(findingText(finding));
    },
  };
}

function hidden(name: string, file: string): Diagnostic {
  return {
    severity: 'warning',
    code: 'recipe_hidden',
    message: `/${name} is a command already, which comes first; pith chat -r ${name} says the recipe`,
    file,
    line: 1,
    column: 1,
    cure: 'give the file another name',
  };
}

/** First words of all other commands. */
async function takenWords(context: Pick<ExtensionContext, 'id' | 'find' | 'logger'>): Promise<ReadonlySet<string>> {
  const taken = new Set([...CONVERSATION_COMMANDS, 'recipes']);
  const others = context.find(CommandProvider).filter(({ extensionId }) => extensionId !== context.id);
  await Promise.all(
    others.map(async (provider) => {
      try {
        for (const { path, slash } of await provider.getCommands()) if (slash !== false) taken.add(path.split(' ', 1)[0] ?? path);
      } catch (error) {
        context.logger.debug('commands left out', { extension: provider.extensionId, error: messageOf(error) });
      }
    }),
  );
  return taken;
}

/** Shows a recipe; with values, or `--message`, the message that it makes, as `pith chat -r` sends it. */
export function showRecipe(folders: RecipeFolders): Command {
  return {
    path: 'recipes show',
    description: 'Show the arguments and the text of a recipe; with values, the message that it makes',
    arguments: [{ name: 'name', description: 'The recipe', required: true }, VALUES],
    options: [TEXT, { name: 'message', type: 'boolean', description: 'Print the message also when no values are given' }],
    async run(input, io) {
      const recipe = await foundRecipe(folders, String(input.arguments['name']));
      const { text } = input.options;
      if (input.arguments['value'] !== undefined || text !== undefined || input.options['message'] === true)
        return printMessage(recipe, input, io);
      const { name, source, file, description, arguments: args, freeText, body, findings } = recipe;
      io.json({
        name,
        source,
        path: file,
        description,
        usage: usageOf(recipe),
        arguments: args.map((argument) => ({ ...argument, freeText: argument.name === freeText })),
        body,
        diagnostics: findings.map(findingJson),
      });
      io.print(`${name}: ${description}`);
      io.print(`${source}: ${file}`);
      io.print(`in a chat: ${usageOf(recipe)}`);
      for (const argument of args) {
        const free = argument.name === freeText ? ' (also as free text at the end)' : '';
        const preset = argument.default === null ? '' : ` (default: ${JSON.stringify(argument.default)})`;
        io.print(`  ${argument.name}${argument.description === '' ? '' : `: ${argument.description}`}${preset}${free}`);
      }
      for (const finding of findings) io.print(findingText(finding));
      io.print('');
      io.print(body);
    },
  };
}

const VALUES = { name: 'value', description: 'name=value, then free text', variadic: true } as const;
const TEXT = { name: 'text', type: 'string', description: 'The free text' } as const;

function printMessage(recipe: Recipe, input: CommandInput, io: CommandIO): void {
  const text = fill(recipe, givenWords([input.arguments['value'] ?? []].flat(), String(input.options['text'] ?? '')));
  io.json({ name: recipe.name, text });
  io.print(text);
}

/** Throws `usage` with the nearest names, or with why that recipe is broken. */
export async function foundRecipe(folders: RecipeFolders, name: string): Promise<Recipe> {
  const found = await folders.find(name);
  if (found === undefined) {
    const names = (await folders.read()).recipes.map((recipe) => recipe.name);
    throw new PithError('usage', `no recipe '${name}'${didYouMean(name, names)}`, { cure: 'see: pith recipes list' });
  }
  if (isBroken(found)) throw brokenError(found);
  return found;
}

/** `file:line:column: severity: message; cure`. */
function findingText({ severity, message, file, line, column, cure }: Diagnostic): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return withCure(`${place}: ${severity}: ${message}`, cure);
}

function findingJson({ severity, code, message, file, line, column, cure }: Diagnostic): JsonValue {
  return { severity, code, message, file: file ?? null, line: line ?? null, column: column ?? null, cure: cure ?? null };
}
