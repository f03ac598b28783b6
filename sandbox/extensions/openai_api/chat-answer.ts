import type { JsonValue } from 'pith';
import type { ProgramEnd } from 'pith/program_turns';
import type { AnswerPart, ShownStep } from './answer-parts.ts';
import { apiErrorOfEnd } from './errors.ts';

/** What all that is said of one answer has in common. */
export interface AnswerHead {
  /** Without its prefix. */
  readonly id: string;
  readonly threadId: string;
  readonly model: string;
  /** In seconds. */
  readonly created: number;
  readonly showsSteps: boolean;
  readonly oneCall: boolean;
}

const FINISH: Readonly<Record<Exclude<ProgramEnd['reason'], 'error'>, string>> = {
  done: 'stop',
  limit: 'length',
  aborted: 'stop',
  calls: 'tool_calls',
  approval: 'stop',
};

/** What this interface has no field for. `reason`: how the turn ended; `approval`: the first question that waits. */
export function ownField({ threadId }: AnswerHead, { reason, questions }: ProgramEnd, steps: readonly ShownStep[] = []) {
  const approval = questions[0] === undefined ? {} : { approval: questions[0].id };
  return { thread: threadId, reason, ...approval, ...(steps.length === 0 ? {} : { steps: steps as never }) };
}

export function callsOf({ calls }: ProgramEnd, { oneCall }: AnswerHead): ProgramEnd['calls'] {
  return oneCall ? calls.slice(0, 1) : calls;
}

function finishOf(end: ProgramEnd): string {
  if (end.reason === 'error') throw apiErrorOfEnd(end);
  if (end.cut !== null) return end.cut === 'filter' ? 'content_filter' : 'length';
  return FINISH[end.reason];
}

function usageOf({ usage: { inputTokens, outputTokens } }: ProgramEnd) {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}

function toolCallsOf(end: ProgramEnd, head: AnswerHead) {
  return callsOf(end, head).map(({ id, name, input }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(input) },
  }));
}

/** The whole answer. Throws `ApiError` where the turn failed. */
export async function chatCompletion(
  head: AnswerHead,
  parts: AsyncIterable<AnswerPart>,
): Promise<{ readonly json: JsonValue; readonly end: ProgramEnd }> {
  let text = '';
  const steps: ShownStep[] = [];
  for await (const part of parts) {
    if (part.type === 'text') text += part.text;
    else if (part.type === 'step') steps.push(part.step);
    else {
      const calls = toolCallsOf(part, head);
      const message = {
        role: 'assistant',
        content: text === '' && calls.length > 0 ? null : text,
        refusal: null,
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      };
      const json = {
        ...headOf(head, 'chat.completion'),
        choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(part) }],
        usage: usageOf(part),
        pith: ownField(head, part, head.showsSteps ? steps : []),
      };
      return { json, end: part };
    }
  }
  throw new Error('an answer without its end');
}

/** The chunks of a streamed answer. A turn that fails on the way ends it with an error. */
export async function* chatChunks(
  head: AnswerHead,
  parts: AsyncIterable<AnswerPart>,
  includesUsage: boolean,
): AsyncGenerator<JsonValue, void, undefined> {
  const chunk = (delta: JsonValue, finish: string | null = null, more: Readonly<Record<string, JsonValue>> = {}) => ({
    ...headOf(head, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includesUsage ? { usage: null } : {}),
    ...more,
  });
  yield chunk({ role: 'assistant', content: '' });
  for await (const part of parts) {
    if (part.type === 'text') yield chunk({ content: part.text });
    else if (part.type === 'step') {
      if (head.showsSteps) yield chunk({}, null, { pith: { thread: head.threadId, step: { ...part.step } } });
    } else {
      if (part.reason === 'error') return yield { error: apiErrorOfEnd(part).body };
      const calls = toolCallsOf(part, head);
      if (calls.length > 0) yield chunk({ tool_calls: calls.map((call, index) => ({ index, ...call })) });
      yield chunk({}, finishOf(part), { pith: ownField(head, part) });
      if (includesUsage) yield { ...headOf(head, 'chat.completion.chunk'), choices: [], usage: usageOf(part) };
    }
  }
}

function headOf({ id, created, model }: AnswerHead, object: string) {
  return { id: `chatcmpl-${id}`, object, created, model };
}
