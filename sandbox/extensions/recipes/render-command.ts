import type { Command } from 'pith';
import { fill } from './fill.ts';
import { foundRecipe } from './found-recipe.ts';
import { givenWords } from './given.ts';
import type { RecipeFolders } from './recipe-folders.ts';

/** What `pith chat -r` says. */
export function renderRecipe(folders: RecipeFolders): Command {
  return {
    path: 'recipes render',
    description: 'Print the message that a recipe makes, without saying it',
    arguments: [
      { name: 'name', description: 'The recipe', required: true },
      { name: 'value', description: 'name=value, then free text', variadic: true },
    ],
    options: [{ name: 'text', type: 'string', description: 'The free text' }],
    async run(input, io) {
      const recipe = await foundRecipe(folders, String(input.arguments['name']));
      const text = fill(recipe, givenWords([input.arguments['value'] ?? []].flat(), String(input.options['text'] ?? '')));
      io.json({ name: recipe.name, text });
      io.print(text);
    },
  };
}
