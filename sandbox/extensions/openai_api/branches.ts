import { kernelCommands } from '@pith/command-line';
import { CommandProvider, type Conversations, type ExtensionContext, type Remote } from 'pith';
import type { KeptResponse } from './kept-responses.ts';

export interface BranchPorts extends Pick<ExtensionContext, 'find'> {
  readonly conversations: Remote<Conversations>;
}

/** The last message of a thread; 0 where it has none. */
export async function lastSeq({ conversations }: BranchPorts, threadId: string): Promise<number> {
  return (await conversations.messages(threadId, { limit: 1 })).at(-1)?.seq ?? 0;
}

/** A thread that goes on behind a response which is not the last of its own; null: there is no message of the user behind it, before which to branch. */
export async function branchBehind(
  { conversations, find }: BranchPorts,
  { threadId, seq }: KeptResponse,
  userId: string,
  signal: AbortSignal,
): Promise<string | null> {
  const before = seq === null ? null : await nextSaid(conversations, threadId, seq);
  if (before === null) return null;
  const input = { arguments: { id: threadId }, options: { before }, userId };
  const { values } = await kernelCommands(find(CommandProvider)).run('threads branch', input, signal);
  return (values[0] as { readonly thread: string }).thread;
}

const PAGE = 50;

async function nextSaid(conversations: Remote<Conversations>, threadId: string, seq: number): Promise<number | null> {
  for (let after = seq; ;) {
    const page = await conversations.messages(threadId, { after, limit: PAGE });
    const said = page.find(({ role, text }) => role === 'user' && text.trim() !== '');
    if (said !== undefined) return said.seq;
    const last = page.at(-1);
    if (last === undefined) return null;
    after = last.seq;
  }
}
