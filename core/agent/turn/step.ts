import { activeTraceparent } from '@pith/genai-spans';
import { type LanguageModel, messageOf, type ModelCallOptions, type TurnEvent } from '../../contract/index.ts';
import { modelFailure, readWithRetry, type Retry } from '../../models/index.ts';
import { AnswerAccumulator, type StepOutcome } from './answer.ts';
import { tokensLeft } from './call-tree.ts';
import { AskedCalls } from './asked-calls.ts';
import type { RunningTurn } from './running-turn.ts';
import { stepSpan } from './spans.ts';

/** Asks the model once and turns its stream into text and calls. Never throws; ends at once when the turn is aborted, whatever the model does. */
export async function* streamStep(turn: RunningTurn): AsyncGenerator<TurnEvent, StepOutcome, undefined> {
  const { deps, plan, conversation, offer, signal } = turn;
  const prompt = conversation.prompt.sent();
  const tools = offer.functionTools;
  const span = stepSpan(turn);
  const began = deps.clock.now();
  const { model } = plan.model;
  const traced: Pick<LanguageModel, 'doStream'> = {
    doStream: (options) => span.run(() => model.doStream(deps.sendsTraceparent === true ? withTraceparent(options) : options)),
  };
  const gathered = new AnswerAccumulator(deps.host.secrets);
  const asked = new AskedCalls();
  let cut: StepOutcome['cut'] = null;
  try {
    const { effort } = conversation;
    const options = {
      prompt,
      tools: tools.length === 0 ? undefined : tools,
      providerOptions: effort === null ? undefined : { pith: { effort } },
    };
    const left = tokensLeft(turn);
    let said = 0;
    for await (const part of readWithRetry(traced, options, { clock: deps.clock, signal })) {
      if (part.type !== 'retry') asked.count(part);
      const event = part.type === 'retry' ? retryNotice(part, plan.model.ref) : gathered.take(part);
      if (event) yield event;
      if ('delta' in part) said += part.delta.length;
      if (said > left.tokens * MOST_OF_A_TOKEN) {
        cut = { kind: 'limit', reached: left };
        break;
      }
    }
  } catch (error) {
    cut = signal.aborted ? { kind: 'aborted' } : { kind: 'failed', error };
  }
  yield* gathered.end();
  const outcome = gathered.outcome({ cut, began, ended: deps.clock.now() });
  span.end(outcome);
  return outcome;
}

/** Characters that a token has on average, and no text more: what is counted while an answer comes is rough. */
const MOST_OF_A_TOKEN = 8;

function withTraceparent(options: ModelCallOptions): ModelCallOptions {
  const traceparent = activeTraceparent();
  return traceparent === undefined ? options : { ...options, headers: { ...options.headers, traceparent } };
}

function retryNotice({ delayMs, error }: Retry, ref: string): TurnEvent {
  const message = `${messageOf(modelFailure(error, ref))}; trying again in ${Math.ceil(delayMs / 1000)} s`;
  return { type: 'notice', code: 'model_retry', message };
}
