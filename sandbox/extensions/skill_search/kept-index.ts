import { type Logger, messageOf } from 'pith';
import { CacheFile, type StateFolder } from '@pith/safe-files';
import { packed, unpacked, type WordVectors } from '@pith/word-ranker';

/** Raise it when documents are counted otherwise than before, or the bytes have another shape: what older versions kept is then counted again. A test pins it. */
export const INDEX_FORMAT = 2;

/** Far above what the largest library needs. */
const MOST_BYTES = 1024 * 1024 * 1024;

export interface Counted {
  readonly documents: readonly {
    readonly id: string;
    readonly version: string;
    /** Of what it says. */
    readonly digest: string;
    /** Of what else it is found by. */
    readonly extras: string;
  }[];
  /** As the ranker gives them. */
  readonly ranker: Uint8Array;
}

/** What was counted of skills, in one file, so that the first message of a process finds them. A cache: it may be deleted at any time. */
export class KeptIndex {
  private readonly file: CacheFile;
  private readonly logger: Logger;

  constructor(folder: StateFolder, logger: Logger) {
    this.file = new CacheFile(folder, 'skills.index', MOST_BYTES);
    this.logger = logger;
  }

  /** null where there is none, or it is damaged, of another version or counted with another table. */
  read(vectors: WordVectors | null): Counted | null {
    try {
      const bytes = this.file.read(versionOf(vectors));
      if (bytes === null) return null;
      const [documents, ranker] = unpacked(bytes) as [Uint8Array, Uint8Array];
      return { documents: JSON.parse(Buffer.from(documents).toString()) as Counted['documents'], ranker };
    } catch (error) {
      this.logger.debug('kept index of skills was not used', { why: messageOf(error) });
      return null;
    }
  }

  /** Never rejects: without it the next process counts all. */
  async write({ documents, ranker }: Counted, vectors: WordVectors | null): Promise<void> {
    try {
      await this.file.write(versionOf(vectors), packed([Buffer.from(JSON.stringify(documents)), ranker]));
    } catch (error) {
      this.logger.debug('index of skills was not kept for the next process', { why: messageOf(error) });
    }
  }
}

function versionOf(vectors: WordVectors | null): string {
  return JSON.stringify([INDEX_FORMAT, vectors?.digest ?? null]);
}
