import { NoticeSink, type RunningTurn, type TurnDependencies, type TurnEnd, TurnHooks } from './running-turn.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { NO_SPAN, partsUnder } from '@pith/genai-spans';
import { messageOf, PithError, type TurnEvent } from '../../contract/index.ts';
import type { TurnEndReason } from '../threads/thread.ts';
import { endTurnSpan } from './spans.ts';
import { createCallTree, type CallTree, limitEnd, TimeBudgetSpent, timeSpent } from './call-tree.ts';
import type { OriginalRequest } from '../../kernel/index.ts';
import type { Cleaning } from '../../trust/index.ts';
import { answerOpen, type EndedTurn, type Opening, openTurn, republish, resumeCalls, cancelQuestions } from './open-turn.ts';
import { answerCalls, failedEnd, plainFailure, runLoop } from './loop.ts';

export interface TurnEvents extends AsyncIterableIterator<TurnEvent, undefined> {
  return(): Promise<IteratorResult<TurnEvent, undefined>>;
}

/** Begins with the first event that is asked for. Never throws; the last event is always `turn-end`. Who stops reading ends the turn. */
export type RunTurn = (request: OriginalRequest, signal?: AbortSignal) => TurnEvents;

/** What all turns of a kernel have in common. */
interface Shared {
  readonly notices: NoticeSink;
  readonly tree: CallTree;
}

export type TurnEndEvent = Extract<TurnEvent, { type: 'turn-end' }>;

/**
 * The one way to run an agent. `dependencies` are made, or looked at again, before each turn; what that rejects with ends the turn: the store
 * may be damaged, or the disk full. `ended` is told of each end. `secrets` are taken out of what is said of a failure: providers repeat keys there.
 */
export function createTurns(
  dependencies: () => Promise<TurnDependencies>,
  secrets: Pick<Cleaning, 'redactJson' | 'redactError'>,
  ended?: (request: OriginalRequest, end: TurnEndEvent) => void,
): RunTurn {
  const shared: Shared = { notices: new NoticeSink(), tree: createCallTree() };

  /** From the request to the end, which comes when the thread has been given back. */
  async function* events(request: OriginalRequest, stop: AbortController): AsyncGenerator<TurnEvent, void, undefined> {
    let end: TurnEndEvent;
    let thread: HeldThread | null = null;
    let unseal: (() => void) | undefined;
    try {
      const deps = await dependencies();
      unseal = request.seal && deps.threads.sealWith?.(request.threadId, request.seal);
      thread = await holdThread({ ...deps, hooks: new TurnHooks(deps.host.providers) }, shared, request, stop);
      end = yield* turn(thread, shared.tree, stop);
    } catch (error) {
      end = neverBegan(error, stop.signal);
      if (end.reason === 'error') request.failed?.(error);
    }
    await thread?.leave();
    unseal?.();
    ended?.(request, secrets.redactJson(end));
    yield end;
  }

  return (request, signal) =>
    readTurn(
      (stop) => events({ ...request, failed: (error) => request.failed?.(secrets.redactError(error)) }, stop),
      // A copy: whoever reads an event may change it, and what it is made of is called, stored and sent.
      (event) => structuredClone(event.type === 'notice' || event.type === 'turn-end' ? secrets.redactJson(event) : event),
      signal,
    );
}

/**
 * The events of a turn for whoever reads it. The turn is the kernel's work: it runs in the context in which it was asked for, and one that
 * is stopped comes to its end and gives its thread back although nobody reads on.
 */
