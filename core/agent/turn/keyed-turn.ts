import type { TurnEndReason, TurnEvent, Usage } from '../../contract/index.ts';
import type { StoredMessage, Threads, TurnRecord, Unfinished } from '../threads/index.ts';
import { callIdsOf, textOfAnswer } from './messages.ts';
import type { TurnEnd } from './turn-types.ts';

/** A turn that came to its end before it was asked for again. */
export interface EndedTurn {
  readonly record: TurnRecord;
  readonly end: TurnEnd;
  readonly text: string;
  readonly usage: Usage;
}

/** The turn that goes by the request's key: one to continue, or what was the end of one that is over. null: there is none yet. */
export async function keyedTurn(threads: Threads, threadId: string, key: string): Promise<Unfinished | EndedTurn | null> {
  const found = await threads.keyed(threadId, key);
  if (found === null) return null;
  const { turn } = found;
  const messages = (await threads.load(threadId))?.messages ?? [];
  return goesOn(turn, messages) ? found : { record: turn, end: endOf(turn), text: textOf(turn, messages), usage: turn.usage };
}

/** What it said, as if it said it now. */
export function republish({ record, text }: EndedTurn): readonly TurnEvent[] {
  const { agent, threadId, id, policy } = record;
  const start: TurnEvent = { type: 'turn-start', agent: agent.id, thread: threadId, turn: id, model: policy.model ?? agent.model };
  return text === '' ? [start] : [start, { type: 'text-delta', text }];
}

/** Without the words that broke off: they are said again, and providers refuse an answer of their own at the end. */
export function withoutBrokenAnswer({ id, state }: TurnRecord, history: readonly StoredMessage[]): readonly StoredMessage[] {
  const last = history.at(-1);
  const broken = state === 'error' || state === 'aborted';
  return broken && last?.turnId === id && last.message.role === 'assistant' && callIdsOf(last.message).length === 0
    ? history.slice(0, -1)
    : history;
}

/** What failed or was stopped is tried again, unless the thread has gone on since. */
function goesOn({ id, state }: TurnRecord, messages: readonly StoredMessage[]): boolean {
  if (state === 'running' || state === 'awaiting_approval') return true;
  return (state === 'error' || state === 'aborted') && messages.at(-1)?.turnId === id;
}

const WHY: Readonly<Partial<Record<TurnEndReason, { readonly code: string; readonly message: string }>>> = {
  limit: { code: 'limit_reached', message: 'stopped at a limit; what was done until then is kept' },
  error: { code: 'interrupted', message: 'it ended with an error, and its thread has gone on since' },
};

function endOf({ state }: TurnRecord): TurnEnd {
  const reason = state as TurnEndReason;
  const error = WHY[reason];
  return { reason, stored: true, ...(error === undefined ? {} : { error }) };
}

function textOf({ id }: TurnRecord, messages: readonly StoredMessage[]): string {
  return (
    messages
      .filter(({ turnId, message }) => turnId === id && message.role === 'assistant')
      .map(({ message }) => textOfAnswer(message))
      .findLast((text) => text !== '') ?? ''
  );
}
