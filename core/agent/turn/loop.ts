import { withCure } from '@pith/plain-text';
import { codeOf, type JsonValue, type Message, messageOf, PithError, type ToolResult, type TurnEvent } from '../../contract/index.ts';
import type { Retain } from '../threads/thread.ts';
import {
  announceQuestion,
  batches,
  decided,
  type DecidedCall,
  type PendingCall,
  pendingCalls,
  readCalls,
  runCalls,
  wasShown,
} from './calls.ts';
import { compactIfNeeded, addUsage, coverAnswer } from './compaction.ts';
import { callsLeft, chargesOf, limitEnd, limitReached, NO_USE, releaseStep, reserveStep, spendStep, timeSpent } from './call-tree.ts';
import { type AssistantMessage, distinct, resultPart } from '../prompt/messages.ts';
import { madeBy } from '../prompt/request.ts';
import { modelFailure } from '../../models/index.ts';
import { RefusedRequests } from './refused-request.ts';
import type { StepOutcome } from './answer.ts';
import { streamStep } from './step.ts';
import type { AskedCall, RunningTurn, TurnEnd } from './running-turn.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import { givenTools, toolIds, withTurnTools } from '../tools/turn-tools.ts';
import { functionTool } from './plan.ts';
import { untilAborted, within } from '@pith/promises';
import { countTokens } from '@pith/token-count';

/** Model steps and tool calls until the turn ends; each step is on disk before the next. Throws what the store does, and `model_context_too_long`. */
export async function* runLoop(turn: RunningTurn): AsyncGenerator<TurnEvent, TurnEnd, undefined> {
  const refused = new RefusedRequests(turn);
  for (;;) {
    const end = stopBefore(turn);
    if (end) return end;
    reserveStep(turn);
    try {
      yield* compactIfNeeded(turn);
      const outcome = yield* streamStep(turn);
      const { cut } = outcome;
      if (cut === null) await refused.accepted();
      if (cut?.kind === 'failed' && outcome.spoken.length === 0 && (yield* refused.change(cut.error))) continue;
      const ended = yield* takeStep(turn, outcome);
      if (ended) return ended;
    } finally {
      releaseStep(turn);
    }
  }
}

/**
 * Runs the calls of a step in the order of their effects, and adds their results: who waits for a person holds up all that come after.
 * `record` stores the step once the first are decided. Returns the turn's end when it must not go on.
 */
export async function* answerCalls(
  turn: RunningTurn,
  pending: readonly PendingCall[],
  record: (first: readonly DecidedCall[]) => Promise<unknown> = (first) => storeStarted(turn, first),
): AsyncGenerator<TurnEvent, TurnEnd | null, undefined> {
  const stored: Promise<void>[] = [];
  try {
    return yield* runBatches(turn, pending, record, stored);
  } catch (error) {
    await Promise.allSettled(stored); // before anybody looks which calls have ended
    throw error;
  }
}

async function* runBatches(
  turn: RunningTurn,
  pending: readonly PendingCall[],
  record: (first: readonly DecidedCall[]) => Promise<unknown>,
  stored: Promise<void>[],
): AsyncGenerator<TurnEvent, TurnEnd | null, undefined> {
  const results: ToolResult[] = [];
  const calls: DecidedCall[] = [];
  for (const [at, batch] of batches(pending).entries()) {
    const now = await decided(batch);
    const questions = now.flatMap(({ question }) => question ?? []);
    // Questions in the same tick as the step itself cost no further commit.
    await Promise.all([
      at === 0 ? record(now) : storeStarted(turn, now),
      ...questions.flatMap(({ question, isNew }) => (isNew ? turn.deps.approvals.ask(question, turn.fence) : [])),
    ]);
    for (const { record: call } of now)
      if (!wasShown(turn, call)) yield { type: 'tool-call', id: call.callId, name: call.name, input: call.input };
    const came = yield* runCalls(turn, now, stored);
    if (came.includes(null)) {
      await Promise.all(stored);
      for (const question of questions) yield announceQuestion(turn, question);
      return { reason: 'awaiting_approval' };
    }
    results.push(...(came as readonly ToolResult[]));
    calls.push(...now);
  }
  const message: Message = {
    role: 'tool',
    content: calls.map(({ record: { callId, name } }, at) => resultPart(callId, name, results[at]!)),
  };
  const retain = retainedOf(calls, results);
  await Promise.all([...stored, turn.writer.recordResults(turn.record.id, message, retain)]);
  turn.conversation.prompt.add(message);
  turn.offer.info = { ...turn.offer.info, held: distinct([...turn.offer.info.held, ...Object.values(retain)]) };
  const step = calls[0]?.record.step ?? turn.progress.steps;
  yield { type: 'step-end', step, usage: turn.progress.usage, request: turn.progress.request };
  if (calls.some(({ result }) => result?.ok === false && result.error.code === 'limit_reached')) return limitEnd(turn, callsLeft(turn));
  const end = stopBefore(turn);
  if (end) return end;
  const providers = providersToAsk(turn, calls);
  const renewals = await settledRenewals(turn);
  const isRenewed = renewals !== turn.offer.renewals; // calls of this step may have changed the tools
  turn.offer.renewals = renewals;
  if (providers.length > 0 || isRenewed) yield* await appendTools(turn, providers, isRenewed);
  else if (Object.keys(retain).length > 0) offerTools(turn, turn.offer.all); // with what has been found
  return null;
}

