import { sha256 } from '@pith/plain-data';
import type { JsonValue } from 'pith';
import type { ProgramEnd } from 'pith/program_turns';
import type { AnswerPart, ShownStep } from './answer-parts.ts';
import { type AnswerHead, callsOf, ownField } from './chat-answer.ts';
import { apiErrorOfEnd } from './errors.ts';

export interface ResponseHead extends AnswerHead {
  /** What the response repeats of the request. */
  readonly repeated: Readonly<Record<string, unknown>>;
}

type JsonMap = Readonly<Record<string, JsonValue>>;
type Event = JsonMap & { readonly type: string };

/** The events of a response; the last has it whole. */
export async function* responseEvents(head: ResponseHead, parts: AsyncIterable<AnswerPart>): AsyncGenerator<Event, void, undefined> {
  let number = 0;
  const event = (type: string, more: JsonMap): Event => ({ type, sequence_number: number++, ...more });
  const begun = responseOf(head, { status: 'in_progress', output: [], usage: null });
  yield event('response.created', { response: begun });
  yield event('response.in_progress', { response: begun });
  let text: string | null = null;
  const steps: ShownStep[] = [];
  const id = itemId('msg', head.threadId, head.id);
  const place = { item_id: id, output_index: 0, content_index: 0 };
  for await (const part of parts) {
    if (part.type === 'step') {
      steps.push(part.step);
      if (head.showsSteps) yield event('response.pith.step', { step: { ...part.step } });
    } else if (part.type === 'text') {
      if (text === null) {
        yield event('response.output_item.added', { output_index: 0, item: messageOf(id, null) });
        yield event('response.content_part.added', { ...place, part: textPart('') });
      }
      text = `${text ?? ''}${part.text}`;
      yield event('response.output_text.delta', { ...place, delta: part.text, logprobs: [] });
    } else {
      const output: JsonMap[] = [];
      if (text !== null) {
        yield event('response.output_text.done', { ...place, text, logprobs: [] });
        yield event('response.content_part.done', { ...place, part: textPart(text) });
        output.push(messageOf(id, text));
        yield event('response.output_item.done', { output_index: 0, item: messageOf(id, text) });
      }
      for (const { id: callId, name, input } of callsOf(part, head)) {
        const output_index = output.length;
        const item = {
          id: itemId('fc', head.threadId, callId),
          type: 'function_call',
          call_id: callId,
          name,
          arguments: JSON.stringify(input),
        };
        const about = { item_id: item.id, output_index };
        yield event('response.output_item.added', { output_index, item: { ...item, arguments: '', status: 'in_progress' } });
        yield event('response.function_call_arguments.delta', { ...about, delta: item.arguments });
        yield event('response.function_call_arguments.done', { ...about, name, arguments: item.arguments });
        output.push({ ...item, status: 'completed' });
        yield event('response.output_item.done', { output_index, item: { ...item, status: 'completed' } });
      }
      const { type, ...ended } = endOf(part);
      yield event(type, {
        response: responseOf(head, { ...ended, output, usage: usageOf(part), pith: ownField(head, part, head.showsSteps ? steps : []) }),
      });
    }
  }
}

/** An id of an item, which says to which thread it belongs. */
function itemId(kind: string, threadId: string, key: string): string {
  return `${kind}_${threadId}_${sha256(key).slice(0, 8)}`;
}

/** null: no item here has such an id. */
export function threadOfItem(id: string): string | null {
  return /^(?:msg|fc)_(.+)_[0-9a-f]{8}$/u.exec(id)?.[1] ?? null;
}

function textPart(text: string): JsonMap {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** null: it begins. */
function messageOf(id: string, text: string | null): JsonMap {
  const content = text === null ? [] : [textPart(text)];
  return { id, type: 'message', role: 'assistant', status: text === null ? 'in_progress' : 'completed', content };
}

function endOf(end: ProgramEnd): JsonMap & { readonly type: string } {
  const { reason, cut } = end;
  if (reason === 'error') {
    const { code, message } = apiErrorOfEnd(end).body;
    return { type: 'response.failed', status: 'failed', error: { code: code ?? 'server_error', message } };
  }
  if (cut === null) return { type: 'response.completed', status: 'completed' };
  return {
    type: 'response.incomplete',
    status: 'incomplete',
    incomplete_details: { reason: cut === 'filter' ? 'content_filter' : 'max_output_tokens' },
  };
}

function usageOf({ usage: { inputTokens, outputTokens } }: ProgramEnd): JsonMap {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

function responseOf({ id, created, model, repeated }: ResponseHead, more: JsonMap): JsonMap {
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: created,
    model,
    error: null,
    incomplete_details: null,
    ...(repeated as JsonMap),
    ...more,
  };
}
