import { PithError, type Command, type CommandInput } from 'pith';
import { printable } from '@pith/plain-text';
import { captureCommand } from '@pith/command-line';
import { readAllowList, unknownTools } from './allow-list.ts';
import type { ChatContext } from './conversation.ts';
import { findCommands, findKernelCommands, fields, text } from './commands.ts';
import { chatInteractively } from './interactive.ts';
import { mentionedFiles } from './file-mentions.ts';
import { openConversation, threadNamed, pickThread } from './opening.ts';
import { chatThroughPipe, type PipedChat } from './piped.ts';
import { type Piped, type Reading, readStandardInput } from './standard-input.ts';
import { processTerminal, type Terminal, type Terminals } from './terminal.ts';

/** `pith chat`: a conversation on a terminal; one message given on the line, with what is piped in attached; what is piped in as one message, or one a line. */
export function chatCommand(context: ChatContext, terminals: Terminals, terminal: () => Terminal = processTerminal): Command {
  const run: NonNullable<Command['runBeforeStart']> = async (given, io, start, signal) => {
    const message = givenMessage(given);
    threadNamed(given); // wrong use is said before anything is drawn
    const recipe = await recipeMessage(() => findCommands(context), given, signal);
    const commands = await findKernelCommands(context);
    const isChat = io.interactive && message === null && recipe === null;
    const { resume, thread, continue: isContinued } = given.options;
    const isPicked = resume === true && thread === undefined && isContinued !== true; // `--resume` alone
    const input = isChat && isPicked ? await withPicked(given, commands, { io, clock: context.clock }, signal) : given;
    if (input === null) return 0;
    const sent = recipe ?? message;
    const isResumed = input.options['resume'] === true;
    const allow = readAllowList(input);
    if (isChat && allow.length > 0)
      throw new PithError('usage', 'wrong use of --allow: a chat on a terminal asks you', {
        cure: 'use it with -p, or answer a question with p',
      });
    const open = async () => {
      const opening = await openConversation(context, commands, { ...input, userId: io.userId }, signal);
      opening.conversation.isPlanning = input.options['plan'] === true;
      return opening;
    };
    const { piped = null, plain: isPlain = false } = io.shell ?? {};
    const plain = isPlain || input.options['plain'] === true;
    if (isChat) return chatInteractively({ context, start, open, resume: isResumed, terminal: terminal(), terminals, io, plain }, signal);
    if (input.options['lines'] === true) await start(); // whoever says line by line stays
    const opening = await open();
    const note = (line: string) => (io.quiet ? undefined : io.error(line));
    [...opening.notes, opening.unfinished, opening.running].forEach((line) => line !== null && note(line));
    (await unknownTools(allow, opening.conversation.agentId, commands, signal)).forEach(note);
    const asLines = sent === null && (input.options['lines'] === true || piped === null);
    const wanted = { piped, clock: context.clock, note, folder: recipe === null ? io.workingDirectory : null };
    const messages: Pick<PipedChat, 'messages' | 'attachments' | 'commands'> =
      sent === null && isResumed
        ? { messages: [] }
        : asLines
          ? { messages: io.input }
          : await pipedMessages(sent, wanted, signal).catch((error: unknown) => {
              if (signal.aborted) return { messages: [] };
              throw error;
            });
    const chat = { context, opening, resume: isResumed, ...messages, terminal: terminal(), io, allow };
    return chatThroughPipe(recipe === null ? chat : { ...chat, commands: false }, signal);
  };
  return {
    path: 'chat',
    description: 'Talk to an agent: in the terminal, or with one message',
    slash: false,
    arguments: [
      {
        name: 'text',
        description:
          'One message: print the answer and exit. With -r: arguments of the recipe as name=value, then its free text. What is piped in goes with it',
        variadic: true,
      },
    ],
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
      { name: 'continue', short: 'c', type: 'boolean', description: 'Go on in the last conversation' },
      {
        name: 'resume',
        type: 'boolean',
        description: 'Choose a conversation from a list; with --thread, or without a terminal, continue what was interrupted',
      },
      { name: 'lines', type: 'boolean', description: 'Take each line that is piped in as one message; slash commands too' },
      { name: 'plain', type: 'boolean', description: 'For screen readers: nothing is drawn twice, no colour' },
      { name: 'model', short: 'm', type: 'string', description: 'A model, provider/model or an alias, instead of the agent’s' },
      { name: 'plan', type: 'boolean', description: 'Plan mode: only reading tools run, until you type /plan go' },
      {
        name: 'allow',
        type: 'string',
        multiple: true,
        description: 'In scripts: allow what a tool would ask about, such as "shell:npm test" or "edit_file:src/"',
      },
      { name: 'yes', type: 'boolean', description: 'In scripts: answer yes to what --allow names, and to nothing else' },
    ],
    run: (given, io, signal) => run(given, io, () => Promise.resolve(null), signal),
    runBeforeStart: run,
  };
}

