import { readRegularFile } from '@pith/safe-files';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type ExtensionContext, messageOf } from 'pith';
import { once } from '@pith/promises';
import { WordVectors } from '@pith/word-ranker';

const TABLE = 'vectors/english.bin';
const MOST_BYTES = 16 * 1024 * 1024;

/** Whether the table exists, without reading it: damage is found when it is read. */
export function hasWordVectors({ directory }: Pick<ExtensionContext, 'directory'>): Promise<boolean> {
  return stat(path.join(directory, TABLE)).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** This extension's table of word vectors, read once; null where it cannot be read: words decide then. */
export function wordVectors({ directory, logger }: Pick<ExtensionContext, 'directory' | 'logger'>): () => Promise<WordVectors | null> {
  return once(async () => {
    try {
      return new WordVectors(await readRegularFile(path.join(directory, TABLE), MOST_BYTES));
    } catch (error) {
      logger.warn(`skills are found by their words alone: ${TABLE} of this extension cannot be read: ${messageOf(error)}`);
      return null;
    }
  });
}