function readTurn(
  begin: (stop: AbortController) => AsyncGenerator<TurnEvent, void, undefined>,
  cleaned: (event: TurnEvent) => TurnEvent,
  signal: AbortSignal | undefined,
): TurnEvents {
  const inside = AsyncLocalStorage.snapshot();
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // calls side by side listen to it, and the turns that they call
  const unlisten = follow(signal, stop);
  const unread: TurnEvent[] = [];
  let turn: AsyncGenerator<TurnEvent, void, undefined> | null = null;
  let ending: Promise<void> | null = null;
  let isLeft = false;

  const endAlone = async (from: AsyncGenerator<TurnEvent, void, undefined>): Promise<void> => {
    for (;;) {
      const { done, value } = await inside(() => from.next());
      if (done) return;
      if (!isLeft) unread.push(value);
    }
  };
  const stopped = () => {
    if (turn === null || ending !== null) return;
    ending = endAlone(turn);
    ending.catch(() => undefined); // whoever reads on gets it
  };
  stop.signal.addEventListener('abort', stopped, { once: true });
  const leave = () => {
    unlisten();
    stop.abort(new PithError('aborted', 'nobody reads this turn any more'));
  };

  const reader: TurnEvents = {
    [Symbol.asyncIterator]: () => reader,
    async next() {
      if (isLeft) return { done: true, value: undefined };
      const from = (turn ??= inside(() => begin(stop)));
      if (ending === null) {
        const { done, value } = await inside(() => from.next());
        if (!done) return { done: false, value: cleaned(value) };
        leave();
      }
      await ending;
      const value = unread.shift();
      return value === undefined ? { done: true, value } : { done: false, value: cleaned(value) };
    },
    async return() {
      isLeft = true;
      unread.length = 0;
      leave();
      await ending;
      return { done: true, value: undefined };
    },
  };
  return reader;
}

/** A thread on which one turn may work, until `lost` aborts. */
interface HeldThread extends Opening {
  readonly lost: AbortSignal;
  /** Somebody asked for the end of this turn. */
  readonly stopped: AbortSignal;
  leave(): Promise<void>;
}

/** Waits for the thread. From then on the turn ends when the one that called it does, or when the thread is lost. */
async function holdThread(
  deps: TurnDependencies,
  { notices, tree }: Shared,
  request: OriginalRequest,
  stop: AbortController,
): Promise<HeldThread> {
  const node = tree.node(request);
  const { signal } = stop;
  const offs = [follow(node.parent?.signal, stop)];
  try {
    const { fence, lost, stopped, release } = await deps.queue.acquire(request.threadId, signal, request.parent?.threadId);
    offs.push(follow(lost, stop), follow(stopped, stop));
    const leave = async (): Promise<void> => {
      for (const off of offs) off();
      // Nothing is lost: the lease runs out by itself.
      await release().catch((error: unknown) => deps.unreleased?.(request.threadId, error));
    };
    return { deps, notices, request, node, fence, signal, lost, stopped, leave };
  } catch (error) {
    for (const off of offs) off();
    throw error;
  }
}

/** One turn on a thread that is held. */
async function* turn(opening: HeldThread, tree: CallTree, stop: AbortController): AsyncGenerator<TurnEvent, TurnEndEvent, undefined> {
  const { deps, signal, lost, stopped } = opening;
  let running: RunningTurn | null = null;
  let before: EndedTurn | null = null;
  let cancelBudget: (() => void) | undefined;
  let end: TurnEnd = { reason: 'done' };
  try {
    const opened = yield* openTurn(opening);
    if (opened && 'end' in opened) {
      before = opened;
      end = opened.end;
      yield* republish(opened);
    } else if (opened) {
      const begun = (running = opened.turn);
      tree.began(begun);
      cancelBudget = deps.clock.after(begun.plan.limits.time_budget_ms, () => stop.abort(new TimeBudgetSpent(begun)));
      yield* begun.span.run(() => announce(begun));
      const [first] = opened.open;
      const resumed = first === undefined ? null : yield* partsUnder(begun.span, answerCalls(begun, resumeCalls(begun, opened.open)));
      end = resumed ?? (opened.answered ? { reason: 'done' } : yield* partsUnder(begun.span, runLoop(begun)));
    }
  } catch (error) {
    end = endOfError(error, running, signal);
    if (running && !lost.aborted) await answerInterruptedCalls(running);
  }
  cancelBudget?.();
  if (running) tree.ended(running);
  if (lost.aborted) end = { ...failedEnd(lost.reason, 'thread_busy'), stored: true };
  const over = { running, before, end, failed: opening.request.failed };
  const event = await (running?.span ?? NO_SPAN).run(() => conclude(deps, over, stop.signal));
  if (running) endTurnSpan(running, event);
  if (stopped.aborted) yield { type: 'notice', code: 'turn_stopped', message: messageOf(stopped.reason) };
  return event;
}

