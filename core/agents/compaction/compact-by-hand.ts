import { PithError } from '../../contract/errors.ts';
import { planTurn } from '../turn/plan.ts';
import { sentHistory } from '../turn/history.ts';
import { compactThread } from './compact-turn.ts';
import { LOCAL_USER, UNKNOWN_CHANNEL } from '../turn/open-turn.ts';
import { countTokens, textOf } from './tokens.ts';
import type { TurnDependencies } from '../turn/turn-types.ts';

/** Shortens a thread now, whatever its size, by its agent's model. Equal figures mean that there was nothing to shorten. Rejects `thread_unknown`. */
export async function compactByHand(
  deps: TurnDependencies,
  threadId: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ readonly tokensBefore: number; readonly tokensAfter: number }> {
  const loaded = deps.threads.load(threadId);
  if (loaded === null)
    throw new PithError('thread_unknown', `there is no thread '${threadId}'`, { where: threadId, cure: "see 'pith threads list'" });
  const { spec } = await deps.registry.resolve(loaded.thread.agentId);
  return deps.queue.run(
    threadId,
    async ({ lost, fence }) => {
      const stop = AbortSignal.any([signal, lost]);
      const { thread, messages: stored } = deps.threads.load(threadId) ?? loaded;
      const history = sentHistory(stored);
      const turn = { ...BY_HAND, threadId, agent: spec };
      const plan = await planTurn(deps, { turn, notes: [], thread: { ...thread, history }, text: null }, stop);
      const done = await compactThread(deps, plan, { threadId, writer: deps.threads.writer(fence), force: true }, stop);
      if (done) return { tokensBefore: done.tokensBefore, tokensAfter: done.tokensAfter };
      stop.throwIfAborted();
      const counts = await countTokens(history.map(({ message }) => textOf(message)));
      const tokens = counts.reduce((total, count) => total + count, 0);
      return { tokensBefore: tokens, tokensAfter: tokens };
    },
    signal,
  );
}

/** The turn that it would be. */
const BY_HAND = {
  id: 'compact',
  channelId: UNKNOWN_CHANNEL,
  userId: LOCAL_USER,
  policy: {},
  correlationId: 'compact',
  depth: 0,
  key: null,
};
