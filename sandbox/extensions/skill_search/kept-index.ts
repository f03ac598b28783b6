import { createHash } from 'node:crypto';
import { type Logger, messageOf } from 'pith';
import type { StateFolder } from '@pith/safe-files';
import { packed, unpacked, type WordVectors } from '@pith/word-ranker';

/** Raise it when documents are counted otherwise than before, or the bytes have another shape: what older versions kept is then counted again. A test pins it. */
export const INDEX_FORMAT = 2;

const FILE = 'skills.index';
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
  private readonly folder: StateFolder;
  private readonly logger: Logger;

  constructor(folder: StateFolder, logger: Logger) {
    this.folder = folder;
    this.logger = logger;
  }

  /** null where there is none, or it is damaged, of another version or counted with another table. */
  read(vectors: WordVectors | null): Counted | null {
    try {
      const bytes = this.folder.read(FILE, MOST_BYTES);
      if (bytes === null) return null;
      const [digest, content] = unpacked(bytes) as [Uint8Array, Uint8Array];
      if (!digestOf(content).equals(digest)) return null;
      const [head, documents, ranker] = unpacked(content) as [Uint8Array, Uint8Array, Uint8Array];
      if (Buffer.from(head).toString() !== headOf(vectors)) return null;
      return { documents: JSON.parse(Buffer.from(documents).toString()) as Counted['documents'], ranker };
    } catch (error) {
      this.logger.debug('kept index of skills was not used', { why: messageOf(error) });
      return null;
    }
  }

  /** Never rejects: without it the next process counts all. */
  async write({ documents, ranker }: Counted, vectors: WordVectors | null): Promise<void> {
    try {
      const content = packed([Buffer.from(headOf(vectors)), Buffer.from(JSON.stringify(documents)), ranker]);
      await this.folder.write(FILE, packed([digestOf(content), content]), { durable: false });
    } catch (error) {
      this.logger.debug('index of skills was not kept for the next process', { why: messageOf(error) });
    }
  }
}

function headOf(vectors: WordVectors | null): string {
  return JSON.stringify([INDEX_FORMAT, vectors?.digest ?? null]);
}

function digestOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
