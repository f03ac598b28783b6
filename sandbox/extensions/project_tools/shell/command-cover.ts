import { printableLine } from '@pith/plain-text';
import type { ApprovalQuestion } from 'pith';
import { shownWords, type Words } from '@pith/command-line';

/** A command that a person is asked about, with all that the question shows beside it. */
export interface AskedCommand {
  readonly kind: 'command' | 'unsandboxed';
  readonly words: Words;
  /** The words that name what it does, where it can only read: the cover is then for all that so begin and can only read. */
  readonly readOnly: Words | null;
  /** From the project down, joined by `/`. */
  readonly folder: string;
  readonly network: boolean;
  readonly background: boolean;
}

/**
 * What an `always` covers: a prefix of words says nothing of what options do, so it is this very command, or one that can only read. Words
 * that are not plain are quoted, so that no two calls share a key by accident.
 */
export function coverOf({ kind, words, readOnly, folder, network, background }: AskedCommand): NonNullable<ApprovalQuestion['always']> {
  const shown = shownWords(readOnly ?? words);
  const place = folder === '.' ? '' : ` in ${JSON.stringify(folder)}`;
  const what = readOnly === null ? `exactly \`${shown}\`` : `\`${shown}\` with all that can only read`;
  return {
    key: `${kind}:${shown}${readOnly === null ? '' : ' …'}${network ? ' +network' : ''}${background ? ' +background' : ''}${place}`,
    covers: printableLine(`${what}${network ? ' with network' : ''}${background ? ' in the background' : ''}${place}`),
  };
}
