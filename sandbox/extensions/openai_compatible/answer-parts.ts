import { randomUUID } from 'node:crypto';
import { printableLine } from '@pith/plain-text';
import { PithError, type ModelPart } from 'pith';
import type { CallDelta, Chunk, ChunkUsage, Delta } from './chat-stream.ts';

interface PendingCall {
  id: string | null;
  name: string;
  input: string;
  signature: string | null;
}

type Finish = Extract<ModelPart, { type: 'finish' }>;

/** Turns the pieces of one answer into the parts that a loop reads. Pure: pieces in, parts out. */
export class AnswerParts {
  private open: 'text' | 'reasoning' | null = null;
  private opened = 0;
  private started = false;
  private failed = false;
  private finishReason: string | null = null;
  private usage: ChunkUsage | null = null;
  private readonly calls: PendingCall[] = [];
  /** The latest of each index: some servers number all calls 0, or write the number as text. */
  private readonly byIndex = new Map<string, PendingCall>();
  /** What came last that is no JSON. */
  private unread: string | null = null;

  /** Appends what `chunk` brings to `parts`. After an error the rest of the answer says nothing. */
  add(chunk: Chunk, parts: ModelPart[]): void {
    if (this.failed) return;
    if (chunk.error !== undefined && chunk.error !== null) return this.fail(chunk.error, parts);
    if (!this.started) {
      this.started = true;
      const timestamp = typeof chunk.created === 'number' ? new Date(chunk.created * 1000) : undefined;
      parts.push({ type: 'response-metadata', id: chunk.id ?? undefined, modelId: chunk.model ?? undefined, timestamp });
    }
    if (chunk.usage) this.usage = chunk.usage;
    const choice = chunk.choices?.find?.(({ index }) => (index ?? 0) === 0); // others are other answers
    if (choice?.finish_reason) this.finishReason = choice.finish_reason;
    if (choice?.delta) this.addDelta(choice.delta, parts);
  }

  fail(error: unknown, parts: ModelPart[]): void {
    this.failed = true;
    parts.push({ type: 'error', error });
  }

  /** What came between the parts and is none, such as a heartbeat; where the answer then breaks off, it says why. */
  skip(text: string): void {
    if (text.trim() !== '') this.unread = text.trim().slice(0, MOST_UNREAD);
  }

  /** `isDone`: the server said that this is all. */
  end(parts: ModelPart[], isDone = false): void {
    this.close(parts);
    const hasAnswer = this.opened + this.calls.length > 0 && this.calls.every(({ input }) => input.trim() === '' || isJson(input));
    if (!this.failed) {
      if (this.finishReason === 'error')
        this.fail(new PithError('model_failed', `the server ended the answer with an error${this.said()}`), parts);
      else if (this.finishReason === null && !(isDone && hasAnswer)) {
        const why = `the answer ended in the middle${this.said()}`;
        this.fail(new PithError('model_failed', why, { retryable: true, cure: 'send the message again' }), parts);
      } else for (const call of this.calls) parts.push(partOf(call));
    }
    parts.push({ type: 'finish', finishReason: this.reason(), usage: usageOf(this.usage) });
  }

  private said(): string {
    return this.unread === null ? '' : `; it sent: ${printableLine(this.unread)}`;
  }

  private addDelta(delta: Delta, parts: ModelPart[]): void {
    const reasoning = delta.reasoning_content ?? delta.reasoning;
    if (reasoning) this.say('reasoning', reasoning, parts);
    if (typeof delta.refusal === 'string' && delta.refusal !== '') this.say('text', delta.refusal, parts);
    if (typeof delta.content === 'string') {
      if (delta.content !== '') this.say('text', delta.content, parts);
    } else if (delta.content) {
      for (const part of delta.content) if (part.text) this.say('text', part.text, parts);
    }
    for (const call of delta.tool_calls ?? []) this.addCall(call);
  }

  private say(kind: 'text' | 'reasoning', delta: string, parts: ModelPart[]): void {
    if (this.open !== kind) {
      this.close(parts);
      this.open = kind;
      this.opened += 1;
      parts.push({ type: `${kind}-start`, id: String(this.opened) });
    }
    parts.push({ type: `${kind}-delta`, id: String(this.opened), delta });
  }

  private close(parts: ModelPart[]): void {
    if (this.open !== null) parts.push({ type: `${this.open}-end`, id: String(this.opened) });
    this.open = null;
  }

  private addCall({ index, id, function: called, extra_content: extra }: CallDelta): void {
    const name = called?.name || '';
    const given = called?.arguments ?? '';
    const call = this.callFor(index ?? null, id || null, name);
    call.id ??= id || null;
    call.name ||= name;
    call.input += typeof given === 'string' ? given : JSON.stringify(given); // Ollama's servers send an object
    call.signature ??= extra?.google?.thought_signature ?? null;
  }

  /**
   * A known id belongs to its call. With a name, another id begins a call, whatever its index, and so does no id after whole arguments;
   * all else belongs to the last call of its index, or to the last of all.
   */
  private callFor(index: number | string | null, id: string | null, name: string): PendingCall {
    const known = id === null ? undefined : this.calls.find((call) => call.id === id);
    if (known !== undefined) return known;
    const last = index === null ? this.calls.at(-1) : this.byIndex.get(String(index));
    const isOther =
      last !== undefined &&
      (id !== null && last.id !== null ? name !== '' || index === null : name !== '' && last.name !== '' && isJson(last.input));
    if (last !== undefined && !isOther) return last;
    const call: PendingCall = { id: null, name: '', input: '', signature: null };
    this.calls.push(call);
    if (index !== null) this.byIndex.set(String(index), call);
    return call;
  }

  private reason(): Finish['finishReason'] {
    const raw = this.finishReason ?? undefined;
    if (this.failed) return { unified: 'error', raw };
    // Some servers say `stop` although the answer asks for tools.
    if (this.calls.length > 0 && (raw === 'stop' || raw === 'tool_calls' || raw === 'function_call')) return { unified: 'tool-calls', raw };
    if (raw === 'stop' || raw === 'length') return { unified: raw, raw };
    return { unified: raw === 'content_filter' ? 'content-filter' : 'other', raw };
  }
}

const MOST_UNREAD = 200;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // not yet, or never
  }
}

function partOf({ id, name, input, signature }: PendingCall): ModelPart {
  return {
    type: 'tool-call',
    toolCallId: id ?? `call_${randomUUID()}`,
    toolName: name,
    input: input.trim() === '' ? '{}' : input,
    ...(signature === null ? {} : { providerMetadata: { google: { thoughtSignature: signature } } }),
  };
}

function usageOf(usage: ChunkUsage | null): Finish['usage'] {
  const input = usage?.prompt_tokens ?? undefined;
  const output = usage?.completion_tokens ?? undefined;
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    inputTokens: { total: input, noCache: input === undefined ? undefined : input - cached, cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: output, text: output === undefined ? undefined : Math.max(0, output - reasoning), reasoning },
  };
}
