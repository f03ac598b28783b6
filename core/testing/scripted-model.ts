import { type JsonValue, type LanguageModel, type Message, type ModelCallOptions, type ModelPart, PithError } from '../contract/index.ts';
import type { Usage } from '../agent/index.ts';

/** What the model was sent in one step. */
export interface ModelRequest {
  /** The system messages, joined. */
  readonly system: string;
  /** All other messages. */
  readonly messages: readonly Message[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly inputSchema: unknown }[];
  readonly options: ModelCallOptions;
}

/** One answer of the model: text, calls, or a failure. */
export interface ScriptedReply {
  /** A string is sent word by word; an array is sent as these deltas. */
  readonly text?: string | readonly string[];
  readonly calls?: readonly { readonly name: string; readonly input: JsonValue; readonly id?: string }[];
  readonly usage?: Usage;
  /** Rejects the call before anything is streamed. */
  readonly error?: unknown;
  /** Streams an error part after the text. */
  readonly breakWith?: unknown;
  /** Streams the text, then waits until the call is aborted. */
  readonly hang?: boolean;
  readonly finish?: 'stop' | 'length' | 'content-filter' | 'tool-calls';
}

export type ScriptedStep = ScriptedReply | ((request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>);

export interface ScriptedModel {
  readonly model: LanguageModel;
  readonly contextWindow: number | null;
  readonly requests: readonly ModelRequest[];
  /** Adds steps to the end of the script. */
  add(...steps: readonly ScriptedStep[]): void;
  /** Throws when a step was not asked for, or when the model was asked for more than the script has. */
  expectFinished(): void;
}

/** A model that answers from a script. A request beyond it fails `model_script`, then and in `expectFinished`. */
export function scriptedModel(
  steps: readonly ScriptedStep[] = [],
  options: { readonly contextWindow?: number | null } = {},
): ScriptedModel {
  const script = [...steps];
  const requests: ModelRequest[] = [];
  let unexpected = 0;

  const model: LanguageModel = {
    specificationVersion: 'v3',
    provider: 'scripted',
    modelId: 'scripted',
    async doStream(call) {
      const request = requestOf(call);
      requests.push(request);
      const step = script.shift();
      if (step === undefined) {
        unexpected += 1;
        throw new PithError('model_script', `the script has no step ${requests.length}; the model was sent: ${summaryOf(request)}`);
      }
      const reply = typeof step === 'function' ? await step(request) : step;
      if (reply.error !== undefined) throw reply.error;
      return { stream: partsOf(reply, requests.length, call.abortSignal) };
    },
  };

  return {
    model,
    contextWindow: options.contextWindow ?? null,
    requests,
    add: (...more) => void script.push(...more),
    expectFinished() {
      if (unexpected > 0) throw new Error(`the model was asked ${unexpected} time(s) more than its script has steps`);
      if (script.length > 0) throw new Error(`${script.length} scripted step(s) were never asked for`);
    },
  };
}

async function* partsOf(reply: ScriptedReply, step: number, signal: AbortSignal | undefined): AsyncGenerator<ModelPart> {
  yield { type: 'stream-start', warnings: [] };
  const deltas = typeof reply.text === 'string' ? (reply.text.match(/\S+\s*|\s+/g) ?? []) : (reply.text ?? []);
  if (deltas.length > 0) {
    yield { type: 'text-start', id: '0' };
    for (const delta of deltas) yield { type: 'text-delta', id: '0', delta };
    yield { type: 'text-end', id: '0' };
  }
  if (reply.hang) await aborted(signal);
  if (reply.breakWith !== undefined) {
    yield { type: 'error', error: reply.breakWith };
    return;
  }
  for (const [index, call] of (reply.calls ?? []).entries()) {
    const input = typeof call.input === 'string' ? call.input : JSON.stringify(call.input);
    yield { type: 'tool-call', toolCallId: call.id ?? `call-${step}-${index}`, toolName: call.name, input };
  }
  const unified = reply.finish ?? (reply.calls?.length ? 'tool-calls' : 'stop');
  const usage = reply.usage ?? { inputTokens: 10, outputTokens: 5 };
  yield {
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: { total: usage.inputTokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: usage.outputTokens, text: undefined, reasoning: undefined },
    },
  };
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(signal?.reason ?? new Error('aborted'));
    if (signal?.aborted) fail();
    else signal?.addEventListener('abort', fail, { once: true });
  });
}

function requestOf(options: ModelCallOptions): ModelRequest {
  // A deep copy: the loop goes on appending to the array that it sends.
  const prompt = structuredClone(options.prompt);
  return {
    system: prompt.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n\n'),
    messages: prompt.filter((message) => message.role !== 'system'),
    tools: (options.tools ?? []).flatMap((tool) =>
      tool.type === 'function' ? [{ name: tool.name, description: tool.description ?? '', inputSchema: tool.inputSchema }] : [],
    ),
    options,
  };
}

function summaryOf(request: ModelRequest): string {
  return JSON.stringify(request.messages.at(-1) ?? null).slice(0, 300);
}
