import { PithError, type Command, type CommandInput, type CommandIO } from 'pith';
import { captureCommand } from '@pith/command-line';
import type { ChatContext } from './conversation.ts';
import { findCommands, findKernelCommands } from './found-commands.ts';
import { chatInteractively } from './interactive.ts';
import { openConversation } from './opening.ts';
import { chatThroughPipe } from './piped.ts';
import { processTerminal, type Terminal } from './terminal.ts';
import type { Terminals } from './terminals.ts';
import { fields, text } from './query.ts';

/** `pith chat`: a conversation on a terminal, one message with -p, one message a line from a pipe. */
export function chatCommand(context: ChatContext, terminals: Terminals, terminal: () => Terminal = processTerminal): Command {
  return {
    path: 'chat',
    description: 'Talk to an agent: in the terminal, with one message (-p), or one message a line (pipe)',
    slash: false,
    unservedWith: ['prompt', 'recipe'],
    arguments: [{ name: 'value', description: 'With -r: arguments of the recipe as name=value, then its free text', variadic: true }],
    options: [
      { name: 'agent', short: 'a', type: 'string', description: 'The agent (default: the default agent)' },
      { name: 'prompt', short: 'p', type: 'string', description: 'Send one message, print the answer, exit' },
      {
        name: 'recipe',
        short: 'r',
        type: 'string',
        description: 'Send what this recipe says, print the answer, exit (see: pith recipes list)',
      },
      { name: 'thread', short: 't', type: 'string', description: 'Go on in this conversation' },
      { name: 'resume', type: 'boolean', description: 'Continue what was interrupted, in the named or the last conversation' },
      { name: 'plain', type: 'boolean', description: 'For screen readers: nothing is drawn twice, no colour' },
      { name: 'model', short: 'm', type: 'string', description: 'provider/model or an alias, instead of the agent’s' },
    ],
    async run(input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
      const prompt = input.options['prompt'];
      if (typeof prompt === 'string' && prompt.trim() === '')
        throw new PithError('usage', 'wrong use of -p: the message is empty', { cure: 'write: pith chat -p "your message"' });
      const recipe = await recipeMessage(() => findCommands(context), input, signal);
      const message = recipe ?? prompt;
      const opening = await openConversation(context, await findKernelCommands(context), input, signal);
      const resume = input.options['resume'] === true;
      if (io.interactive && message === undefined)
        return chatInteractively(
          { context, opening, resume, terminal: terminal(), terminals, io, plain: io.plain === true || input.options['plain'] === true },
          signal,
        );
      if (!io.quiet) for (const note of opening.notes) io.error(note);
      return chatThroughPipe(
        {
          context,
          opening,
          resume,
          messages: typeof message === 'string' ? [message] : resume ? [] : io.input,
          commands: recipe === null,
          terminal: terminal(),
          io,
        },
        signal,
      );
    },
  };
}

/** The message of `-r`; null when no recipe was named. Throws `usage`, or as the recipe does. */
async function recipeMessage(
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
