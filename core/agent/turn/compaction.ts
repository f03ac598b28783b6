import { fieldsOf, isPlainMap } from '@pith/plain-data';
import { countTokens } from '@pith/token-count';
import { codeOf, CompactionProvider, type Message, messageOf, PithError, type Remote, type TurnEvent } from '../../contract/index.ts';
import { unknownThread, type Usage, type Retain, type StoredMessage, type ThreadWriter, isMessage } from '../threads/thread.ts';
import { readWithRetry } from '../../models/index.ts';
import { heldIn, isSummary, keptAndDropped, textOf, upperBound } from '../prompt/messages.ts';
import { answeredHistory, sentHistory } from '../prompt/history.ts';
import { ModelPrompt } from '../prompt/request.ts';
import { spendTokens } from './call-tree.ts';
import { LOCAL_USER } from '../../declarations/index.ts';
import { planTurn, UNKNOWN_CHANNEL } from './plan.ts';
import type { RunningTurn, TurnDependencies, TurnPlan } from './running-turn.ts';

/** Tokens of the prompt as it is now: what the provider reported, and an estimate of what came since. */
function measure(turn: RunningTurn): number {
  const { meter, prompt } = turn.conversation;
  const texts = prompt.messages.slice(meter.counted).map(textOf);
  if (meter.counted === 0) texts.push(toolsText(turn));
  for (const text of texts) meter.tokens += countTokens(text) + MESSAGE_TOKENS;
  meter.counted = prompt.messages.length;
  return meter.tokens;
}

/** Never less than `measure` would say, and cheap. */
function atMost(turn: RunningTurn): number {
  const { meter, prompt } = turn.conversation;
  const fresh = upperBound(prompt.messages, meter.counted);
  return meter.tokens + fresh + (meter.counted === 0 ? toolsText(turn).length : 0);
}

/** Adds one answer's use; what the provider does not report is estimated. Call before the answer joins the prompt, and `coverAnswer` after it. */
export function addUsage(
  turn: RunningTurn,
  { inputTokens, outputTokens }: { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined },
  text: string,
): void {
  const input = inputTokens ?? measure(turn);
  const output = outputTokens ?? countTokens(text);
  turn.progress.request = spendTokens(turn, input, output);
  turn.conversation.meter.tokens = input + output;
}

/** The answer that has joined the prompt is covered by its output tokens. */
export function coverAnswer({ conversation: { meter, prompt } }: RunningTurn): void {
  meter.counted = prompt.messages.length;
}

const MESSAGE_TOKENS = 4;

function toolsText(turn: RunningTurn): string {
  return JSON.stringify(turn.offer.functionTools);
}

/** A thread is compacted when it fills this part of the model's window. */
const COMPACT_AT = 0.8;
/** How far a prompt must have grown before compaction is tried again that gained nothing. */
const WORTH_ANOTHER_TRY = 1.1;

/** null when no extension that can run provides it. */
async function compactorOf({ host: { extensions, providers } }: TurnDependencies): Promise<Remote<CompactionProvider> | null> {
  const found = await providers.active(CompactionProvider);
  return found.find(({ extensionId }) => !extensions.isForeign(extensionId)) ?? found[0] ?? null;
}

/**
 * Shortens the thread of a turn that has come too near to the model's window; with `force` whatever its size. Returns whether the prompt is
 * shorter now. Throws `model_context_too_long` when the prompt does not fit and no extension can shorten it.
 */
export async function* compactIfNeeded(turn: RunningTurn, { force = false } = {}): AsyncGenerator<TurnEvent, boolean, undefined> {
  const { deps, plan, record, conversation, offer, signal } = turn;
  const { meter } = conversation;
  const { contextWindow } = plan.model;
  if (!force) {
    if (contextWindow === null || atMost(turn) < contextWindow * COMPACT_AT) return false;
    if (measure(turn) < Math.max(contextWindow * COMPACT_AT, meter.incompressible * WORTH_ANOTHER_TRY)) return false;
  }
  const measured = meter.tokens;
  const provider = await compactorOf(deps);
  if (provider === null) {
    if (!force && contextWindow !== null && measured < contextWindow) return false;
    throw unavailable('model_context_too_long', 'the conversation is longer than the model can take');
  }
  const prompt = { model: plan.model, system: plan.system, tools: offer.functionTools };
  const thread = { threadId: record.threadId, turnId: record.id, prompt, measured, force };
  let found: Shorter | null = null;
  try {
    found = await shorten(deps, provider, thread, signal);
  } catch (error) {
    if (!signal.aborted) yield* turn.notices.fresh(record, [noticeOf(error, provider)]);
  }
  if (found === null) {
    meter.incompressible = measured;
    return false;
  }
  await replace(deps, turn.writer, thread, found);
  const loaded = await deps.threads.load(record.threadId);
  const history = sentHistory(loaded?.messages ?? [], record.id);
  conversation.prompt = conversation.prompt.of(
    plan.system,
    history.map(({ message }) => message),
  );
  offer.info = { ...offer.info, compactions: found.compactions, held: heldIn(loaded?.messages ?? []) };
  meter.tokens = 0;
  meter.counted = 0;
  spendTokens(turn, found.usage.inputTokens, found.usage.outputTokens);
  const message = `the conversation was shortened to fit the model: ${found.tokensBefore} to ${found.tokensAfter} tokens`;
  yield { type: 'notice', code: 'thread_compacted', message };
  return true;
}

