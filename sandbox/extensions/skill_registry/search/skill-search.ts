import type { Snapshot } from '../skill.ts';
import type { Ranked } from './ranker.ts';
import type { SkillIndex } from './skill-index.ts';

export interface SearchOptions {
  readonly k: number;
  readonly agentId?: string;
  /** Only ids for which this is true are in the answer, whoever ranks. */
  readonly among?: (id: string) => boolean;
  /** Also what has little in common with the query, after the rest: for places that have room anyway. */
  readonly weak?: boolean;
  /** Equal scores stand in an order of their own for each seed; absent: by id. */
  readonly seed?: string;
  /** How long to wait for what is being read; 0: answer with what there is. */
  readonly patienceMs: number;
}

export interface SearchAnswer {
  /** Best first. */
  readonly ranked: readonly Ranked[];
  /** False while the index is behind the files: then bodies were not searched, or not all of them. */
  readonly ready: boolean;
  /** What ranked: `lexical`, `cache`, `fused`, or the id of an extension. */
  readonly by: string;
}

/** Finds skills for a text, for everyone who asks: tools, the catalog, commands. */
export class SkillSearch {
  readonly #index: SkillIndex;

  /** The index closes with the search. */
  constructor(index: SkillIndex) {
    this.#index = index;
  }

  /** Takes over what the snapshot changed. Resolves when what is known without bodies can be searched. */
  prepare(snapshot: Snapshot): Promise<void> {
    return this.#index.sync(snapshot);
  }

  async rank(snapshot: Snapshot, query: string, { among, patienceMs, ...options }: SearchOptions): Promise<SearchAnswer> {
    const asked = among === undefined ? options : { ...options, accept: among };
    const found = patienceMs > 0 ? await this.#index.rank(snapshot, query, { ...asked, patienceMs }) : this.#index.rankNow(query, asked);
    return { ...found, by: 'lexical' };
  }

  /** Resolves when every body that is known of has been read. */
  settled(): Promise<void> {
    return this.#index.settled();
  }

  close(): Promise<void> {
    return this.#index.close();
  }
}
