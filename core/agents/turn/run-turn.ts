import type { TurnEndReason, TurnEvent } from '../../contract/index.ts';
import { startSpan, type Span } from '../../events/spans.ts';
import type { ThreadHold } from '../../threads/queue.ts';
import type { Families, Place } from './family.ts';
import { limitEnd, TimeBudgetSpent, timeSpent } from './limits.ts';
import { answerCalls, runLoop } from './loop.ts';
import { sayAgain, type EndedTurn } from './keyed-turn.ts';
import { tell, type Noticer } from './noticer.ts';
import { openTurn, type OpenedTurn } from './open-turn.ts';
import type { OriginalRequest } from './foreign-turn.ts';
import type { Pipe } from './pipe.ts';
import { plainFailure } from './plain-failure.ts';
import { resumeCalls } from './resume.ts';
import { withdraw } from './withdraw.ts';
import type { RunningTurn, TurnDependencies, TurnEnd } from './turn-types.ts';

type TurnEndEvent = Extract<TurnEvent, { type: 'turn-end' }>;

/** What all turns of a kernel have in common. */
export interface Shared {
  readonly noticer: Noticer;
  readonly families: Families;
}

/** One turn from request to `turn-end`, which it always sends. The caller holds the thread. */
export async function runTurn(
  deps: TurnDependencies,
  { noticer, families }: Shared,
  request: OriginalRequest,
  place: Place,
  pipe: Pipe<TurnEvent>,
  stop: AbortController,
  { lost, fence }: Pick<ThreadHold, 'lost' | 'fence'>,
): Promise<void> {
  const { signal } = stop;
  const onLost = () => stop.abort(lost.reason);
  lost.addEventListener('abort', onLost, { once: true });
  let turn: RunningTurn | null = null;
  let before: EndedTurn | null = null;
  let cancelBudget: (() => void) | undefined;
  let end: TurnEnd = { reason: 'done' };
  try {
    const opened = await openTurn({ deps, noticer, request, place, pipe, signal, fence });
    if (opened && 'end' in opened) {
      before = opened;
      end = before.end;
      for (const event of sayAgain(before)) pipe.push(event);
    } else if (opened) {
      const begun = (turn = opened.turn);
      families.began(begun);
      begun.span = spanOf(begun);
      cancelBudget = deps.clock.after(begun.prepared.limits.time_budget_ms, () => stop.abort(new TimeBudgetSpent(begun)));
      if (begun.span) begun.span.run(() => announce(begun));
      else announce(begun);
      end = await workOn(opened);
    }
  } catch (error) {
    end = endOfError(error, turn, signal);
  }
  cancelBudget?.();
  if (turn) families.ended(turn);
  lost.removeEventListener('abort', onLost);
  if (lost.aborted) end = { reason: 'error', error: plainFailure(lost.reason, 'thread_busy'), stored: true };
  const event = await close(deps, turn, before, end);
  if (turn) await settleQuestions(turn, event.reason);
  endSpan(turn, event);
  pipe.push(event);
}

function spanOf({ prepared, record, parent }: RunningTurn): Span | null {
  return startSpan({
    name: `invoke_agent ${prepared.spec.id}`,
    correlationId: record.correlationId,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': prepared.spec.id,
      'gen_ai.conversation.id': record.threadId,
      'gen_ai.request.model': prepared.model.ref,
    },
    parent: parent?.span,
  });
}

function endSpan(turn: RunningTurn | null, { reason, usage, error }: TurnEndEvent): void {
  const attributes = {
    'pith.turn.reason': reason,
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'error.type': error?.code,
  };
  turn?.span?.end(attributes, error?.message);
}

async function workOn({ turn, open, answered }: OpenedTurn): Promise<TurnEnd> {
  if (answered) return { reason: 'done' };
  const first = open[0];
  const end = first === undefined ? null : await answerCalls(turn, first.step, await resumeCalls(turn, open));
  return end ?? runLoop(turn);
}

/** A suspended turn suspends its caller; one that ended otherwise leaves no question of those that it called behind. */
async function settleQuestions({ deps, record, suspended, parent, fence }: RunningTurn, reason: TurnEndReason): Promise<void> {
  if (reason === 'awaiting_approval') {
    if (parent) parent.suspended = true;
  } else if (suspended) {
    try {
      await withdraw({ ...deps, fence }, record.id, { reason: 'the turn that asked has ended', by: null });
    } catch {
      // The store failed, which the turn's end says; an answer to such a question finds nothing to continue.
    }
  }
}

function announce(turn: RunningTurn): void {
  const { prepared, record, documents, deps } = turn;
  const { id: turnId, threadId, correlationId } = record;
  turn.emit({ type: 'turn-start', agent: prepared.spec.id, thread: threadId, turn: turnId, model: prepared.model.ref });
  deps.events.publish('turn.started', { turnId, threadId, agentId: prepared.spec.id, documents, correlationId });
  for (const { extensionId: extension, key, digest, line } of prepared.documents) {
    const isGiven = documents.some((given) => given.key === key && given.digest === digest);
    if (isGiven && line !== undefined) turn.emit({ type: 'document', extension, key, line });
  }
  tell(turn, prepared.notices);
}

function endOfError(error: unknown, turn: RunningTurn | null, signal: AbortSignal): TurnEnd {
  if (!signal.aborted) return { reason: 'error', error: plainFailure(error) };
  const spent = timeSpent(signal);
  return turn && spent ? limitEnd(turn, spent) : { reason: 'aborted' };
}

/** Writes the turn's end, unless it is written already. An end that cannot be written is an error, whatever it was before. */
async function close(deps: TurnDependencies, turn: RunningTurn | null, before: EndedTurn | null, asked: TurnEnd): Promise<TurnEndEvent> {
  let end = asked;
  if (turn && !end.stored) {
    try {
      await turn.writer.setState(turn.record.id, end.reason, turn.usage);
    } catch (error) {
      end = end.reason === 'error' ? end : { reason: 'error', error: plainFailure(error, 'database_failed') };
    }
  }
  const { reason, error } = end;
  const { usage, text } = turn ?? before ?? NOTHING;
  if (turn)
    deps.events.publish('turn.ended', {
      turnId: turn.record.id,
      threadId: turn.record.threadId,
      reason,
      usage,
      correlationId: turn.record.correlationId,
    });
  const event: TurnEndEvent = { type: 'turn-end', reason, text, usage };
  return error === undefined ? event : { ...event, error };
}

const NOTHING = { text: '', usage: { inputTokens: 0, outputTokens: 0 } };