/** Shortens a thread now, whatever its size, by its agent's model. Equal figures mean that there was nothing to shorten. Rejects `thread_unknown`. */
export async function compactByHand(
  deps: TurnDependencies,
  threadId: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ readonly tokensBefore: number; readonly tokensAfter: number }> {
  const loaded = await deps.threads.load(threadId);
  if (loaded === null) throw unknownThread(threadId);
  const { spec } = await deps.registry.resolve(loaded.thread.agentId);
  const provider = await compactorOf(deps);
  if (provider === null) throw unavailable('provider_unavailable', `the thread '${threadId}' cannot be compacted`);
  return deps.queue.run(
    threadId,
    async ({ lost, fence }) => {
      const stop = AbortSignal.any([signal, lost]);
      const { thread, messages } = (await deps.threads.load(threadId)) ?? loaded;
      const history = sentHistory(messages);
      const turn = { ...BY_HAND, threadId, agent: spec };
      const { model, system, tools } = await planTurn(deps, { turn, notes: [], thread: { ...thread, history }, text: null }, stop);
      const asked = { threadId, turnId: null, prompt: { model, system, tools: tools.functions }, measured: 0, force: true };
      const found = await shorten(deps, provider, asked, stop);
      stop.throwIfAborted();
      if (found) await replace(deps, deps.threads.writer(fence), asked, found);
      const tokens = found ? 0 : sum(history.map(({ message }) => countTokens(textOf(message))));
      return found ? { tokensBefore: found.tokensBefore, tokensAfter: found.tokensAfter } : { tokensBefore: tokens, tokensAfter: tokens };
    },
    signal,
  );
}

/** The turn that it would be. */
const BY_HAND = {
  id: 'compact',
  channelId: UNKNOWN_CHANNEL,
  userId: LOCAL_USER,
  policy: {},
  correlationId: 'compact',
  depth: 0,
  key: null,
};

interface ThreadToShorten {
  readonly threadId: string;
  /** null: a person asks. */
  readonly turnId: string | null;
  readonly prompt: Pick<TurnPlan, 'model' | 'system'> & { readonly tools: unknown };
  /** The whole prompt as the provider counts it, 0 where that is not known: estimates are scaled to it. */
  readonly measured: number;
  readonly force: boolean;
}

/** What is to be written. */
interface Shorter {
  readonly throughSeq: number;
  readonly replacement: Recipe['messages'];
  /** Messages that are replaced. */
  readonly replaced: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly kept: readonly Retain[];
  readonly dropped: readonly Retain[];
  readonly usage: Usage;
  /** With this one. */
  readonly compactions: number;
}

type Recipe = NonNullable<Awaited<ReturnType<CompactionProvider['compact']>>>;

/** Nothing is written. null: nothing to gain. Rejects when the provider fails. */
async function shorten(
  deps: TurnDependencies,
  provider: Remote<CompactionProvider>,
  { threadId, turnId, prompt, measured, force }: ThreadToShorten,
  signal: AbortSignal,
): Promise<Shorter | null> {
  const loaded = await deps.threads.load(threadId);
  if (loaded === null) return null;
  const current = turnId ?? undefined;
  const history = answeredHistory(sentHistory(loaded.messages, current), current).messages;
  const estimated = tokensOf(history);
  const fixed = countTokens(prompt.system) + countTokens(JSON.stringify(prompt.tools));
  const scale = Math.max(1, measured / (fixed + sum(estimated)));
  const scaled = (tokens: number) => Math.round(tokens * scale);
  const messages = history.map(({ message, retain }, index) => ({
    message,
    retain,
    tokens: scaled(estimated[index] as number),
    isSummary: isSummary(message),
  }));
  const { contextWindow } = prompt.model;
  const recipe = await provider.compact({ messages, contextWindow, fixedTokens: scaled(fixed), force }, signal);
  if (recipe === null) return null;
  if (!canBeFollowed(recipe, history))
    throw new PithError('provider_failed', `'${provider.extensionId}' shortens conversations to something that no model would take`, {
      cure: `correct it, or switch it off: extensions.${provider.extensionId}.enabled: false`,
    });
  const { replaced } = recipe;
  const answer = recipe.summary && (await summarise(deps, prompt, recipe.summary, signal));
  const replacement = answer ? withSummary(recipe.messages, answer.text) : recipe.messages;
  const after = [...replacement, ...history.slice(replaced)];
  const tokensBefore = scaled(sum(estimated));
  const tokensAfter = scaled(sum(tokensOf(after)));
  if (tokensAfter >= tokensBefore) return null;
  const { seq: throughSeq } = history[replaced - 1] as StoredMessage;
  const usage = answer?.usage ?? { inputTokens: 0, outputTokens: 0 };
  const compactions = loaded.thread.compactions + 1;
  return { throughSeq, replacement, replaced, tokensBefore, tokensAfter, ...keptAndDropped(history, after), usage, compactions };
}

