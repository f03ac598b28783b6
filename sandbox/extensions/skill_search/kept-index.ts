import type { Diagnostic, Logger } from 'pith';
import { CacheFile, type StateFolder } from '@pith/safe-files';
import type { WordVectors } from '@pith/word-ranker';

/** Raise it when documents are counted otherwise than before, or the bytes have another shape: what older versions kept is then counted again. A test pins it. */
export const INDEX_FORMAT = 3;

/** Far above what the largest library needs. */
const MOST_BYTES = 1024 * 1024 * 1024;

/** What was counted of skills, in one file, so that the first message of a process finds them. A cache: it may be deleted at any time. */
export class KeptIndex {
  private readonly file: CacheFile;

  constructor(folder: StateFolder, logger: Logger) {
    this.file = new CacheFile(folder, 'skills.index', MOST_BYTES, logger);
  }

  /** null where there is none, or it is damaged, of another version or shape, or counted with another table. */
  read<T>(vectors: WordVectors | null, decode: (ranker: Uint8Array) => T): T | null {
    return this.file.read(versionOf(vectors), decode);
  }

  /** Never rejects: without it the next process counts all. */
  write(ranker: Uint8Array, vectors: WordVectors | null): Promise<void> {
    return this.file.write(versionOf(vectors), ranker);
  }

  findings(): readonly Diagnostic[] {
    return this.file.findings('each process counts all skills again');
  }
}

function versionOf(vectors: WordVectors | null): string {
  return JSON.stringify([INDEX_FORMAT, vectors?.digest ?? null]);
}