function storeStarted(turn: RunningTurn, calls: readonly DecidedCall[]): Promise<unknown> {
  return Promise.all(calls.filter(mustBeKnown).map(({ record }) => turn.writer.setCall(record, 'started')));
}

function retainedOf(calls: readonly DecidedCall[], results: readonly ToolResult[]): Readonly<Record<string, Retain>> {
  return Object.fromEntries(
    results.flatMap((result, at) => (result.ok && result.retain ? [[calls[at]!.record.callId, result.retain] as const] : [])),
  );
}

function stopBefore(turn: RunningTurn): TurnEnd | null {
  const limit = limitReached(turn);
  if (limit) return limitEnd(turn, limit);
  return turn.signal.aborted ? { reason: 'aborted' } : null;
}

async function* takeStep(turn: RunningTurn, outcome: StepOutcome): AsyncGenerator<TurnEvent, TurnEnd | null, undefined> {
  const asked = outcome.cut ? [] : await readCalls(turn, outcome.calls);
  const message = madeBy(assistantMessage(outcome, asked), turn.plan.model.ref);
  if (outcome.text !== '') turn.progress.text = outcome.text;
  const ending = outcome.cut || asked.length === 0 ? yield* endOf(turn, outcome) : null;
  addUsage(turn, usageOf(outcome), outcome.text);
  if (message.content.length === 0) return ending;

  turn.conversation.prompt.add(message);
  coverAnswer(turn);
  const step = turn.progress.steps;
  spendStep(turn);
  const pending = pendingCalls(turn, step, asked);
  const record = (first: readonly DecidedCall[]) => {
    const { usage, unrecorded: own } = turn.progress;
    turn.progress.unrecorded = NO_USE;
    const started = new Set(first.filter(mustBeKnown).map(({ record: { index } }) => index));
    return turn.writer.recordStep(turn.record.id, {
      step,
      message,
      calls: pending.map(({ record: call }) => (started.has(call.index) ? { ...call, state: 'started' as const } : call)),
      usage,
      own,
      model: turn.plan.model.ref,
      took: { began: outcome.began, ended: outcome.ended },
      end: ending?.reason,
      callers: chargesOf(turn.parent),
    });
  };
  if (ending === null) return yield* answerCalls(turn, pending, record);
  await record([]);
  yield { type: 'step-end', step, usage: turn.progress.usage, request: turn.progress.request };
  return { ...ending, stored: true };
}

/** Only a call that begins and must not be repeated has to be stored as started. */
function mustBeKnown({ record, result, question }: DecidedCall): boolean {
  return result === null && question === null && record.effect === 'write';
}

function stopOf(turn: RunningTurn): TurnEnd {
  const spent = timeSpent(turn.signal);
  return spent ? limitEnd(turn, spent) : { reason: 'aborted' };
}

function* endOf(turn: RunningTurn, { cut, finish, text, spoken, calls }: StepOutcome): Generator<TurnEvent, TurnEnd, undefined> {
  const { deps, plan } = turn;
  const { ref } = plan.model;
  if (cut?.kind === 'aborted') return stopOf(turn);
  /** `answering`: a part of the answer had come already. */
  const failed = (why: unknown, answering: boolean): TurnEnd => {
    const failure = modelFailure(why, ref, { answering, now: deps.clock.now(), isOwn: plan.model.isOwn });
    const error = plainFailure(failure, 'model_failed');
    const sources = error.code === 'model_auth' ? deps.host.secrets.sourcesIn(error.message) : [];
    return { reason: 'error', error: { ...error, message: [error.message, ...sources].join('; ') }, failure };
  };
  if (cut?.kind === 'limit') return limitEnd(turn, cut.reached);
  if (cut) return failed(cut.error, spoken.length + calls.length > 0);
  if (finish === 'error') return failed(new Error('the model ended with an error and gave no reason'), false);
  if (finish === 'length')
    yield { type: 'notice', code: 'answer_cut', message: `the answer was cut: ${ref} reached its output limit; ask it to go on` };
  if (finish === 'content-filter')
    yield { type: 'notice', code: 'answer_filtered', message: `the answer was withheld by the content filter of ${ref}` };
  if (text !== '' || finish === 'content-filter') return { reason: 'done' };
  const message = `${ref} gave an empty answer`;
  if (turn.progress.text === '') return failedEnd(new PithError('model_failed', message, { cure: 'ask again, or choose another model' }));
  yield { type: 'notice', code: 'answer_empty', message: `${message} after its last tool call` };
  return { reason: 'done' };
}