interface Over {
  readonly running: RunningTurn | null;
  readonly before: EndedTurn | null;
  readonly end: TurnEnd;
  readonly failed: OriginalRequest['failed'];
}

/** Writes the end, and tells it to those who wait for it. */
async function conclude(deps: TurnDependencies, over: Over, signal: AbortSignal): Promise<TurnEndEvent> {
  const { running } = over;
  const event = await close(deps, over);
  if (running) await settleQuestions(running, event.reason);
  await deps.hooks?.end(running?.offer.info ?? null, event.reason, signal);
  return event;
}

/** What failed between a step and its results leaves calls that nobody would answer. */
async function answerInterruptedCalls({ deps, writer, record }: RunningTurn): Promise<void> {
  try {
    const unfinished = await deps.threads.unfinished(record.threadId);
    if (unfinished?.turn.id !== record.id) return;
    await answerOpen(writer, unfinished, (await deps.threads.load(record.threadId))?.messages ?? []);
  } catch {
    // The store failed, which the turn's end says; whoever sends this history next puts answers in.
  }
}

/** `stop` aborts when `signal` does. Returns its off. */
function follow(signal: AbortSignal | undefined, stop: AbortController): () => void {
  const onAbort = () => stop.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return () => signal?.removeEventListener('abort', onAbort);
}

/** The turn could not even begin, for instance because it was aborted while it waited for its place. */
function neverBegan(error: unknown, signal: AbortSignal): TurnEndEvent {
  if (signal.aborted) return { type: 'turn-end', reason: 'aborted', ...NOTHING };
  return { type: 'turn-end', reason: 'error', ...NOTHING, error: plainFailure(error) };
}

/** A suspended turn suspends its caller; one that ended otherwise leaves no question of those that it called behind. */
async function settleQuestions({ deps, record, progress, parent, fence }: RunningTurn, reason: TurnEndReason): Promise<void> {
  if (reason === 'awaiting_approval') {
    if (parent) parent.progress.suspended = true;
  } else if (progress.suspended) {
    try {
      await cancelQuestions({ ...deps, fence }, record.id, { reason: 'the turn that asked has ended', by: null });
    } catch {
      // The store failed, which the turn's end says; an answer to such a question finds nothing to continue.
    }
  }
}

function announce({ plan, record, documents, deps, notices }: RunningTurn): readonly TurnEvent[] {
  const { id: turnId, threadId, correlationId } = record;
  deps.events.publish('turn.started', { turnId, threadId, agentId: plan.spec.id, documents, correlationId });
  const given = plan.documents.filter(({ key, digest }) => documents.some((each) => each.key === key && each.digest === digest));
  return [
    { type: 'turn-start', agent: plan.spec.id, thread: threadId, turn: turnId, model: plan.model.ref },
    ...given.flatMap(({ extensionId: extension, key, label }): TurnEvent[] =>
      label === undefined ? [] : [{ type: 'document', extension, key, label }],
    ),
    ...notices.fresh(record, plan.notices),
  ];
}

function endOfError(error: unknown, turn: RunningTurn | null, signal: AbortSignal): TurnEnd {
  if (!signal.aborted) return failedEnd(error);
  const spent = timeSpent(signal);
  return turn && spent ? limitEnd(turn, spent) : { reason: 'aborted' };
}

/** Writes the turn's end, unless it is written already. An end that cannot be written is an error, whatever it was before. */
async function close(deps: TurnDependencies, { running: turn, before, end: asked, failed }: Over): Promise<TurnEndEvent> {
  let end = asked;
  if (turn && !end.stored) {
    try {
      await turn.writer.setState(turn.record.id, end.reason, turn.progress.usage);
    } catch (error) {
      end = end.reason === 'error' ? end : failedEnd(error, 'database_failed');
    }
  }
  const { reason, error, failure } = end;
  if (failure !== undefined) failed?.(failure);
  const { usage, text } = turn?.progress ?? before ?? NOTHING;
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
