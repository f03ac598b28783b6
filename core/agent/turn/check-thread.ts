import { answeredHistory } from '../prompt/history.ts';
import { isSealed } from '../threads/sealed-threads.ts';
import type { ThreadQueue } from '../threads/queue.ts';
import { unknownThread, type StoredMessage, type Threads } from '../threads/thread.ts';

/** What is wrong with what is kept of a thread. */
export interface ThreadCheck {
  /** `message`: its number; null: not in a message. */
  readonly faults: readonly { readonly message: number | null; readonly what: string }[];
  readonly repaired: boolean;
  /** What is said in it cannot be read here, so nothing was looked for and nothing is changed. */
  readonly sealed?: true;
  /** Its last turn did not end, and left calls without an answer: no fault, for it can be resumed. */
  readonly unfinished?: true;
}

/**
 * Looks for rows that cannot be read, calls without an answer and answers without a call, as older versions and damaged files leave them, and
 * with `repair` repairs them while it has the thread. Nothing is written where nothing is wrong. Rejects `thread_unknown`.
 */
export async function checkThread(
  { threads, queue }: { readonly threads: Threads; readonly queue: ThreadQueue },
  threadId: string,
  { repair = false }: { readonly repair?: boolean } = {},
  signal?: AbortSignal,
): Promise<ThreadCheck> {
  const { messages: _messages, ...found } = await look(threads, threadId);
  if (!repair || found.faults.length === 0) return { ...found, repaired: false };
  return queue.run(
    threadId,
    async ({ fence }) => {
      const now = await look(threads, threadId);
      await threads.writer(fence).rewrite(threadId, now.messages);
      return { faults: now.faults, repaired: true };
    },
    signal,
  );
}

async function look(
  threads: Threads,
  threadId: string,
): Promise<Omit<ThreadCheck, 'repaired'> & { readonly messages: readonly StoredMessage[] }> {
  const found = await threads.inspect(threadId);
  if (found === null) throw unknownThread(threadId);
  if (found.messages.some(({ message }) => isSealed(message))) return { messages: found.messages, faults: [], sealed: true };
  const { messages, faults } = answeredHistory(found.messages, found.openTurn ?? undefined);
  const all = [...found.unreadable, ...faults].sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
  const unfinished = found.isRunning && answeredHistory(found.messages).faults.length > faults.length;
  return { messages, ...(unfinished ? { unfinished } : {}), faults: all.map(({ seq: message, what }) => ({ message, what })) };
}
