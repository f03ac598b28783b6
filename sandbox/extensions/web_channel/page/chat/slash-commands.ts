import { address, goTo } from '../router.ts';
import { ApiError } from '../server/api.ts';
import { person } from '../server/session.ts';
import type { Conversation } from './conversation.ts';
import { branchThread, compactThread, deleteThread, renameThread, saveThread } from './thread-work.ts';

interface SlashCommand {
  readonly name: string;
  readonly about: string;
}

/** Each rejects with `ApiError`. */
interface PageCommand extends SlashCommand {
  run(): void;
}

interface ConversationCommand extends SlashCommand {
  /** `rest`: what follows its name. */
  run(conversation: Conversation, rest: string): Promise<unknown> | void;
}

const ANYWHERE: readonly PageCommand[] = [
  { name: 'new', about: 'Begin a new conversation', run: () => goTo('/chat') },
  { name: 'setup', about: 'Connect a model', run: openModels },
];

const OF_CONVERSATIONS: readonly ConversationCommand[] = [
  { name: 'compact', about: 'Shorten the conversation', run: ({ id }) => compactThread(id) },
  { name: 'resume', about: 'Finish an answer that was cut off', run: (conversation) => conversation.continue() },
  { name: 'branch', about: 'Go on in a copy of the conversation', run: ({ id }) => branchThread(id) },
  { name: 'rename', about: 'Give the conversation another title', run: ({ id }, rest) => renameThread(id, rest) },
  { name: 'export', about: 'Save the conversation as Markdown', run: ({ id }) => saveThread(id) },
  { name: 'delete', about: 'Delete the conversation', run: ({ id, thread }) => deleteThread(id, thread.value?.title ?? id) },
  { name: 'timeline', about: 'Show what took how long', run: ({ id }) => goTo(address('work/timeline', id)) },
];

/** What a slash at the beginning of a message does, by the names that it has in a terminal. */
export const SLASH_COMMANDS: readonly SlashCommand[] = [...ANYWHERE, ...OF_CONVERSATIONS];

/** Does what a slash command says. False: the text begins with none. Rejects with `ApiError`. */
export async function runSlashCommand(text: string, conversation: Conversation | null): Promise<boolean> {
  const [, name, rest = ''] = /^\/([\w-]+)(?:\s+(.*))?$/su.exec(text) ?? [];
  const anywhere = ANYWHERE.find((each) => each.name === name);
  anywhere?.run();
  if (anywhere !== undefined) return true;
  const command = OF_CONVERSATIONS.find((each) => each.name === name);
  if (command === undefined) return false;
  if (conversation === null) throw wrongUse(`/${command.name} needs a conversation, and none has begun`, 'write a message first');
  await command.run(conversation, rest.trim());
  return true;
}

function openModels(): void {
  if (person.value?.role !== 'admin') throw wrongUse('only an administrator connects models', 'ask an administrator of this server');
  goTo('/system/models');
}

function wrongUse(message: string, text: string): ApiError {
  return new ApiError({ status: 0, code: 'usage', message, cure: { text }, answer: {} });
}
