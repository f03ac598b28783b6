import { didYouMean, PithError } from 'pith';
import type { RecipeFolders } from './recipe-folders.ts';
import { isBroken, type Recipe } from './recipe.ts';
import { brokenError } from './recipe-command.ts';

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
