import { Places, type Command, type CommandProvider, type Diagnostic, type ExtensionContext } from 'pith';
import { foundRecipe, listRecipes, showRecipe } from './commands.ts';
import { RecipeBook } from './contract.ts';
import { fill } from './fill.ts';
import { recipeCommand } from './recipe-command.ts';
import { RecipeFolders } from './recipe-folders.ts';

/** Offers shipped recipes, the person's and the sandbox's as chat commands. */
export default class Recipes implements CommandProvider {
  readonly #folders: RecipeFolders;

  constructor(private readonly context: ExtensionContext) {
    const folders = new RecipeFolders(context.use(Places), context.logger);
    this.#folders = folders;
    context.provide(RecipeBook, {
      list: async () =>
        (await folders.read()).recipes.map(({ name, description, arguments: args }) => ({
          name,
          description,
          arguments: args.map((each) => ({ name: each.name, description: each.description, required: each.default === null })),
        })),
      message: async (name, values) => fill(await foundRecipe(folders, name), { pairs: Object.entries(values), text: '' }),
    });
  }

  async getCommands(): Promise<readonly Command[]> {
    const folders = this.#folders;
    const { recipes, broken } = await folders.read();
    return [
      listRecipes(folders, this.context),
      showRecipe(folders),
      ...recipes.map((recipe) => recipeCommand(recipe)),
      ...broken.filter(({ shown }) => shown).map((one) => recipeCommand(one)),
    ];
  }

  async findings(): Promise<readonly Diagnostic[]> {
    const { recipes, broken } = await this.#folders.read();
    return [...recipes, ...broken.filter(({ shown }) => shown)].flatMap(({ name, findings }) =>
      findings.map((finding) => ({ ...finding, message: `recipe '${name}': ${finding.message}` })),
    );
  }
}
