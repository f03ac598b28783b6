import { codeOf, messageOf } from '../../contract/errors.ts';
import type { ContextDocument, ContextParts, TurnInfo } from '../../contract/index.ts';
import type { ContextSource } from '../../kernel/extensions-port.ts';
import type { OfferedDocument } from './documents.ts';
import { cutToTokens } from '../compaction/tokens.ts';

/** The most that one provider may put beside a user's message. */
export const TURN_PART_TOKENS = 400;

export interface ContextPart {
  readonly extensionId: string;
  readonly text: string;
}

export interface GatheredContext {
  /** In order of priority, then id. */
  readonly system: readonly ContextPart[];
  readonly turn: readonly ContextPart[];
  /** Whole, as many as were given. */
  readonly documents: readonly OfferedDocument[];
  /** Providers that were left out; the host has recorded why. */
  readonly skipped: readonly { readonly extensionId: string; readonly code: string; readonly message: string }[];
}

/** Asks all providers side by side. One that fails is left out of this turn; nothing here rejects. */
export async function gatherContext(
  sources: readonly ContextSource[],
  prompt: string,
  turn: TurnInfo,
  signal: AbortSignal,
): Promise<GatheredContext> {
  const ordered = [...sources].sort((a, b) => a.priority - b.priority || (a.extensionId < b.extensionId ? -1 : 1));
  const answers = await Promise.all(ordered.map((source) => ask(source, prompt, turn, signal)));
  return {
    system: answers.flatMap(({ extensionId, system }) => (system ? [{ extensionId, text: system }] : [])),
    turn: answers.flatMap(({ extensionId, turn: text }) => (text ? [{ extensionId, text }] : [])),
    documents: answers.flatMap(({ extensionId, documents = [] }) => documents.map((each) => ({ extensionId, ...each }))),
    skipped: answers.flatMap(({ extensionId, failure }) => (failure ? [{ extensionId, ...failure }] : [])),
  };
}

interface Answer {
  readonly extensionId: string;
  readonly system?: string;
  readonly turn?: string;
  readonly documents?: readonly ContextDocument[];
  readonly failure?: { readonly code: string; readonly message: string };
}

async function ask(source: ContextSource, prompt: string, turn: TurnInfo, signal: AbortSignal): Promise<Answer> {
  const { extensionId } = source;
  try {
    const { system, turn: beside, documents } = partsOf(await source.getContext(prompt, turn, signal), source.placement);
    return { extensionId, system: system?.trim(), documents, turn: beside && (await cutToTokens(beside.trim(), TURN_PART_TOKENS)) };
  } catch (error) {
    return { extensionId, failure: { code: codeOf(error, 'provider_failed'), message: messageOf(error) } };
  }
}

function partsOf(answer: string | ContextParts | null, placement: 'system' | 'turn'): ContextParts {
  if (answer === null || answer === undefined) return {};
  return typeof answer === 'string' ? { [placement]: answer } : answer;
}
