import { CommandProvider, messageOf, type Command, type Diagnostic, type ExtensionContext } from 'pith';
import { usageOf } from './fill.ts';
import { findingJson, findingText } from './finding-text.ts';
import type { RecipeFolders } from './recipe-folders.ts';

/** What the terminal's conversation takes for itself. */
export const CONVERSATION_COMMANDS = ['agent', 'help', 'model', 'new', 'quit', 'thread'];

export function listRecipes(folders: RecipeFolders, context: Pick<ExtensionContext, 'id' | 'find' | 'logger'>): Command {
  return {
    path: 'recipes list',
    description: 'List recipes, and what is wrong with their files',
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

/** First words of the commands of everybody else. */
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
