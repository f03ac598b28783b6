import { PithError } from '../contract/index.ts';
import { prepare } from './begin.ts';
import { compactThread } from './compact-turn.ts';
import { LOCAL_USER, UNKNOWN_CHANNEL } from './open-turn.ts';
import { countTokens, textOf } from './tokens.ts';
import type { TurnDependencies } from './turn-types.ts';

/** Compacts a thread on request. Rejects `thread_unknown`; equal numbers mean that nothing could be gained. */
export async function compactByHand(
  deps: TurnDependencies,
  threadId: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ readonly tokensBefore: number; readonly tokensAfter: number }> {
  return deps.queue.run(
    threadId,
    async () => {
      const loaded = deps.threads.load(threadId);
      if (loaded === null) throw new PithError('thread_unknown', `there is no thread '${threadId}'`, { cure: "see 'pith chat' and /threads" });
      const { thread, messages } = loaded;
      const { spec, notes } = await deps.registry.resolve(thread.agentId);
      const prepared = await prepare(
        deps,
        {
          turnId: 'compact', threadId, spec, notes, policy: {}, channelId: UNKNOWN_CHANNEL, userId: LOCAL_USER, date: thread.date,
          text: null, history: messages, compactions: thread.compactions, correlationId: 'compact', depth: 0,
        },
        signal,
      );
      const done = await compactThread(deps, prepared, threadId, true, signal);
      if (done) return { tokensBefore: done.tokensBefore, tokensAfter: done.tokensAfter };
      signal.throwIfAborted();
      const tokens = (await countTokens(messages.map(({ message }) => textOf(message)))).reduce((total, count) => total + count, 0);
      return { tokensBefore: tokens, tokensAfter: tokens };
    },
    signal,
  );
}
