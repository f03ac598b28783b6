import type { Diagnostic, TurnInfo } from 'pith';
import { untilAborted } from '@pith/promises';
import type { SkillRegistry } from '../registry.ts';
import type { Snapshot } from '../skill.ts';
import { RESCORED, UNION_UP_TO } from './fusion.ts';
import { CountedFile } from './counted-file.ts';
import { learnedOf, NOTHING_LEARNED } from './learned-examples.ts';
import type { Ranked, RankOptions } from './ranker.ts';
import { SearchBackends, type SearchBackendsOptions } from './search-backends.ts';
import { SkillIndex } from './skill-index.ts';
import { TurnLessons } from './turn-lessons.ts';

export interface SearchOptions extends RankOptions {
  /** How long to wait for what is being read; 0: answer with what there is. */
  readonly patienceMs: number;
}

export interface SearchAnswer {
  /** Best first. */
  readonly ranked: readonly Ranked[];
  /** False while the index is behind the files. */
  readonly ready: boolean;
  /** What ranked: `lexical`, `names` (the index is being built), `fused`, or the id of an extension. */
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
  /** An embedding model and another extension's ranker; null where there can be none. */
  readonly backends: SearchBackends | null;

  /** Index and backends close with the search. Without `backends`, words alone decide. */
  constructor(index: SkillIndex, backends: SearchBackends | null = null) {
    this.#index = index;
    this.backends = backends;
  }

  /** Takes over what the snapshot changed; resolves when that can be searched, or `patienceMs` are over. */
  prepare(snapshot: Snapshot, patienceMs: number): Promise<void> {
    return this.#index.prepare(snapshot, patienceMs);
  }

  /** The same in the background, and the backends learn of it too. For who is told of changes, not for turns. */
  follow(snapshot: Snapshot): void {
    this.backends?.sync(snapshot);
    this.#index.sync(snapshot);
  }

  /** What people's texts taught of some skills has changed. */
  relearn(snapshot: Snapshot): void {
    this.backends?.relearn(snapshot);
    this.#index.sync(snapshot);
  }

  async rank(snapshot: Snapshot, query: string, options: SearchOptions): Promise<SearchAnswer> {
    const ranker = this.backends?.ranker(snapshot) ?? null;
    if (ranker !== null) {
      const ranked = await ranker.rank(query, { ...options, patienceMs: Math.max(options.patienceMs, RANKER_PATIENCE_MS) });
      if (ranked !== null) return { ranked, ready: true, by: ranker.id };
    }
    const meaning = this.backends?.meaning(snapshot) ?? null;
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

  /** For a command, which has no next time: the index is built first, and backends that are set up are waited for. */
  async patiently(snapshot: Snapshot, query: string, signal: AbortSignal): Promise<PatientSearch> {
    signal.throwIfAborted();
    this.#index.sync(snapshot);
    const ready = this.#index.settled().then(() => this.backends?.ready(snapshot, query)); // ends with the search
    await untilAborted(ready, signal);
    return {
      ask: (options) => this.rank(snapshot, query, { ...options, patienceMs: COMMAND_PATIENCE_MS }),
      instead: ({ by }) => this.backends?.instead(by) ?? null,
    };
  }

  /** What is wrong with the backends. */
  async findings(snapshot: Snapshot): Promise<readonly Diagnostic[]> {
    return (await this.backends?.findings(snapshot)) ?? [];
  }

  async close(): Promise<void> {
    await this.backends?.close();
    await this.#index.close();
  }

  async #byWords(snapshot: Snapshot, query: string, options: SearchOptions): Promise<SearchAnswer> {
    if (options.patienceMs > 0) await this.#index.prepare(snapshot, options.patienceMs);
    return this.#index.rank(query, options);
  }
}

export interface OpenedSearch {
  readonly search: SkillSearch;
  /** null where nothing may be learned. */
  readonly lessons: TurnLessons | null;
}

/** The search over a registry's skills, and what learns for it from the turns whose agents allow it. The caller closes it, after the lessons have settled. */
export function openSearch(
  context: SearchBackendsOptions['context'],
  registry: SkillRegistry,
  allows: (turn: TurnInfo) => boolean,
): OpenedSearch {
  const { clock, logger } = context;
  const lessons = learnedOf(context);
  const learned = lessons ?? NOTHING_LEARNED;
  const backends = new SearchBackends({ context, readBody: (skill) => registry.studyBody(skill), learned });
  const search = new SkillSearch(new SkillIndex({ registry, learned, file: new CountedFile(context), clock, logger }), backends);
  if (lessons === null) return { search, lessons };
  const skillOf = (id: string) => registry.current().skills.get(id);
  const onLearned = () => search.relearn(registry.current());
  return { search, lessons: new TurnLessons({ learned: lessons, logger, skillOf, allows, onLearned }) };
}

/** A person who typed a command waits so long for another extension's ranker. */
const COMMAND_PATIENCE_MS = 2000;
/** The vector of a query is waited for so long; a later one is kept for the next time. */
const MEANING_PATIENCE_MS = 150;
/** A turn waits so long for another extension's ranker. */
const RANKER_PATIENCE_MS = 250;
/** Of the words' answer, where meaning is mixed in. */
const LEXICAL_DEPTH = 100;
