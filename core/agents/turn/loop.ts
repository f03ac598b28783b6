import type { JsonValue, Message } from '../../contract/index.ts';
import { appendTools, providersToAsk } from './append-tools.ts';
import { announceQuestion } from './asking.ts';
import { decideCalls, readCalls, type DecidedCall } from './calls.ts';
import { compactIfNeeded, mayBeTooLong } from '../compaction/compact-turn.ts';
import { chargeCallers, spendStep } from './family.ts';
import { callsLeft, limitEnd, limitReached } from './limits.ts';
import type { AssistantMessage } from './messages.ts';
import { addUsage } from './meter.ts';
import { plainModelFailure } from './plain-failure.ts';
import { runCalls, wasTold } from './run-calls.ts';
import { streamStep, type StepOutcome } from './step.ts';
import type { AskedCall, RunningTurn, TurnEnd } from './turn-types.ts';

/** Model steps and tool calls until the turn ends; each step is on disk before the next. Rejects only when the store does. */
export async function runLoop(turn: RunningTurn): Promise<TurnEnd> {
  let shortened = false;
  for (;;) {
    const end = stopBefore(turn);
    if (end) return end;
    if (mayBeTooLong(turn)) await compactIfNeeded(turn);
    const outcome = await streamStep(turn);
    if (!shortened && outcome.spoken.length === 0 && isTooLong(turn, outcome)) {
      shortened = true;
      if (await compactIfNeeded(turn, { force: true })) continue;
    }
    const ended = await takeStep(turn, outcome);
    if (ended) return ended;
  }
}

/** Runs the calls of a step that is being recorded, and adds their results. Returns the turn's end when it must not go on. */
export async function answerCalls(
  turn: RunningTurn,
  step: number,
  calls: readonly DecidedCall[],
  writes: readonly Promise<void>[] = [],
): Promise<TurnEnd | null> {
  // Only what must not be repeated has to be known as started. In the same tick as the step itself it costs no commit of its own.
  const starts = calls.filter(({ record, result, question }) => result === null && question === null && record.effect === 'write');
  const questions = calls.flatMap(({ question }) => question ?? []);
  await Promise.all([
    ...writes,
    ...starts.map(({ record }) => turn.writer.startCall(record.turnId, record.step, record.index)),
    ...questions.flatMap(({ question, isNew }) => (isNew ? turn.deps.approvals.ask(question, turn.fence) : [])),
  ]);
  for (const { record } of calls)
    if (!wasTold(turn, record)) turn.emit({ type: 'tool-call', id: record.callId, name: record.name, input: record.input });
  const { message, retain, stored } = await runCalls(turn, calls);
  if (message === null) {
    await Promise.all(stored);
    for (const question of questions) announceQuestion(turn, question);
    return { reason: 'awaiting_approval' };
  }
  await Promise.all([...stored, turn.writer.recordResults(turn.record.id, step, message, retain)]);
  turn.prompt.push(message);
  turn.emit({ type: 'step-end', step, usage: turn.usage });
  if (calls.some(({ result }) => result?.ok === false && result.error.code === 'limit_reached')) return limitEnd(turn, callsLeft(turn));
  const end = stopBefore(turn);
  if (end) return end;
  const providers = providersToAsk(turn, calls);
  if (providers.length > 0) await appendTools(turn, providers);
  return null;
}

function stopBefore(turn: RunningTurn): TurnEnd | null {
  const limit = limitReached(turn);
  if (limit) return limitEnd(turn, limit);
  return turn.signal.aborted ? { reason: 'aborted' } : null;
}

async function takeStep(turn: RunningTurn, outcome: StepOutcome): Promise<TurnEnd | null> {
  const { writer } = turn;
  const asked = outcome.cut ? [] : readCalls(turn, outcome.calls);
  const message = assistantMessage(outcome, asked);
  if (outcome.text !== '') turn.text = outcome.text;
  const ending = outcome.cut || asked.length === 0 ? endOf(turn, outcome) : null;
  await addUsage(turn, usageOf(outcome), outcome.text);
  if (message.content.length === 0) return ending;

  turn.prompt.push(message);
  const step = turn.steps;
  spendStep(turn);
  if (ending) {
    // One commit for the answer and the end of its turn.
    await Promise.all([
      writer.recordStep(turn.record.id, step, message, [], turn.usage),
      writer.setState(turn.record.id, ending.reason, turn.usage),
      ...chargeCallers(turn.parent),
    ]);
    turn.emit({ type: 'step-end', step, usage: turn.usage });
    return { ...ending, stored: true };
  }
  const calls = await decideCalls(turn, step, asked);
  return answerCalls(turn, step, calls, [
    writer.recordStep(
      turn.record.id,
      step,
      message,
      calls.map(({ record }) => record),
      turn.usage,
    ),
    ...chargeCallers(turn.parent),
  ]);
}

function endOf(turn: RunningTurn, { cut, finish, text, spoken, calls }: StepOutcome): TurnEnd {
  const { ref } = turn.prepared.model;
  if (cut?.kind === 'aborted') return stopBefore(turn) ?? { reason: 'aborted' };
  if (cut) return { reason: 'error', error: plainModelFailure(cut.error, ref, spoken.length + calls.length > 0) };
  if (finish === 'error')
    return { reason: 'error', error: plainModelFailure(new Error('the model ended with an error and gave no reason'), ref) };
  if (finish === 'length')
    turn.emit({ type: 'notice', code: 'answer_cut', message: `the answer was cut: ${ref} reached its output limit; ask it to go on` });
  if (finish === 'content-filter')
    turn.emit({ type: 'notice', code: 'answer_filtered', message: `the answer was withheld by the content filter of ${ref}` });
  if (text !== '' || finish === 'content-filter') return { reason: 'done' };
  const message = `${ref} gave an empty answer`;
  if (turn.text === '')
    return { reason: 'error', error: { code: 'model_failed', message: `${message}; ask again, or choose another model` } };
  turn.emit({ type: 'notice', code: 'answer_empty', message: `${message} after its last tool call` });
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
function usageOf({ cut, text, inputTokens, outputTokens }: StepOutcome): Pick<StepOutcome, 'inputTokens' | 'outputTokens'> {
  return cut && text === '' ? { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0 } : { inputTokens, outputTokens };
}

function isTooLong(turn: RunningTurn, { cut }: StepOutcome): boolean {
  return cut?.kind === 'failed' && plainModelFailure(cut.error, turn.prepared.model.ref).code === 'model_context_too_long';
}
