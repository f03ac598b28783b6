import { PithError, type Command, type CommandIO } from 'pith';
import { printableLine } from '@pith/plain-text';
import { fields, list, pick, query, text } from './commands.ts';
import type { Conversation } from './conversation.ts';

const MOST_LISTED = 9;
const MOST_READ = '10000';
const FILES_STAY = 'What tools changed in files stays changed';

interface BranchScope {
  readonly conversation: Conversation;
  readonly found: readonly Command[];
  /** Puts a message into the editor; null: there is none. */
  readonly edit: ((text: string) => void) | null;
}

/** Going on from an earlier place: in a conversation that begins like this one, which stays as it is. */
export function branchCommands({ conversation, found, edit }: BranchScope): readonly Command[] {
  return [
    {
      path: 'branch',
      description: 'Go on in a new conversation that begins like this one, which stays as it is',
      arguments: [{ name: 'title', description: 'Its title', variadic: true }],
      async run(input, io, signal) {
        requireBegun(conversation);
        io.print(await branch(conversation, found, [input.arguments['title'] ?? []].flat(), signal));
        io.json({ thread: conversation.threadId });
      },
    },
    {
      path: 'edit',
      description: 'Change a message that you sent: a new conversation goes on from there (also Esc Esc)',
      arguments: [{ name: 'number', description: 'Which one; without it you choose from a list' }],
      async run(input, io, signal) {
        requireBegun(conversation);
        if (edit === null)
          throw new PithError('usage', 'edit needs a terminal', {
            cure: `write: pith threads branch ${conversation.threadId} --at NUMBER`,
          });
        const said = await saidIn(conversation.threadId, found, signal);
        const wanted = input.arguments['number'] ?? (await chosen(said, io));
        if (wanted === null) return;
        const message = said.find(({ number }) => number === Number(wanted));
        if (message === undefined)
          throw new PithError('usage', `there is no message '${String(wanted)}' of yours`, { cure: 'write /edit to see them' });
        conversation.editing = message.number;
        io.print(
          `Send message ${message.number} as you want it, and a new conversation goes on from there; Ctrl-C gives up. ${FILES_STAY}: /undo first takes it back.`,
        );
        edit(message.text);
      },
    },
  ];
}

/** Moves the conversation to a branch of it that ends before the message that is edited, else to one with all of it. Returns a line for the person. */
export async function branch(
  conversation: Conversation,
  commands: readonly Command[],
  title: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { threadId: from, editing } = conversation;
  const at = editing === null ? [] : ['--at', String(editing)];
  const made = fields(await query(commands, ['threads', 'branch', from, ...at, ...title], signal));
  conversation.moveTo(text(made['thread']) ?? from);
  return `Conversation ${conversation.threadId} goes on ${editing === null ? 'like' : `from message ${editing} of`} ${from}, which stays: /thread ${from}. ${FILES_STAY}.`;
}

/** Throws `usage` in a conversation without a message. */
export function requireBegun({ begun }: Conversation): void {
  if (!begun) throw new PithError('usage', 'nothing was said here yet', { cure: 'send a message first' });
}

interface Said {
  readonly number: number;
  readonly text: string;
}

/** What the person said, oldest first. */
async function saidIn(threadId: string, commands: readonly Command[], signal: AbortSignal): Promise<readonly Said[]> {
  const thread = fields(await query(commands, ['threads', 'show', threadId, '--last', MOST_READ], signal));
  return list(thread['messages'])
    .map(fields)
    .flatMap(({ number, text: said }) => (typeof number === 'number' && typeof said === 'string' ? [{ number, text: said }] : []));
}

/** null: the person chooses none. */
async function chosen(said: readonly Said[], io: CommandIO): Promise<string | null> {
  for (const { number, text: whole } of said.slice(-MOST_LISTED))
    io.print(`${String(number).padStart(3)}  ${printableLine(whole.replaceAll(/\s+/gu, ' '), Math.max(20, io.columns - 8))}`);
  return pick(io, 'Change which message? Its number, or Enter for none:', async (typed) => {
    if (said.some(({ number }) => number === Number(typed))) return typed;
    io.print(`There is no message '${printableLine(typed, 80)}' of yours.`);
    return null;
  });
}
