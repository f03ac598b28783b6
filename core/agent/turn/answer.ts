import type { ModelPart, TurnEvent } from '../../contract/index.ts';
import type { Cleaning, CleanStream } from '../../trust/index.ts';
import type { ReachedLimit } from './call-tree.ts';
import type { AssistantMessage } from '../prompt/messages.ts';

/** A call as it came out of the model: its input still as text. */
export interface RawCall {
  readonly callId: string;
  readonly name: string;
  readonly input: string;
  readonly providerOptions?: CallPart['providerOptions'];
}

/** One answer of the model. What came before a cut is kept. */
export interface StepOutcome {
  /** Text and reasoning in the order in which they came. */
  readonly spoken: readonly SpokenPart[];
  readonly text: string;
  readonly calls: readonly RawCall[];
  /** As reported; undefined where the provider says nothing. */
  readonly usage: StepUsage;
  /** How the provider names its answer, and the model that gave it. */
  readonly response: { readonly id?: string | undefined; readonly model?: string | undefined };
  readonly finish: string;
  /** Why the answer is not whole: the turn was aborted, the model failed with `error`, or it said more than the limit `reached` leaves. */
  readonly cut:
    | null
    | { readonly kind: 'aborted' }
    | { readonly kind: 'failed'; readonly error: unknown }
    | { readonly kind: 'limit'; readonly reached: ReachedLimit };
  /** From the request to the end of the answer. */
  readonly began: number;
  readonly ended: number;
}

/** Tokens as the provider counts them. */
interface StepUsage {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /** Of the input, from the provider's cache, and written to it. */
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  /** Of the output. */
  readonly reasoning?: number | undefined;
}

type AssistantPart = AssistantMessage['content'][number];
type CallPart = Extract<AssistantPart, { type: 'tool-call' }>;
type SpokenPart = Extract<AssistantPart, { type: 'text' | 'reasoning' }>;

interface Spoken {
  readonly type: 'text' | 'reasoning';
  readonly pieces: string[];
  /** null while there is nothing to hide. */
  readonly clean: CleanStream | null;
  providerOptions?: SpokenPart['providerOptions'];
}

/** Turns the stream of an answer into text and calls. */
export class AnswerAccumulator {
  private readonly spoken: Spoken[] = [];
  private readonly open = new Map<string, Spoken>();
  private readonly calls: RawCall[] = [];
  private usage: StepUsage = { inputTokens: undefined, outputTokens: undefined };
  private response: StepOutcome['response'] = {};
  private reason = 'other';

  constructor(private readonly cleaning: Cleaning) {}

  outcome(about: Pick<StepOutcome, 'cut' | 'began' | 'ended'>): StepOutcome {
    const spoken = this.spoken.flatMap(({ type, pieces, providerOptions }): SpokenPart[] => {
      const text = pieces.join('');
      if (text === '' && (type === 'text' || providerOptions === undefined)) return [];
      return [providerOptions === undefined ? { type, text } : { type, text, providerOptions }];
    });
    const text = spoken.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
    const { calls, usage, response, reason: finish } = this;
    return { spoken, text, calls, usage, response, finish, ...about };
  }

  /** What was held back when the last part came. */
  end(): readonly TurnEvent[] {
    return this.spoken.flatMap((part) => this.finish(part) ?? []);
  }

  /** What is to be said of it now. */
  take(part: ModelPart): TurnEvent | null {
    switch (part.type) {
      case 'text-delta':
        return part.delta === '' ? null : this.say(this.part('text', part.id, part.providerMetadata), part.delta);
      case 'reasoning-delta':
        return this.say(this.part('reasoning', part.id, part.providerMetadata), part.delta);
      case 'reasoning-start':
      case 'text-start':
        this.open.delete(`${part.type.slice(0, -6)} ${part.id}`);
        this.part(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata);
        return null;
      case 'reasoning-end':
      case 'text-end': {
        const ended = this.part(part.type === 'text-end' ? 'text' : 'reasoning', part.id, part.providerMetadata);
        this.open.delete(`${part.type.slice(0, -4)} ${part.id}`);
        return this.finish(ended);
      }
      case 'tool-call':
        // What a provider ran itself needs no answer from here.
        if (!part.providerExecuted)
          this.calls.push({
            callId: part.toolCallId,
            name: part.toolName,
            input: this.cleaning.redact(part.input),
            providerOptions: part.providerMetadata,
          });
        return null;
      case 'response-metadata':
        this.response = { id: part.id, model: part.modelId };
        return null;
      case 'finish':
        this.usage = usageOf(part.usage);
        this.reason = part.finishReason?.unified ?? 'other';
        return null;
      default:
        return null;
    }
  }

  private say(part: Spoken, delta: string): TurnEvent | null {
    return this.add(part, part.clean === null ? delta : part.clean.feed(delta));
  }

  /** Says what was held back. */
  private finish(part: Spoken): TurnEvent | null {
    return part.clean === null ? null : this.add(part, part.clean.end());
  }

  private add(part: Spoken, text: string): TurnEvent | null {
    if (text === '') return null;
    part.pieces.push(text);
    return part.type === 'text' ? { type: 'text-delta', text } : null;
  }

  private part(type: Spoken['type'], id: string, metadata: SpokenPart['providerOptions']): Spoken {
    const key = `${type} ${id}`;
    let part = this.open.get(key);
    if (part === undefined) {
      part = { type, pieces: [], clean: this.cleaning.stream() };
      this.open.set(key, part);
      this.spoken.push(part);
    }
    if (metadata !== undefined) part.providerOptions = { ...part.providerOptions, ...metadata };
    return part;
  }
}

/** A model need not say all of it, whatever its type promises. */
function usageOf(usage: Partial<Extract<ModelPart, { type: 'finish' }>['usage']> | undefined): StepUsage {
  const { inputTokens: input, outputTokens: output } = usage ?? {};
  return {
    inputTokens: input?.total,
    outputTokens: output?.total,
    cacheRead: input?.cacheRead,
    cacheWrite: input?.cacheWrite,
    reasoning: output?.reasoning,
  };
}
