import { countTokens, textOf, upperBound } from '../compaction/tokens.ts';
import { spendTokens } from './call-tree.ts';
import type { RunningTurn } from './turn-types.ts';

/** Tokens of the prompt as it is now: what the provider reported, and an estimate of what came since. */
export async function measure(turn: RunningTurn): Promise<number> {
  const { meter, prompt } = turn.conversation;
  const texts = prompt.slice(meter.counted).map(textOf);
  if (meter.counted === 0) texts.push(toolsText(turn));
  for (const tokens of await countTokens(texts)) meter.tokens += tokens + MESSAGE_TOKENS;
  meter.counted = prompt.length;
  return meter.tokens;
}

/** Never less than `measure` would say, and cheap. */
export function atMost(turn: RunningTurn): number {
  const { meter, prompt } = turn.conversation;
  const fresh = upperBound(prompt, meter.counted);
  return meter.tokens + fresh + (meter.counted === 0 ? toolsText(turn).length : 0);
}

/** Adds one answer's use; what the provider does not report is estimated. Call before the answer joins the prompt. */
export async function addUsage(
  turn: RunningTurn,
  { inputTokens, outputTokens }: { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined },
  text: string,
): Promise<void> {
  const input = inputTokens ?? (await measure(turn));
  const output = outputTokens ?? (await countTokens([text]))[0] ?? 0;
  spendTokens(turn, input, output);
  turn.conversation.meter.tokens = input + output;
  // The answer that is about to be added is covered by its output tokens.
  turn.conversation.meter.counted = turn.conversation.prompt.length + 1;
}

const MESSAGE_TOKENS = 4;

function toolsText(turn: RunningTurn): string {
  return JSON.stringify(turn.offer.functionTools);
}
