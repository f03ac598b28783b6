import { type CompactionProvider, z } from 'pith';
import { recipeFor } from './recipe.ts';
import type { Recipe, Request } from './results.ts';

export default class Compaction implements CompactionProvider {
  static readonly config = z.strictObject({});

  async compact(request: Request): Promise<Recipe | null> {
    return recipeFor(request);
  }
}
