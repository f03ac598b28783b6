import { type AGUIEvent, EventType, type RunAgentInput } from '@ag-ui/core';
import type { JsonValue } from 'pith';
import type { ProgramEnd, ProgramEvent, ProgramQuestion } from 'pith/program_turns';

/** What an interrupt is answered with. */
const ANSWER = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
} as const;

/** The events of a run in their order: its start, the state, texts and calls, and its end. The state has the thread by Pith's name. */
export async function* runEvents(
  { threadId, runId, state }: RunAgentInput,
  ownThreadId: string,
  events: AsyncIterable<ProgramEvent>,
): AsyncGenerator<AGUIEvent, void, undefined> {
  yield { type: EventType.RUN_STARTED, threadId, runId };
  const given = typeof state === 'object' && state !== null && !Array.isArray(state) ? state : {};
  yield { type: EventType.STATE_SNAPSHOT, snapshot: { ...given, pith: { thread: ownThreadId } } };
  let messages = 0;
  let open: string | null = null;
  const ended = function* (): Generator<AGUIEvent, void, undefined> {
    if (open !== null) yield { type: EventType.TEXT_MESSAGE_END, messageId: open };
    open = null;
  };
  for await (const event of events) {
    if (event.type === 'text-delta') {
      if (open === null) {
        open = `${runId}-${(messages += 1)}`;
        yield { type: EventType.TEXT_MESSAGE_START, messageId: open, role: 'assistant' };
      }
      yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId: open, delta: event.text };
    } else if (event.type === 'tool-call') {
      yield* ended();
      yield* callEvents(event);
    } else if (event.type === 'tool-result') {
      yield* ended();
      const content = textOf(event.ok ? (event.output ?? null) : { error: event.error ?? null });
      yield { type: EventType.TOOL_CALL_RESULT, messageId: `${runId}-${event.id}`, toolCallId: event.id, content, role: 'tool' };
    } else if (event.type === 'step-end' || event.type === 'turn-start') yield* ended();
    else if (event.type === 'end') {
      yield* ended();
      for (const call of event.calls) yield* callEvents(call);
      yield endOf(event, { threadId, runId });
    }
  }
}

function* callEvents({
  id,
  name,
  input,
}: {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
}): Generator<AGUIEvent, void, undefined> {
  yield { type: EventType.TOOL_CALL_START, toolCallId: id, toolCallName: name };
  yield { type: EventType.TOOL_CALL_ARGS, toolCallId: id, delta: JSON.stringify(input) };
  yield { type: EventType.TOOL_CALL_END, toolCallId: id };
}

function endOf({ reason, calls, questions, error, usage }: ProgramEnd, run: Pick<RunAgentInput, 'threadId' | 'runId'>): AGUIEvent {
  const used = [{ ...usage }];
  if (reason === 'error' || reason === 'limit') {
    const { code = 'internal', message = 'the run failed' } = error ?? {};
    return { type: EventType.RUN_ERROR, message, code, usage: used };
  }
  const finished = { type: EventType.RUN_FINISHED as const, ...run, usage: used };
  if (questions.length > 0) return { ...finished, outcome: { type: 'interrupt', interrupts: questions.map(interruptOf) } };
  if (reason === 'aborted') return { ...finished, outcome: { type: 'cancelled' } };
  return { ...finished, outcome: { type: 'success', ...(calls.length === 0 ? {} : { pendingToolCallIds: calls.map(({ id }) => id) }) } };
}

function interruptOf({ id, tool, input, text }: ProgramQuestion) {
  return { id, reason: 'approval', message: text, responseSchema: ANSWER, metadata: { tool, input } };
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
