import { messageOf } from '../../contract/errors.ts';
import type { ModelPart } from '../../contract/index.ts';
import { startSpan, type Span } from '../../events/spans.ts';
import { modelFailure } from '../../models/failure.ts';
import { readWithRetry } from '../../models/retry.ts';
import type { Cleaning, CleanStream } from '../ports.ts';
import type { AssistantMessage } from './messages.ts';
import type { RunningTurn } from './turn-types.ts';

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

/** Asks the model once and turns its stream into text and calls. Never rejects. */
export function streamStep(turn: RunningTurn): Promise<StepOutcome> {
  const span = spanOf(turn);
  return span === null ? gather(turn) : gatherWithin(turn, span);
}

async function gatherWithin(turn: RunningTurn, span: Span): Promise<StepOutcome> {
  const outcome = await span.run(() => gather(turn));
  const { inputTokens, outputTokens, finish, cut } = outcome;
  span.end(
    { 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens, 'gen_ai.response.finish_reasons': finish },
    cut === null ? undefined : cut.kind === 'aborted' ? cut.kind : turn.deps.extensions.cleaning.redact(messageOf(cut.error)),
  );
  return outcome;
}

function spanOf({ prepared, record, span: parent }: RunningTurn): Span | null {
  return startSpan({
    name: `chat ${prepared.model.ref}`,
    kind: 'client',
    correlationId: record.correlationId,
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': prepared.model.ref },
    parent,
  });
}

async function gather(turn: RunningTurn): Promise<StepOutcome> {
  const gathered = new Gathering(turn);
  try {
    await gathered.readAll(); // ends at once when the turn is aborted, whatever the model does
    return gathered.outcome(gathered.failed);
  } catch (error) {
    return gathered.outcome(turn.signal.aborted ? { kind: 'aborted' } : { kind: 'failed', error });
  }
}

interface Spoken {
  readonly type: 'text' | 'reasoning';
  readonly pieces: string[];
  /** null while there is nothing to hide. */
  readonly clean: CleanStream | null;
  providerOptions?: SpokenPart['providerOptions'];
}

class Gathering {
  private readonly turn: RunningTurn;
  private readonly cleaning: Cleaning;
  private readonly spoken: Spoken[] = [];
  private readonly open = new Map<string, Spoken>();
  private readonly calls: RawCall[] = [];
  private inputTokens: number | undefined;
  private outputTokens: number | undefined;
  private reason = 'other';
  failed: StepOutcome['cut'] = null;

  constructor(turn: RunningTurn) {
    this.turn = turn;
    this.cleaning = turn.deps.extensions.cleaning;
  }

  readAll(): Promise<void> {
    const { deps, prepared, prompt, signal, emit } = this.turn;
    const tools = this.turn.functionTools;
    const { ref, model } = prepared.model;
    const retry = {
      clock: deps.clock,
      signal,
      onRetry: ({ delayMs, error }: { readonly delayMs: number; readonly error: unknown }) =>
        emit({
          type: 'notice',
          code: 'model_retry',
          message: `${messageOf(modelFailure(error, ref))}; trying again in ${Math.ceil(delayMs / 1000)} s`,
        }),
    };
    return readWithRetry(model, { prompt, tools: tools.length === 0 ? undefined : tools, abortSignal: signal }, retry, (part) => {
      this.take(part);
      return this.turn.ready();
    });
  }

  outcome(cut: StepOutcome['cut']): StepOutcome {
    for (const part of this.spoken) this.finish(part);
    const spoken = this.spoken.flatMap(({ type, pieces, providerOptions }): SpokenPart[] => {
      const text = pieces.join('');
      if (text === '' && (type === 'text' || providerOptions === undefined)) return [];
      return [providerOptions === undefined ? { type, text } : { type, text, providerOptions }];
    });
    const text = spoken.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
    const { calls, inputTokens, outputTokens, reason: finish } = this;
    return { spoken, text, calls, inputTokens, outputTokens, finish, cut };
  }

  private take(part: ModelPart): void {
    switch (part.type) {
      case 'text-delta':
        if (part.delta === '') return;
        return this.say(this.part('text', part.id, part.providerMetadata), part.delta);
      case 'reasoning-start':
      case 'text-start':
        this.open.delete(`${part.type.slice(0, -6)} ${part.id}`);
        this.part(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata);
        return;
      case 'reasoning-end':
      case 'text-end':
        this.finish(this.part(part.type === 'text-end' ? 'text' : 'reasoning', part.id, part.providerMetadata));
        this.open.delete(`${part.type.slice(0, -4)} ${part.id}`);
        return;
      case 'reasoning-delta':
        return this.say(this.part('reasoning', part.id, part.providerMetadata), part.delta);
      case 'tool-call':
        // What a provider ran itself needs no answer from here.
        if (!part.providerExecuted)
          this.calls.push({
            callId: part.toolCallId,
            name: part.toolName,
            input: this.cleaning.redact(part.input),
            providerOptions: part.providerMetadata,
          });
        return;
      case 'finish':
        this.inputTokens = part.usage?.inputTokens?.total;
        this.outputTokens = part.usage?.outputTokens?.total;
        this.reason = part.finishReason?.unified ?? 'other';
        return;
      case 'error':
        this.failed ??= { kind: 'failed', error: part.error };
    }
  }

  private say(part: Spoken, delta: string): void {
    this.add(part, part.clean === null ? delta : part.clean.feed(delta));
  }

  /** Says what was held back. */
  private finish(part: Spoken): void {
    if (part.clean !== null) this.add(part, part.clean.end());
  }

  private add(part: Spoken, text: string): void {
    if (text === '') return;
    part.pieces.push(text);
    if (part.type === 'text') this.turn.emit({ type: 'text-delta', text });
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
