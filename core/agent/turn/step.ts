import { type LanguageModel, messageOf, type ModelPart, type TurnEvent } from '../../contract/index.ts';
import { type Span, startSpan } from '../../durable/index.ts';
import { modelFailure, readWithRetry, type Retry } from '../../models/index.ts';
import type { Cleaning, CleanStream } from '../../trust/index.ts';
import type { AssistantMessage } from '../prompt/messages.ts';
import type { RunningTurn } from './running-turn.ts';

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
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly finish: string;
  /** Why the answer is not whole: the turn was aborted, or the model failed with `error`. */
  readonly cut: null | { readonly kind: 'aborted' } | { readonly kind: 'failed'; readonly error: unknown };
}

type AssistantPart = AssistantMessage['content'][number];
type CallPart = Extract<AssistantPart, { type: 'tool-call' }>;
type SpokenPart = Extract<AssistantPart, { type: 'text' | 'reasoning' }>;

/** Asks the model once and turns its stream into text and calls. Never throws; ends at once when the turn is aborted, whatever the model does. */
export async function* streamStep(turn: RunningTurn): AsyncGenerator<TurnEvent, StepOutcome, undefined> {
  const { deps, plan, conversation, offer, signal } = turn;
  const prompt = conversation.prompt.sent();
  const tools = offer.functionTools;
  const span = spanOf(turn);
  const { model } = plan.model;
  const asked: Pick<LanguageModel, 'doStream'> = { doStream: (options) => span.run(() => model.doStream(options)) };
  const gathered = new AnswerAccumulator(deps.host.secrets);
  let cut: StepOutcome['cut'] = null;
  try {
    const { effort } = conversation;
    const options = {
      prompt,
      tools: tools.length === 0 ? undefined : tools,
      providerOptions: effort === null ? undefined : { pith: { effort } },
    };
    for await (const part of readWithRetry(asked, options, { clock: deps.clock, signal })) {
      const event = part.type === 'retry' ? retryNotice(part, plan.model.ref) : gathered.take(part);
      if (event) yield event;
    }
  } catch (error) {
    cut = signal.aborted ? { kind: 'aborted' } : { kind: 'failed', error };
  }
  yield* gathered.end();
  const outcome = gathered.outcome(cut);
  const { inputTokens, outputTokens, finish } = outcome;
  span.end(
    { 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens, 'gen_ai.response.finish_reasons': finish },
    cut === null ? undefined : cut.kind === 'aborted' ? cut.kind : deps.host.secrets.redact(messageOf(cut.error)),
  );
  return outcome;
}

function retryNotice({ delayMs, error }: Retry, ref: string): TurnEvent {
  const message = `${messageOf(modelFailure(error, ref))}; trying again in ${Math.ceil(delayMs / 1000)} s`;
  return { type: 'notice', code: 'model_retry', message };
}

function spanOf({ plan, record, span: parent }: RunningTurn): Span {
  return startSpan({
    name: `chat ${plan.model.ref}`,
    kind: 'client',
    correlationId: record.correlationId,
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': plan.model.ref },
    parent,
  });
}

interface Spoken {
  readonly type: 'text' | 'reasoning';
  readonly pieces: string[];
  /** null while there is nothing to hide. */
  readonly clean: CleanStream | null;
  providerOptions?: SpokenPart['providerOptions'];
}

class AnswerAccumulator {
  private readonly spoken: Spoken[] = [];
  private readonly open = new Map<string, Spoken>();
  private readonly calls: RawCall[] = [];
  private inputTokens: number | undefined;
  private outputTokens: number | undefined;
  private reason = 'other';

  constructor(private readonly cleaning: Cleaning) {}

  outcome(cut: StepOutcome['cut']): StepOutcome {
    const spoken = this.spoken.flatMap(({ type, pieces, providerOptions }): SpokenPart[] => {
      const text = pieces.join('');
      if (text === '' && (type === 'text' || providerOptions === undefined)) return [];
      return [providerOptions === undefined ? { type, text } : { type, text, providerOptions }];
    });
    const text = spoken.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
    const { calls, inputTokens, outputTokens, reason: finish } = this;
    return { spoken, text, calls, inputTokens, outputTokens, finish, cut };
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
      case 'finish':
        this.inputTokens = part.usage?.inputTokens?.total;
        this.outputTokens = part.usage?.outputTokens?.total;
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
