import { cutResults, goneNote, retainedIn, retainedText, type Recipe, type Request, type Sized } from './results.ts';
import { askFor, extractOf, transcriptOf } from './transcript.ts';

/** Shortening long results suffices when the conversation then fits this share of the window. */
const ENOUGH = 0.6;
/** The share of the window that stays word for word after summarising. */
const TAIL = 0.3;
/** In tokens, for compaction by hand while the model's window is unknown. */
const ASSUMED_WINDOW = 32_000;

/** Shortens long results first, then summarises the oldest part. A call and its result stay together. null: nothing to gain. */
export function recipeFor({ messages, contextWindow, fixedTokens, force }: Request): Recipe | null {
  const window = contextWindow ?? ASSUMED_WINDOW;
  const cut = cutResults(messages, window);
  const total = cut.reduce((sum, { tokens }) => sum + tokens, 0);
  const lastCut = cut.findLastIndex((each, index) => each !== messages[index]);
  const cutOnly = lastCut < 0 ? null : { replaced: lastCut + 1, messages: cut.slice(0, lastCut + 1).map(stored), summary: null };
  if (!force && fixedTokens + total <= window * ENOUGH) return cutOnly;
  const split = splitAt(cut, force ? Math.min(window * TAIL, total / 2) : window * TAIL);
  const old = cut.slice(0, split);
  // The current question stays, even when its answer is longer than all else.
  const question = old[cut.findLastIndex(({ message, isSummary }) => message.role === 'user' && !isSummary)];
  if (!old.some((each) => each !== question && !each.isSummary)) return cutOnly;
  const transcript = transcriptOf(old.map(({ message }) => message));
  // A message that stays keeps its place in the store, unless it was shortened itself.
  const replaced = Math.max(split, lastCut + 1);
  return {
    replaced,
    summary: { ask: askFor(transcript, window), otherwise: extractOf(transcript) },
    messages: [summaryOf(old), ...(question ? [stored(question)] : []), ...cut.slice(split, replaced).map(stored)],
  };
}

const HEAD = '[What was said before, in short: the conversation had become too long to be kept word for word.]';

function summaryOf(old: readonly Sized[]): Recipe['messages'][number] {
  const retained = retainedIn(old);
  const text = retainedText(retained);
  return {
    message: {
      role: 'user',
      content: [HEAD, ...(text === '' ? [] : [text])].map((part) => ({ type: 'text', text: part })),
      providerOptions: goneNote(retained.flatMap(({ tool, retain, text }) => (text === null ? [{ tool, ...retain }] : []))),
    },
    retain: Object.fromEntries(retained.flatMap(({ tool, retain, text }) => (text === null ? [] : [[`${tool}#${retain.key}`, retain]]))),
  };
}

function stored({ message, retain }: Sized): Recipe['messages'][number] {
  return { message, retain };
}

/** Where the kept part begins: within `budget` tokens from the end, never between a call and its result. */
function splitAt(messages: readonly Sized[], budget: number): number {
  let split = messages.length;
  let kept = 0;
  while (split > 0 && kept + (messages[split - 1] as Sized).tokens <= budget) kept += (messages[--split] as Sized).tokens;
  const isTool = (index: number) => messages[index]?.message.role === 'tool';
  let forward = split;
  while (isTool(forward)) forward += 1;
  if (forward < messages.length) return forward;
  // The model has not answered the newest call yet, so it stays whatever its size.
  split = Math.min(split, messages.length - 1);
  while (split > 0 && isTool(split)) split -= 1;
  return split;
}
