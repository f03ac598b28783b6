import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type ExtensionContext, messageOf } from 'pith';
import { once } from '@pith/promises';
import { WordVectors } from '@pith/word-ranker';

const TABLE = 'vectors/english.bin';

/** The table of word vectors of this extension, read once; null where it cannot be: words decide then. */
export function wordVectors({ directory, logger }: Pick<ExtensionContext, 'directory' | 'logger'>): () => Promise<WordVectors | null> {
  return once(async () => {
    try {
      return new WordVectors(await readFile(path.join(directory, TABLE)));
    } catch (error) {
      logger.warn(`skills are found by their words alone: ${TABLE} of this extension cannot be read: ${messageOf(error)}`);
      return null;
    }
  });
}
