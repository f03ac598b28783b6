import { codeOf, type ContextDocument, type ContextParts, ContextProvider, messageOf, type TurnInfo } from '../../contract/index.ts';
import { type Cleaning, Problem, type Providers } from '../../kernel/index.ts';
import { type OfferedDocument, cutToTokens, countTokens } from './messages.ts';

/** The most that one provider may put beside a user's message. */
export const TURN_PART_TOKENS = 400;

/** A context provider as a turn uses it. */
export interface ContextSource {
  readonly extensionId: string;
  readonly placement: 'system' | 'turn';
  /** Rejects `provider_timeout` or `provider_failed`, which is recorded already. */
  getContext(prompt: string, turn: TurnInfo, signal: AbortSignal): Promise<string | ContextParts | null>;
}

export interface ContextHost {
  readonly providers: Pick<Providers, 'active' | 'record'>;
  readonly secrets: Pick<Cleaning, 'redact'>;
}

/** All context providers that can run now, sorted by priority, then id. What they say is checked, and holds no secrets. */
export async function contextSources(host: ContextHost): Promise<readonly ContextSource[]> {
  const found = await host.providers.active(ContextProvider);
  return found
    .map((provider) => ({ provider, priority: Number(provider.contextPriority), id: provider.extensionId }))
    .sort((a, b) => a.priority - b.priority || (a.id < b.id ? -1 : 1))
    .map(({ provider, id }) => ({
      extensionId: id,
      placement: provider.placement === 'turn' ? 'turn' : 'system',
      getContext: async (prompt, turn, signal) => checked(host, id, await provider.getContext(prompt, turn, signal)),
    }));
}

function checked({ providers, secrets: { redact } }: ContextHost, id: string, found: unknown): string | ContextParts | null {
  if (found === null || found === undefined) return null;
  if (typeof found === 'string') return redact(found);
  const { system, turn, documents } = found as ContextParts;
  const isText = (part: unknown) => part === undefined || typeof part === 'string';
  if (typeof found === 'object' && isText(system) && isText(turn) && areDocuments(documents)) {
    return {
      ...(system === undefined ? {} : { system: redact(system) }),
      ...(turn === undefined ? {} : { turn: redact(turn) }),
      ...(documents === undefined ? {} : { documents: documents.map((each) => cleanDocument(each, redact)) }),
    };
  }
  const message = `getContext of '${id}' returned neither text nor { system?, turn?, documents? } nor null`;
  const problem = new Problem('getContext', 'provider_failed', message);
  providers.record(id, problem);
  throw problem;
}

function cleanDocument({ key, digest, text, instead, line }: ContextDocument, redact: (text: string) => string): ContextDocument {
  return {
    key,
    digest,
    text: redact(text),
    ...(instead === undefined ? {} : { instead: redact(instead) }),
    ...(line === undefined ? {} : { line: redact(line) }),
  };
}

const MOST_DOCUMENTS = 100;

function areDocuments(value: unknown): boolean {
  if (value === undefined) return true;
  const isDocument = (each: unknown): boolean => {
    const {
      key,
      digest,
      text,
      instead = '',
      line = '',
    } = (typeof each === 'object' && each !== null ? each : {}) as Partial<ContextDocument>;
    return [key, digest, text, instead, line].every((part) => typeof part === 'string');
  };
  return Array.isArray(value) && value.length <= MOST_DOCUMENTS && value.every(isDocument);
}

export interface ContextPart {
  readonly extensionId: string;
  readonly text: string;
}

export interface GatheredContext {
  /** In the order of the sources. */
  readonly system: readonly ContextPart[];
  readonly turn: readonly ContextPart[];
  /** Whole, as many as were given. */
  readonly documents: readonly OfferedDocument[];
  /** Providers that were left out; the host has recorded why. */
  readonly skipped: readonly { readonly extensionId: string; readonly code: string; readonly message: string }[];
}

/** Asks all side by side. One that fails is left out of this turn; nothing here rejects. */
export async function gatherContext(
  sources: readonly ContextSource[],
  prompt: string,
  turn: TurnInfo,
  signal: AbortSignal,
): Promise<GatheredContext> {
  const answers = await Promise.all(sources.map((source) => ask(source, prompt, turn, signal)));
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

/** All documents beside one message fill at most this part of the model's window. */
const SHARE = 0.25;
/** Where the window is not known. */
const ASSUMED_WINDOW = 200_000;

/** What is said of all that is left out of one message. */
const LINES_TOKENS = 400;

export interface FittingDocuments {
  readonly documents: readonly OfferedDocument[];
  /** What the message says of each that it leaves out, by whose they are. */
  readonly lines: readonly { readonly extensionId: string; readonly text: string }[];
  readonly notices: readonly { readonly code: string; readonly message: string }[];
}

/** In their order, those that fit; none is cut. */
export async function fittingDocuments(offered: readonly OfferedDocument[], contextWindow: number | null): Promise<FittingDocuments> {
  const distinct = [...new Map(offered.map((document) => [`${document.extensionId} ${document.key}`, document])).values()];
  if (distinct.length === 0) return NONE;
  const budget = Math.floor((contextWindow ?? ASSUMED_WINDOW) * SHARE);
  const sizes = await countTokens(distinct.map(({ text }) => text));
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
    lines: await linesOf(others.map(({ document }) => document)),
    notices: others.map(({ document, size }) => noticeOf(document, size, budget)),
  };
}

const NONE: FittingDocuments = { documents: [], lines: [], notices: [] };

/** The model is not left to believe that what it was to be given stands there. */
async function linesOf(leftOut: readonly OfferedDocument[]): Promise<FittingDocuments['lines']> {
  const byExtension = new Map<string, string[]>();
  for (const { extensionId, key, instead } of leftOut) {
    const lines = byExtension.get(extensionId) ?? [];
    byExtension.set(extensionId, lines);
    lines.push(instead?.trim() || `[${key}: left out, it has no room in this message]`);
  }
  return Promise.all(
    [...byExtension].map(async ([extensionId, lines]) => ({ extensionId, text: await cutToTokens(lines.join('\n'), LINES_TOKENS) })),
  );
}

function noticeOf({ extensionId, key }: OfferedDocument, size: number, budget: number): FittingDocuments['notices'][number] {
  return {
    code: 'document_left_out',
    message: `'${key}' of '${extensionId}' is left out of this message: it has about ${size} tokens, and all such texts together may have ${budget}, a quarter of the model's window`,
  };
}
