import type { Command } from 'pith';
import { usageOf } from './fill.ts';
import { findingJson, findingText } from './finding-text.ts';
import { foundRecipe } from './found-recipe.ts';
import type { RecipeFolders } from './recipe-folders.ts';

export function showRecipe(folders: RecipeFolders): Command {
  return {
    path: 'recipes show',
    description: 'Show what a recipe takes and its text',
    arguments: [{ name: 'name', description: 'The recipe', required: true }],
    async run(input, io) {
      const recipe = await foundRecipe(folders, String(input.arguments['name']));
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
