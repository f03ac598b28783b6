import { systemClock, within } from '@pith/promises';
import type { ModelPart } from 'pith';
import { AnswerParts } from './answer-parts.ts';

type Warnings = Extract<ModelPart, { type: 'stream-start' }>['warnings'];

/** Servers end an answer right after `[DONE]`: its connection can be used again. Some keep it open. */
const REST_MS = 250;

/** The parts of a streamed chat completion, each as soon as it has arrived. Rejects when the connection breaks. `cancel` closes it. */
export async function* chatStream(
  body: AsyncIterable<Uint8Array>,
  warnings: Warnings,
  cancel: () => void = () => undefined,
): AsyncGenerator<ModelPart> {
  const answer = new AnswerParts();
  const batches = serverEvents(body);
  let isDone = false;
  let isRead = false;
  try {
    yield { type: 'stream-start', warnings };
    while (!isDone) {
      const next = await batches.next();
      if (next.done === true) {
        isRead = true;
        break;
      }
      const parts: ModelPart[] = [];
      for (const data of next.value) {
        isDone ||= data === '[DONE]';
        if (isDone) continue;
        const chunk = parseChunk(data);
        if (chunk === null) answer.skip(data);
        else answer.add(chunk, parts);
      }
      yield* parts;
    }
    const last: ModelPart[] = [];
    answer.end(last, isDone);
    yield* last;
    if (isDone) isRead = await within(systemClock, REST_MS, readToEnd(batches), () => false);
  } finally {
    if (!isRead) cancel();
  }
}

/** Whether the connection can be used again. */
async function readToEnd(batches: AsyncIterator<unknown>): Promise<boolean> {
  try {
    while ((await batches.next()).done !== true);
    return true;
  } catch {
    return false; // the connection broke after the answer
  }
}

function parseChunk(data: string): Chunk | null {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null; // a heartbeat, or why the answer breaks off
  }
}

/** Longest line that a server may send; a tool call's whole arguments can be one. */
const MAX_LINE = 4 * 1024 * 1024;

/** The `data` of server-sent events, in batches as the network delivers them. Other fields and comments are left out. */
export async function* serverEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string | null = null;
  for await (const bytes of body) {
    const text = rest + decoder.decode(bytes, { stream: true });
    const events: string[] = [];
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = text.charCodeAt(end - 1) === 13 && end > from ? text.slice(from, end - 1) : text.slice(from, end);
      from = end + 1;
      if (line === '') {
        if (data !== null) events.push(data);
        data = null;
      } else {
        data = withLine(data, line);
      }
    }
    rest = text.slice(from);
    if (rest.length + (data?.length ?? 0) > MAX_LINE) throw new Error(`the server sent a line of more than ${MAX_LINE} characters`);
    if (events.length > 0) yield events;
  }
  data = withLine(data, rest + decoder.decode());
  if (data !== null) yield [data]; // some servers leave out the last empty line
}

function withLine(data: string | null, line: string): string | null {
  if (!line.startsWith('data:')) return data;
  const value = line.slice(line.charCodeAt(5) === 32 ? 6 : 5);
  return data === null ? value : `${data}\n${value}`;
}

/** One piece of a streamed answer, as far as it is used. Servers differ: anything may be absent or null. */
export interface Chunk {
  readonly id?: string | null;
  readonly model?: string | null;
  readonly created?: number | null;
  readonly choices?:
    | readonly { readonly index?: number | null; readonly delta?: Delta | null; readonly finish_reason?: string | null }[]
    | null;
  readonly usage?: ChunkUsage | null;
  readonly error?: unknown;
}

export interface Delta {
  readonly content?: string | readonly { readonly type?: string; readonly text?: string }[] | null;
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly CallDelta[] | null;
}

export interface CallDelta {
  readonly index?: number | string | null;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null;
  /** Where Gemini's servers keep what must be sent back with the call. */
  readonly extra_content?: { readonly google?: { readonly thought_signature?: string | null } | null } | null;
}

export interface ChunkUsage {
  readonly prompt_tokens?: number | null;
  readonly completion_tokens?: number | null;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null } | null;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number | null } | null;
}