function assistantMessage(outcome: StepOutcome, asked: readonly AskedCall[]): AssistantMessage & Message {
  const calls = asked.map(({ callId: toolCallId, name: toolName, input }, index) => {
    const providerOptions = outcome.calls[index]?.providerOptions;
    const part = { type: 'tool-call' as const, toolCallId, toolName, input: input as Record<string, JsonValue> };
    return providerOptions === undefined ? part : { ...part, providerOptions };
  });
  // Reasoning alone is no answer, and providers refuse a message of nothing else.
  const spoken = outcome.text === '' && calls.length === 0 ? [] : outcome.spoken;
  return { role: 'assistant', content: [...spoken, ...calls] };
}

/** A cut answer has reported nothing; what was not asked for costs nothing. */
function usageOf({
  cut,
  text,
  usage: { inputTokens, outputTokens },
}: StepOutcome): Pick<StepOutcome['usage'], 'inputTokens' | 'outputTokens'> {
  return cut && cut.kind !== 'limit' && text === ''
    ? { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0 }
    : { inputTokens, outputTokens };
}

/** The end of a turn that failed. */
export function failedEnd(failure: unknown, fallback?: string): TurnEnd {
  return { reason: 'error', error: plainFailure(failure, fallback), failure };
}

/** What `turn-end` says of an error: its code, and what, where, why and the cure in one line. */
export function plainFailure(error: unknown, fallback = 'internal'): NonNullable<TurnEnd['error']> {
  const message = messageOf(error);
  const place = error instanceof PithError && error.where !== undefined && !message.includes(error.where) ? ` (${error.where})` : '';
  const { cure, retryAfterMs } = error instanceof PithError ? error : {};
  return {
    code: codeOf(error, fallback),
    message: withCure(`${message}${place}`, cure),
    ...(cure === undefined ? {} : { cure }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Those among the extensions with tools of one turn that may bring others after these calls, or that were late with some. */
function providersToAsk({ deps, plan, offer }: RunningTurn, calls: readonly DecidedCall[]): readonly string[] {
  const called = calls.map(({ record }) => record.extensionId);
  return plan.tools.providers.filter((id) => offer.late.includes(id) || deps.host.providers.tools.isAskedAgain(id, called));
}

/** How long a step waits for extensions that have just said that their tools changed. */
const RENEWAL_MS = 1000;

/** How often tools were replaced, once those who are asked for them now have answered. Never rejects. */
async function settledRenewals({ deps, signal }: RunningTurn): Promise<number> {
  const { renewals } = deps.host.providers.tools;
  const underWay = renewals.underWay();
  if (underWay !== null) await untilAborted(within(deps.clock, RENEWAL_MS, underWay), signal).catch(() => undefined); // aborted: the loop says so
  return renewals.count;
}

/**
 * Asks `providers` again what they bring to this turn, and all where `isRenewed`; what is new is offered from the next step, and what is
 * gone no more. Returns what is to be said of it; never rejects.
 */
async function appendTools(turn: RunningTurn, providers: readonly string[], isRenewed: boolean): Promise<readonly TurnEvent[]> {
  const { deps, plan, signal, offer } = turn;
  const { host, clock, mayChangePith } = deps;
  const { policy, tools } = plan;
  const offered = offer.all;
  const info = { ...offer.info, tools: tools.own };
  const { reserved } = tools;
  const fixed = { host, clock, mayChangePith, policy, reserved, mayRedescribe: false };
  const question = { ...fixed, providers, turn: info, offered, isRenewed };
  const found = await untilAborted(withTurnTools(question, signal), signal).catch(() => null); // aborted: the loop says so
  if (found === null) return [];
  offer.late = [...offer.late.filter((id) => !providers.includes(id)), ...found.late];
  offerTools(turn, found.all);
  return turn.notices.fresh(turn.record, found.notices);
}

function offerTools({ offer, conversation }: RunningTurn, all: readonly OfferedTool[]): void {
  const before = new Set(offer.toolsByName.values());
  const tools = givenTools(all, offer.info.held, [...before]);
  offer.all = all;
  const added = tools.filter((tool) => !before.has(tool)).map(functionTool);
  offer.toolsByName = new Map(tools.map((tool) => [tool.modelName, tool]));
  offer.functionTools = tools.map(functionTool);
  offer.info = { ...offer.info, tools: toolIds(tools) };
  // What has been measured covers the tools that there were.
  if (added.length > 0 && conversation.meter.counted > 0) conversation.meter.tokens += countTokens(JSON.stringify(added));
}