/** The message on the line; null where there is none. Throws `usage` for an empty one, and for two. */
function givenMessage({ arguments: { text: words }, options }: CommandInput): string | null {
  const prompt = options['prompt'];
  const typed = words === undefined ? undefined : [words].flat().join(' ');
  if (options['recipe'] !== undefined) return null;
  if (typeof prompt === 'string' && typed !== undefined)
    throw new PithError('usage', `wrong use of 'chat': unexpected argument '${typed}'`, { cure: 'write: pith -p "your message"' });
  const message = typeof prompt === 'string' ? prompt : typed;
  if (message === undefined) return null;
  if (message.trim() !== '') return message;
  throw new PithError('usage', `wrong use of ${typeof prompt === 'string' ? '-p' : "'chat'"}: the message is empty`, {
    cure: 'write: pith -p "your message"',
  });
}

/** What was piped in goes with the message as a document, or is the message. `folder`: where files are that it names with `@`; null: none is attached. Throws `usage` for no message. */
async function pipedMessages(
  sent: string | null,
  { piped, clock, note, folder }: Reading & { readonly piped: Piped | null; readonly folder: string | null },
  signal: AbortSignal,
): Promise<Pick<PipedChat, 'messages' | 'attachments' | 'commands'>> {
  const whole = piped === null ? '' : await readStandardInput(piped, { clock, note }, sent === null, signal);
  if (sent !== null) {
    const named = folder === null ? { attachments: [], lines: [] } : await mentionedFiles(sent, folder);
    for (const { text: line } of named.lines) note(printable(line));
    const refused = named.lines.find(({ outcome }) => outcome === 'refused' || outcome === 'secret');
    if (refused !== undefined)
      throw new PithError('usage', `the message is not sent: ${printable(refused.text)}`, {
        cure: 'name another file, or write this name alone, without @ and folders',
      });
    return { messages: [sent], attachments: [...named.attachments, ...(whole === '' ? [] : [{ name: 'stdin', text: whole }])] };
  }
  if (whole !== '') return { messages: [whole.trimEnd()], commands: false };
  throw new PithError('usage', 'there is no message: standard input is empty', { cure: 'write: pith "your message", or see: pith --help' });
}

/** With the conversation that the person chose; null when they chose none. */
async function withPicked(
  { arguments: words, options }: CommandInput,
  commands: readonly Command[],
  place: Parameters<typeof pickThread>[1],
  signal: AbortSignal,
): Promise<CommandInput | null> {
  const thread = await pickThread(commands, place, signal);
  return thread === null ? null : { arguments: words, options: { ...options, thread, resume: false } };
}

/** The message of `-r`; null when no recipe was named. Throws as the recipe does. */
async function recipeMessage(
  commands: () => Promise<readonly Command[]>,
  { arguments: words, options }: CommandInput,
  signal: AbortSignal,
): Promise<string | null> {
  const name = options['recipe'];
  if (typeof name !== 'string') return null;
  const command = (await commands()).find(({ path }) => path === SHOW);
  if (command === undefined)
    throw new PithError('command_unknown', `there are no recipes: no active extension has the command '${SHOW}'`, {
      cure: 'see: pith doctor',
    });
  const values = { arguments: { name, value: [words['text'] ?? []].flat() }, options: { message: true, text: options['prompt'] } };
  const rendered = await captureCommand({ getCommands: () => [command] }, SHOW, values, signal);
  const message = text(fields(rendered.values.at(-1) ?? null)['text']);
  if (message?.trim()) return message;
  throw new PithError('usage', `the recipe '${name}' says nothing`, { cure: 'write a text below its frontmatter' });
}

const SHOW = 'recipes show';