async function replace(deps: TurnDependencies, writer: ThreadWriter, { threadId, turnId }: ThreadToShorten, found: Shorter): Promise<void> {
  const { throughSeq, replacement, replaced: messages, tokensBefore, tokensAfter, kept, dropped, compactions } = found;
  await writer.compact(threadId, throughSeq, replacement);
  deps.events.publish('thread.compacted', { threadId, turnId, messages, tokensBefore, tokensAfter, compactions, kept, dropped });
}

/** Whether models accept a thread that is written like this: its parts are those of conversations, it begins with a user's message, and each call is followed by its result. */
function canBeFollowed({ replaced, messages }: Recipe, history: readonly StoredMessage[]): boolean {
  if (!(Number.isInteger(replaced) && replaced >= 1 && replaced <= history.length && Array.isArray(messages))) return false;
  if (!messages.every(isWellFormed)) return false;
  const after = [...messages.map((each) => ({ ...each, seq: 0, turnId: '' })), ...history.slice(replaced)];
  return after[0]?.message.role === 'user' && answeredHistory(after).faults.length === 0;
}

/** It may come from another process: nothing of it is known. */
function isWellFormed(given: unknown): boolean {
  const { message, retain } = fieldsOf(given);
  const { role, content } = fieldsOf(message);
  const kept = Object.values(fieldsOf(retain)).map(fieldsOf);
  return (
    isPlainMap(retain) &&
    isMessage(message) &&
    role !== 'system' &&
    (content as readonly unknown[]).length > 0 &&
    (content as readonly unknown[]).every((part) => fieldsOf(part)['type'] !== 'file') &&
    kept.every(({ key, digest }) => typeof key === 'string' && typeof digest === 'string')
  );
}

function withSummary([first, ...rest]: Recipe['messages'], text: string): Recipe['messages'] {
  if (first?.message.role !== 'user') return rest;
  const { message, retain } = first;
  const content = [...message.content.slice(0, 1), { type: 'text' as const, text }, ...message.content.slice(1)];
  const providerOptions = { ...message.providerOptions, pith: { summary: true } };
  return [{ message: { ...message, content, providerOptions }, retain }, ...rest];
}

/** A model that cannot summarise now does not end the conversation. */
async function summarise(
  { clock }: TurnDependencies,
  { model }: Pick<TurnPlan, 'model'>,
  { ask, otherwise }: NonNullable<Recipe['summary']>,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly usage: Usage }> {
  let text = '';
  let usage = { inputTokens: 0, outputTokens: 0 };
  try {
    const prompt = new ModelPrompt('', ask.prompt, model).sent();
    for await (const part of readWithRetry(model.model, { ...ask, prompt }, { clock, signal, maxRetries: 1 })) {
      if (part.type === 'text-delta') text += part.delta;
      if (part.type === 'finish')
        usage = { inputTokens: part.usage?.inputTokens?.total ?? 0, outputTokens: part.usage?.outputTokens?.total ?? 0 };
    }
  } catch (error) {
    if (signal.aborted) throw error;
    text = '';
  }
  return { text: text.trim() || otherwise, usage };
}

function unavailable(code: 'model_context_too_long' | 'provider_unavailable', what: string): PithError {
  return new PithError(code, `${what}, and no extension that runs provides 'compaction'`, {
    cure: "switch on the one that ships, under 'extensions' in the settings, or begin a new thread",
  });
}

function noticeOf(error: unknown, { extensionId }: Remote<CompactionProvider>): { readonly code: string; readonly message: string } {
  return { code: codeOf(error, 'provider_failed'), message: `'${extensionId}' could not shorten the conversation: ${messageOf(error)}` };
}

function tokensOf(messages: readonly { readonly message: Message }[]): readonly number[] {
  return messages.map(({ message }) => countTokens(textOf(message)) + MESSAGE_TOKENS);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
