import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { type JsonValue, toolError, toolResult } from '../contract/index.ts';

/** What a tool of the AI SDK answers: its value, or the last of several, which are the states on the way to it. null: it answered nothing. */
export async function lastOf(answer: unknown, signal: AbortSignal): Promise<unknown> {
  let value: unknown = await answer;
  if (typeof value === 'object' && value !== null && Symbol.asyncIterator in value) {
    const states = value as AsyncIterable<unknown>;
    value = null;
    for await (const state of states) {
      await yieldToOthers(); // states that are there at once would let no signal through
      signal.throwIfAborted();
      value = state;
    }
  }
  return value === undefined ? null : value;
}

interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly mediaType?: string;
}

function isImage(part: ContentPart): part is ContentPart & { readonly data: string; readonly mediaType: string } {
  return part.data !== undefined && part.mediaType !== undefined;
}

/** What `toModelOutput` of a tool of the AI SDK wants the model to get. */
export function modelOutput(given: unknown): unknown {
  const { type, value, reason } = given as { readonly type: string; readonly value?: unknown; readonly reason?: string };
  if (type === 'execution-denied') return toolError('denied', reason ?? 'the tool refused it');
  if (type.startsWith('error-')) return toolError('tool_failed', typeof value === 'string' ? value : JSON.stringify(value));
  if (type !== 'content') return toolResult(value as JsonValue);
  const parts = value as readonly ContentPart[];
  const images = parts.filter(isImage);
  const said = parts.flatMap((part) => (isImage(part) ? [] : (part.text ?? JSON.stringify(part))));
  return toolResult(said.join('\n'), { images: images.map(({ data, mediaType }) => ({ data, mediaType })) });
}
