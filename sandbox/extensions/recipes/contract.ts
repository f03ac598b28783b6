import { defineProtocol, method } from 'pith';

/** A recipe as a person is offered it. */
export interface OfferedRecipe {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
}

/** Recipes for other extensions: those of the person, of the sandbox and of Pith. */
export interface RecipeBook {
  /** Sorted by name; broken ones are left out. */
  list(): Promise<readonly OfferedRecipe[]>;
  /** The message that a recipe makes of these values. Rejects `usage` for an unknown recipe, and for missing and unknown values. */
  message(name: string, values: Readonly<Record<string, string>>): Promise<string>;
}

export const RecipeBook = defineProtocol<RecipeBook>('recipes.book', { list: method(), message: method() }, { inProcessOnly: true });
