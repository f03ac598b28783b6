import type { ContextDocument } from '../../contract/index.ts';
import { countTokens, cutToTokens } from '../compaction/tokens.ts';

/** All documents beside one message fill at most this part of the model's window. */
const SHARE = 0.25;
/** Where the window is not known. */
const ASSUMED_WINDOW = 200_000;

/** What is said of all that is left out of one message. */
const LINES_TOKENS = 400;

/** A whole text beside a message, and whose it is. */
export interface OfferedDocument extends ContextDocument {
  readonly extensionId: string;
}

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
