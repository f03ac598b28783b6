import type { CompactionProvider } from 'pith';
import { recipeFor, type Recipe, type Request } from './recipe.ts';

export default class Compaction implements CompactionProvider {
  async compact(request: Request): Promise<Recipe | null> {
    return recipeFor(request);
  }
}
