import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server';
import type { RecipeBook } from 'pith/recipes';

/** Recipes as the prompts that a person chooses in a client. */
export async function promptsOf(book: RecipeBook): Promise<Prompt[]> {
  return (await book.list()).map(({ name, description, arguments: args }) => ({
    name,
    description,
    arguments: args.map((each) => ({ ...each })),
  }));
}

/** Rejects as `RecipeBook.message` does. */
export async function promptOf(book: RecipeBook, name: string, values: Readonly<Record<string, string>>): Promise<GetPromptResult> {
  const text = await book.message(name, values);
  return { messages: [{ role: 'user', content: { type: 'text', text } }] };
}
