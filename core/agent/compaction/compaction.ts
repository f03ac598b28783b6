import type { Message } from '../../contract/index.ts';
import type { StoredMessage } from '../threads/index.ts';
import { isSummary, summaryMessage } from '../prompt/messages.ts';
import { fateOf, keptOf, keptText, type RetainedFate } from './retained.ts';
import { cutResults } from './shorten.ts';
import { countTokens, textOf } from '../prompt/tokens.ts';
import { transcriptOf } from './transcript.ts';

/** A thread is compacted when it fills this part of the model's window. */
export const COMPACT_AT = 0.8;
/** Cutting long results is enough when the thread then fits here. */
const ENOUGH = 0.6;
/** What stays word for word after summarising. */
const TAIL = 0.3;
/** For threads that are compacted by hand while the window is not known. */
const ASSUMED_WINDOW = 32_000;

export interface CompactionRequest {
  readonly messages: readonly StoredMessage[];
  readonly contextWindow: number | null;
  /** Tokens of what stands before the messages: system text and tools. */
  readonly fixedTokens: number;
  /** The whole prompt as the provider counts it, where that is known: estimates are scaled to it. */
  readonly measured?: number;
  /** By hand, or because the provider refused: summarise even if cutting would do. */
  readonly force: boolean;
  summarise(transcript: string): Promise<string>;
}

export interface Compaction {
  readonly throughSeq: number;
  readonly replacement: readonly Pick<StoredMessage, 'message' | 'retain'>[];
  /** Messages that were replaced. */
  readonly replaced: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** What became of the results that asked to be kept. */
  readonly retained: RetainedFate;
}

/** Long results are cut first; then the oldest part is summarised. A call and its result stay together. null: nothing to gain. */
export async function compact(request: CompactionRequest): Promise<Compaction | null> {
  const { messages, force } = request;
  const window = request.contextWindow ?? ASSUMED_WINDOW;
  const estimated = await tokensOf(messages);
  const scale = Math.max(1, (request.measured ?? 0) / (request.fixedTokens + sum(estimated)));
  const scaled = (sizes: readonly number[]) => sizes.map((size) => size * scale);
  const total = (sizes: readonly number[]) => Math.round(sum(scaled(sizes)));
  const tokensBefore = total(estimated);
  const cut = cutResults(messages, window);
  const sizes = scaled(await tokensOf(cut));
  const afterCut = Math.round(sum(sizes));
  if (!force && request.fixedTokens * scale + afterCut <= window * ENOUGH) return cutOnly(messages, cut, tokensBefore, afterCut);
  const split = splitAt(cut, sizes, force ? Math.min(window * TAIL, afterCut / 2) : window * TAIL);
  const old = cut.slice(0, split);
  // The question that is being worked on stays, even when its answer has grown longer than the rest.
  const question = old[cut.findLastIndex(({ message }) => message.role === 'user' && !isSummary(message))];
  if (!old.some((stored) => stored !== question && !isSummary(stored.message))) return cutOnly(messages, cut, tokensBefore, afterCut);
  const summary = await request.summarise(transcriptOf(old.map(({ message }) => message)));
  const kept = keptOf(old);
  // What stays keeps its place in the store, unless it was shortened itself.
  const through = Math.max(
    split - 1,
    cut.findLastIndex((message, index) => message !== messages[index]),
  );
  const replacement = [
    {
      message: summaryMessage([SUMMARY_HEAD, summary.trim(), keptText(kept)].filter(Boolean).join('\n\n')),
      retain: Object.fromEntries(kept.map(({ tool, retain }) => [`${tool}#${retain.key}`, retain])),
    },
    ...(question ? [{ message: question.message, retain: question.retain }] : []),
    ...cut.slice(split, through + 1).map(({ message, retain }) => ({ message, retain })),
  ];
  const tokensAfter = total(await tokensOf([...replacement, ...cut.slice(through + 1)]));
  if (tokensAfter >= tokensBefore) return null;
  const retained = fateOf(messages, [...replacement, ...cut.slice(through + 1)]);
  return { throughSeq: (messages[through] as StoredMessage).seq, replacement, replaced: split, tokensBefore, tokensAfter, retained };
}

const SUMMARY_HEAD = '[What was said before, in short: the conversation had become too long to be kept word for word.]';

function cutOnly(
  messages: readonly StoredMessage[],
  cut: readonly StoredMessage[],
  tokensBefore: number,
  tokensAfter: number,
): Compaction | null {
  const last = cut.findLastIndex((message, index) => message !== messages[index]);
  if (last < 0) return null;
  const replacement = cut.slice(0, last + 1).map(({ message, retain }) => ({ message, retain }));
  const retained = fateOf(messages, cut);
  return { throughSeq: (messages[last] as StoredMessage).seq, replacement, replaced: last + 1, tokensBefore, tokensAfter, retained };
}

/** Where the part begins that stays: within `budget` tokens from the end, never between a call and its result. */
function splitAt(messages: readonly StoredMessage[], sizes: readonly number[], budget: number): number {
  let split = messages.length;
  let kept = 0;
  while (split > 0 && kept + (sizes[split - 1] as number) <= budget) kept += sizes[--split] as number;
  const isTool = (index: number) => messages[index]?.message.role === 'tool';
  let forward = split;
  while (isTool(forward)) forward += 1;
  if (forward < messages.length) split = forward;
  else {
    // The newest call has not been answered by the model yet: it stays whatever its size.
    split = Math.min(split, messages.length - 1);
    while (split > 0 && isTool(split)) split -= 1;
  }
  return split;
}

async function tokensOf(messages: readonly { readonly message: Message }[]): Promise<readonly number[]> {
  return (await countTokens(messages.map(({ message }) => textOf(message)))).map((tokens) => tokens + 4);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
