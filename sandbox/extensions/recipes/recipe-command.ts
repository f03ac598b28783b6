import { PithError, type Command } from 'pith';
import { fill, usageOf } from './fill.ts';
import { givenLine } from './given.ts';
import { isBroken, whyBroken, type BrokenRecipe, type Recipe } from './recipe.ts';

/** `/name arg=value …`: sends the recipe's message to the conversation. A broken recipe says what is wrong with it. */
export function recipeCommand(recipe: Recipe | BrokenRecipe): Command {
  const broken = isBroken(recipe);
  return {
    path: recipe.name,
    description: broken ? `Recipe that is broken: ${whyBroken(recipe).message}` : `Recipe: ${recipe.description || usageOf(recipe)}`,
    arguments: [{ name: 'values', description: broken ? '' : usageOf(recipe) }],
    rawArgument: true,
    overridable: true,
    async run(input, io) {
      if (broken) throw brokenError(recipe);
      const message = fill(recipe, givenLine(String(input.arguments['values'] ?? '')));
      if (io.session === undefined)
        throw new PithError('usage', `the recipe '${recipe.name}' needs a conversation`, { cure: `write: pith chat -r ${recipe.name}` });
      io.session.send(message);
    },
  };
}

/** `pith: the recipe 'x' file:line: why; cure`. */
export function brokenError(recipe: BrokenRecipe): PithError {
  const { message, file, line, cure } = whyBroken(recipe);
  return new PithError('usage', `the recipe '${recipe.name}' cannot be used: ${message}`, { where: `${file}:${line}`, cure });
}
