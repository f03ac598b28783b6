import { captureCommand, PithError, type Command, type CommandInput } from 'pith';
import { fields, text } from './query.ts';

/** The message of `-r`; null when no recipe was named. Throws `usage`, or as the recipe does. */
export async function recipeMessage(
  commands: () => Promise<readonly Command[]>,
  input: CommandInput,
  signal: AbortSignal,
): Promise<string | null> {
  const name = input.options['recipe'];
  const values = [input.arguments['value'] ?? []].flat();
  if (typeof name !== 'string') {
    if (values.length === 0) return null;
    throw new PithError('usage', `wrong use of 'chat': unexpected argument '${values[0]}'`, { cure: 'write: pith chat -p "your message"' });
  }
  const command = (await commands()).find(({ path }) => path === RENDER);
  if (command === undefined)
    throw new PithError('command_unknown', `there are no recipes: no active extension has the command '${RENDER}'`, {
      cure: 'see: pith doctor',
    });
  const options = typeof input.options['prompt'] === 'string' ? { text: input.options['prompt'] } : {};
  const rendered = await captureCommand({ getCommands: () => [command] }, RENDER, { arguments: { name, value: values }, options }, signal);
  const message = text(fields(rendered.values.at(-1) ?? null)['text']);
  if (message?.trim()) return message;
  throw new PithError('usage', `the recipe '${name}' says nothing`, { cure: 'write a text below its frontmatter' });
}

const RENDER = 'recipes render';
