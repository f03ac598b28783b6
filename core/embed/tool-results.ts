import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { isPlainMap } from '@pith/plain-data';
import { type JsonValue, PithError, toolError, toolResult } from '../contract/index.ts';

/**
 * What a tool of a program answers: its value, or the last of several, which are the states on the way to it. null: it answered nothing.
 * Rejects `not_serialisable` where nothing of the value would be left.
 */
export async function lastOf(answer: unknown, signal: AbortSignal): Promise<unknown> {
  let value: unknown = await answer;
  if (isGenerator(value)) {
    const states = value;
    value = null;
    for await (const state of states) {
      await yieldToOthers(); // states that are there at once would let no signal through
      signal.throwIfAborted();
      value = state;
    }
  }
  if (isEmptied(value))
    throw new PithError('not_serialisable', `the answer is of the class ${classOf(value)}, of which JSON says nothing`, {
      cure: 'answer with text or plain values',
    });
  return value === undefined ? null : value;
}

function isGenerator(value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return Symbol.asyncIterator in value || Object.prototype.toString.call(value) === '[object Generator]';
}

/** An object of a class that keeps what it has where JSON does not see it, such as a Response. */
function isEmptied(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value) || 'toJSON' in value) return false;
  return Object.keys(value).length === 0 && typeof value.constructor === 'function' && (value.constructor !== Object || 'next' in value);
}

/** Iterators of lists and maps have a name of their own, and no class. */
function classOf(value: object): string {
  return 'next' in value ? Object.prototype.toString.call(value).slice('[object '.length, -1) : value.constructor.name;
}

interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly mediaType?: string;
}

function isImage(part: ContentPart): part is ContentPart & { readonly data: string; readonly mediaType: string } {
  return part.data !== undefined && part.mediaType?.startsWith('image/') === true;
}

/** Of a file only images are sent. */
function wordsOf(part: ContentPart): string {
  return part.data === undefined ? JSON.stringify(part) : `[a file was left out: ${part.mediaType ?? part.type}]`;
}

/** What `toModelOutput` of a tool of the AI SDK wants the model to get. */
export function modelOutput(given: unknown): unknown {
  const { type, value, reason } = Object(given) as { readonly type?: unknown; readonly value?: unknown; readonly reason?: string };
  if (typeof type !== 'string' || (type === 'content' && !(Array.isArray(value) && value.every(isPlainMap))))
    throw new PithError('not_serialisable', 'toModelOutput gave what is not an output of the AI SDK', {
      cure: "answer with { type: 'text', value }, 'json' or 'content'",
    });
  if (type === 'execution-denied') return toolError('denied', reason ?? 'the tool refused it');
  if (type.startsWith('error-')) return toolError('tool_failed', typeof value === 'string' ? value : JSON.stringify(value));
  if (type !== 'content') return toolResult(value as JsonValue);
  const parts = value as readonly ContentPart[];
  const images = parts.filter(isImage);
  const said = parts.flatMap((part) => (isImage(part) ? [] : (part.text ?? wordsOf(part))));
  return toolResult(said.join('\n'), { images: images.map(({ data, mediaType }) => ({ data, mediaType })) });
}
