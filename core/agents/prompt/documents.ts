import { countTokens } from '../compaction/tokens.ts';

/** All documents beside one message fill at most this part of the model's window. */
const SHARE = 0.25;
/** Where the window is not known. */
const ASSUMED_WINDOW = 200_000;

/** A whole text beside a message, and whose it is. */
export interface OfferedDocument {
  readonly extensionId: string;
  readonly key: string;
  readonly digest: string;
  readonly text: string;
}

export interface FittingDocuments {
  readonly documents: readonly OfferedDocument[];
  readonly notices: readonly { readonly code: string; readonly message: string }[];
}

/** In their order, those that fit; none is cut. */
export async function fittingDocuments(offered: readonly OfferedDocument[], contextWindow: number | null): Promise<FittingDocuments> {
  const distinct = [...new Map(offered.map((document) => [`${document.extensionId} ${document.key}`, document])).values()];
  if (distinct.length === 0) return { documents: [], notices: [] };
  const budget = Math.floor((contextWindow ?? ASSUMED_WINDOW) * SHARE);
  const sizes = await countTokens(distinct.map(({ text }) => text));
  let left = budget;
  const documents: OfferedDocument[] = [];
  const notices: FittingDocuments['notices'][number][] = [];
  distinct.forEach((document, index) => {
    const size = sizes[index] as number;
    if (size > left) notices.push(leftOut(document, size, budget));
    else {
      documents.push(document);
      left -= size;
    }
  });
  return { documents, notices };
}

function leftOut({ extensionId, key }: OfferedDocument, size: number, budget: number): FittingDocuments['notices'][number] {
  return {
    code: 'document_left_out',
    message: `'${key}' of '${extensionId}' is left out of this message: it has about ${size} tokens, and all such texts together may have ${budget}, a quarter of the model's window`,
  };
}
