import { countTokens } from '@pith/token-count';
import { codeOf, type ContextParts, ContextProvider, messageOf, type Remote, type TurnInfo } from '../../contract/index.ts';
import type { Cleaning } from '../../trust/index.ts';
import { Problem, type Providers } from '../../kernel/index.ts';
import { cutToTokens, type OfferedDocument } from './messages.ts';

/** The most that one provider may put beside a user's message. */
const TURN_PART_TOKENS = 400;

interface ContextHost {
  readonly providers: Pick<Providers, 'active' | 'record'>;
  readonly secrets: Pick<Cleaning, 'redactJson'>;
}

/** A context provider as a turn uses it. */
interface ContextSource {
  readonly extensionId: string;
  /** What it says, checked and without secrets. Rejects `provider_timeout` or `provider_failed`, which is recorded already. */
  getContext(prompt: string, turn: TurnInfo, signal: AbortSignal): Promise<ContextParts>;
}

/** All context providers that can run now, by priority, then id. */
export async function contextSources(host: ContextHost): Promise<readonly ContextSource[]> {
  const found = await host.providers.active(ContextProvider);
  return found
    .map((provider) => ({ provider, priority: Number(provider.contextPriority), extensionId: provider.extensionId }))
    .sort((a, b) => a.priority - b.priority || (a.extensionId < b.extensionId ? -1 : 1))
    .map(({ provider, extensionId }) => ({
      extensionId,
      getContext: async (prompt, turn, signal) => partsOf(host, provider, await provider.getContext(prompt, turn, signal)),
    }));
}

export interface Notice {
  readonly code: string;
  readonly message: string;
}

interface ContextPart {
  readonly extensionId: string;
  readonly text: string;
}

interface GatheredContext {
  /** In the order of the providers. */
  readonly system: readonly ContextPart[];
  readonly turn: readonly ContextPart[];
  /** Whole, as many as were given. */
  readonly documents: readonly OfferedDocument[];
  /** On providers that were left out; the kernel has recorded why. */
  readonly notices: readonly Notice[];
}

/** Asks all side by side. One that fails is left out of this turn; nothing here rejects. */
export async function gatherContext(sources: readonly ContextSource[], turn: TurnInfo, signal: AbortSignal): Promise<GatheredContext> {
  const ask = async ({ extensionId, getContext }: ContextSource): Promise<(ContextParts & Pick<ContextSource, 'extensionId'>) | Notice> => {
    try {
      const { system, turn: beside, documents } = await getContext(turn.userTexts.at(-1) ?? '', turn, signal);
      return { extensionId, system: system?.trim(), turn: beside && cutToTokens(beside.trim(), TURN_PART_TOKENS), documents };
    } catch (error) {
      return { code: codeOf(error, 'provider_failed'), message: `'${extensionId}' adds nothing to this turn: ${messageOf(error)}` };
    }
  };
  const answers = await Promise.all(sources.map(ask));
  const given = answers.flatMap((answer) => ('code' in answer ? [] : [answer]));
  return {
    system: given.flatMap(({ extensionId, system: text }) => (text ? [{ extensionId, text }] : [])),
    turn: given.flatMap(({ extensionId, turn: text }) => (text ? [{ extensionId, text }] : [])),
    documents: given.flatMap(({ extensionId, documents = [] }) => documents.map((each) => ({ ...each, extensionId }))),
    notices: answers.flatMap((answer) => ('code' in answer ? [answer] : [])),
  };
}

function partsOf({ providers, secrets }: ContextHost, { extensionId, placement }: Remote<ContextProvider>, found: unknown): ContextParts {
  if (found === null || found === undefined) return {};
  if (typeof found === 'string') return { [placement === 'turn' ? 'turn' : 'system']: secrets.redactJson(found) };
  const { system, turn, documents } = found as ContextParts;
  const isText = (part: unknown) => part === undefined || typeof part === 'string';
  if (typeof found === 'object' && isText(system) && isText(turn) && areDocuments(documents))
    return secrets.redactJson({ system, turn, documents });
  const message = `getContext of '${extensionId}' returned neither text nor { system?, turn?, documents? } nor null`;
  const problem = new Problem('getContext', 'provider_failed', message);
  providers.record(extensionId, problem);
  throw problem;
}

const MOST_DOCUMENTS = 100;

function areDocuments(value: unknown): boolean {
  if (value === undefined) return true;
  const isDocument = (each: unknown): boolean => {
    const { key, digest, text, fallback = '', label = '' } = (each ?? {}) as Partial<NonNullable<ContextParts['documents']>[number]>;
    return [key, digest, text, fallback, label].every((part) => typeof part === 'string');
  };
  return Array.isArray(value) && value.length <= MOST_DOCUMENTS && value.every(isDocument);
}

/** All documents beside one message fill at most this part of the model's window. */
const SHARE = 0.25;
/** Where the window is not known. */
const ASSUMED_WINDOW = 200_000;

/** What is said of all that is left out of one message. */
const LINES_TOKENS = 400;

interface FittingDocuments {
  readonly documents: readonly OfferedDocument[];
  /** What the message says of each that it leaves out, by whose they are. */
  readonly lines: readonly { readonly extensionId: string; readonly text: string }[];
  readonly notices: readonly Notice[];
}

/** In their order, those that fit; none is cut. */
export function fittingDocuments(offered: readonly OfferedDocument[], contextWindow: number | null): FittingDocuments {
  const distinct = [...new Map(offered.map((document) => [`${document.extensionId} ${document.key}`, document])).values()];
  if (distinct.length === 0) return NONE;
  const budget = Math.floor((contextWindow ?? ASSUMED_WINDOW) * SHARE);
  const sizes = distinct.map(({ text }) => countTokens(text));
  let left = budget;
  const documents: OfferedDocument[] = [];
  const others: { readonly document: OfferedDocument; readonly size: number }[] = [];
  distinct.forEach((document, index) => {
    const size = sizes[index] as number;
    if (size > left) others.push({ document, size });
    else {
      documents.push(document);
      left -= size;
    }
  });
  return {
    documents,
    lines: linesOf(others.map(({ document }) => document)),
    notices: others.map(({ document, size }) => noticeOf(document, size, budget)),
  };
}

const NONE: FittingDocuments = { documents: [], lines: [], notices: [] };

/** Tells the model what was left out. */
function linesOf(leftOut: readonly OfferedDocument[]): FittingDocuments['lines'] {
  const byExtension = new Map<string, string[]>();
  for (const { extensionId, key, fallback } of leftOut) {
    const lines = byExtension.get(extensionId) ?? [];
    byExtension.set(extensionId, lines);
    lines.push(fallback?.trim() || `[${key}: left out, it has no room in this message]`);
  }
  return [...byExtension].map(([extensionId, lines]) => ({ extensionId, text: cutToTokens(lines.join('\n'), LINES_TOKENS) }));
}

function noticeOf({ extensionId, key }: OfferedDocument, size: number, budget: number): FittingDocuments['notices'][number] {
  return {
    code: 'document_left_out',
    message: `'${key}' of '${extensionId}' is left out of this message: it has about ${size} tokens, and all such texts together may have ${budget}, a quarter of the model's window`,
  };
}
