import type { Diagnostic, Logger } from 'pith';
import { CacheFile, type StateFolder } from '@pith/safe-files';
import type { WordVectors } from '@pith/word-ranker';

/** Raise it when documents are counted differently or the format changes: older stored indexes are then rebuilt. A test pins it. */
export const INDEX_FORMAT = 3;

/** Far more than the largest library needs. */
const MOST_BYTES = 1024 * 1024 * 1024;

/** The stored index in one file, so that a process's first message finds skills. A cache: it may be deleted at any time. */
export class KeptIndex {
  private readonly file: CacheFile;

  constructor(folder: StateFolder, logger: Logger) {
    this.file = new CacheFile(folder, 'skills.index', MOST_BYTES, logger);
  }

  /** null where the file is missing, damaged, of another version or format, or was made with another table. */
  read<T>(vectors: WordVectors | null, decode: (ranker: Uint8Array) => T): T | null {
    return this.file.read(versionOf(vectors), decode);
  }

  /** Never rejects: without the file the next process counts everything. */
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
