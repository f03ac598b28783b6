import type { Diagnostic } from 'pith';
import type { Snapshot } from '../skill.ts';
import type { Ranked } from './ranker.ts';
import { RESCORED, UNION_UP_TO } from './fusion.ts';
import type { SearchWays } from './search-ways.ts';
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

/** A search that nobody is hurried by. */
export interface PatientSearch {
  ask(options: Omit<SearchOptions, 'patienceMs'>): Promise<SearchAnswer>;
  /** One line that says why something else answered than the settings name; null where nothing else did. */
  instead(answer: SearchAnswer): string | null;
}

/** Finds skills for a text, for everyone who asks: tools, the catalog, commands. */
export class SkillSearch {
  readonly #index: SkillIndex;
  readonly #ways: SearchWays | null;

  /** Index and ways close with the search. Without `ways`, words alone decide. */
  constructor(index: SkillIndex, ways: SearchWays | null = null) {
    this.#index = index;
    this.#ways = ways;
  }

  /** What stands beside the words; null where nothing can. */
  get ways(): SearchWays | null {
    return this.#ways;
  }

  /** Takes over what the snapshot changed. Resolves when what is known without bodies can be searched; with `patienceMs`, also when a coarser answer can be given after so long. */
  prepare(snapshot: Snapshot, patienceMs?: number): Promise<void> {
    return patienceMs === undefined ? this.#index.sync(snapshot) : this.#index.prepare(snapshot, patienceMs);
  }

  /** The same, and in the background what stands beside the words learns of it too. For who is told of changes, not for turns. */
  follow(snapshot: Snapshot): Promise<void> {
    this.#ways?.sync(snapshot);
    return this.prepare(snapshot);
  }

  /** What people's texts taught of some skills has changed. */
  relearn(snapshot: Snapshot): Promise<void> {
    this.#ways?.relearn(snapshot);
    return this.prepare(snapshot);
  }

  async rank(snapshot: Snapshot, query: string, options: SearchOptions): Promise<SearchAnswer> {
    const ranker = this.#ways?.ranker(snapshot) ?? null;
    if (ranker !== null) {
      const ranked = await ranker.rank(query, { ...options, patienceMs: Math.max(options.patienceMs, RANKER_PATIENCE_MS) });
      if (ranked !== null) return { ranked, ready: true, by: ranker.id };
    }
    const meaning = this.#ways?.meaning(snapshot) ?? null;
    if (meaning === null) return this.#byWords(snapshot, query, options);
    const asked = meaning.queries.of(query, MEANING_PATIENCE_MS); // on its way while the words are looked up
    const { k, among, weak = false } = options;
    const found = await this.#byWords(snapshot, query, {
      ...options,
      k: Math.max(k, meaning.count > UNION_UP_TO ? RESCORED : LEXICAL_DEPTH),
    });
    const vector = await asked;
    if (vector === null) return { ...found, ranked: found.ranked.slice(0, k) };
    const ranked = meaning.fuse({ lexical: found.ranked, query: vector, k, weak, ...(among === undefined ? {} : { among }) });
    return { ...found, ranked, by: 'fused' };
  }

  /** For a command, which has no next time: all bodies are read first, and what is set up beside the words is waited for. */
  async patiently(snapshot: Snapshot, query: string, signal: AbortSignal): Promise<PatientSearch> {
    await unlessAborted(signal, async () => {
      await this.prepare(snapshot);
      await this.#index.settled();
      await this.#ways?.ready(snapshot, query);
    });
    return {
      ask: (options) => this.rank(snapshot, query, { ...options, patienceMs: COMMAND_PATIENCE_MS }),
      instead: ({ by }) => this.#ways?.instead(by) ?? null,
    };
  }

  /** Resolves when every body that is known of has been read. */
  settled(): Promise<void> {
    return this.#index.settled();
  }

  /** What is wrong with what stands beside the words. */
  async findings(snapshot: Snapshot): Promise<readonly Diagnostic[]> {
    return (await this.#ways?.findings(snapshot)) ?? [];
  }

  async close(): Promise<void> {
    await this.#ways?.close();
    await this.#index.close();
  }

  async #byWords(snapshot: Snapshot, query: string, options: SearchOptions): Promise<SearchAnswer> {
    return options.patienceMs > 0 ? this.#index.rank(snapshot, query, options) : this.#index.rankNow(query, options);
  }
}

/** Rejects as soon as nobody wants it any more; the work itself ends with the search. */
async function unlessAborted(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A person who typed a command waits so long for another extension's ranker. */
const COMMAND_PATIENCE_MS = 2000;
/** The vector of a query is waited for so long; a later one is kept for the next time. */
const MEANING_PATIENCE_MS = 150;
/** A turn waits so long for another extension's ranker. */
const RANKER_PATIENCE_MS = 250;
/** Of the words' answer, where meaning is mixed in. */
const LEXICAL_DEPTH = 100;
