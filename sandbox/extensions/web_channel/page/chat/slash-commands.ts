import { address, goTo } from '../router.ts';
import { ApiError } from '../server/api.ts';
import type { Conversation } from './conversation.ts';
import { branchThread, compactThread, deleteThread, renameThread, saveThread } from './thread-work.ts';

interface SlashCommand {
  readonly name: string;
  readonly about: string;
  /** `rest`: what follows its name. Rejects with `ApiError`. */
  run(conversation: Conversation, rest: string): Promise<unknown> | void;
}

/** What a slash at the beginning of a message does, by the names that it has in a terminal. */
export const SLASH_COMMANDS: readonly SlashCommand[] = [
  { name: 'new', about: 'Begin a new conversation', run: () => goTo('/chat') },
  { name: 'compact', about: 'Shorten the conversation', run: ({ id }) => compactThread(id) },
  { name: 'resume', about: 'Finish an answer that was cut off', run: (conversation) => conversation.continue() },
  { name: 'branch', about: 'Go on in a copy of the conversation', run: ({ id }) => branchThread(id) },
  { name: 'rename', about: 'Give the conversation another title', run: ({ id }, rest) => renameThread(id, rest) },
  { name: 'export', about: 'Save the conversation as Markdown', run: ({ id }) => saveThread(id) },
  { name: 'delete', about: 'Delete the conversation', run: ({ id, thread }) => deleteThread(id, thread.value?.title ?? id) },
  { name: 'timeline', about: 'Show what took how long', run: ({ id }) => goTo(address('work/timeline', id)) },
];

/** Does what a slash command says. False: the text begins with none. Rejects with `ApiError`. */
export async function runSlashCommand(text: string, conversation: Conversation | null): Promise<boolean> {
  const [, name, rest = ''] = /^\/([\w-]+)(?:\s+(.*))?$/su.exec(text) ?? [];
  const command = SLASH_COMMANDS.find((each) => each.name === name);
  if (command === undefined) return false;
  if (conversation !== null) await command.run(conversation, rest.trim());
  else if (command.name !== 'new') {
    const message = `/${command.name} needs a conversation, and none has begun`;
    throw new ApiError({ status: 0, code: 'usage', message, cure: { text: 'write a message first' }, answer: {} });
  }
  return true;
}
