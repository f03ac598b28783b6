import { type Clock, type Diagnostic, type Logger, messageOf } from 'pith';
import { within } from '@pith/promises';
import { casesOf, distinct, type EvalCase } from '../evaluation/evaluate.ts';
import { keepNewest } from '../ledger/thread-loads.ts';
import { fuse, type FusionInput } from '../search/fusion.ts';
import type { Learned } from '../search/learned-examples.ts';
import type { Ranked } from '../search/ranker.ts';
import type { Skill, Snapshot } from '../skill.ts';
import type { EmbeddingClient } from './embedding-client.ts';
import { SkillVectors } from './skill-vectors.ts';
import { vectorsIn } from './vector-file.ts';
import { digestOf, ENOUGH_CASES, figuresText, findingOf, isWorse, keepMeasure, type Measure, measureOf } from './verdict.ts';

export interface MeaningOptions {
  readonly client: EmbeddingClient;
  readonly model: string;
  readonly dataDirectory: string;
  /** `measured`: a model that ranks the examples worse than words alone is not used. */
  readonly rule: 'measured' | 'always';
  readBody(skill: Skill): Promise<string | null>;
  readonly learned: Pick<Learned, 'of'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One embedding model over the skills: their vectors, those of queries, and whether it is worth using. */
export class Meaning {
  readonly model: string;
  readonly skills: SkillVectors;
  readonly queries: QueryVectors;
  readonly #options: MeaningOptions;
  readonly #end = new AbortController();
  #snapshot: Snapshot | null = null;
  #count = 0;
  #measure: Measure | null = null;
  #measuring: Promise<void> = Promise.resolve();

  constructor(options: MeaningOptions) {
    const { client, model, dataDirectory, clock } = options;
    this.#options = options;
    this.model = model;
    this.skills = new SkillVectors({ ...options, folder: vectorsIn(dataDirectory), onComplete: () => this.#examine() });
    this.queries = new QueryVectors(client, clock);
    this.#measure = measureOf(model, options);
  }

  /** False while there is nothing to compare, and for a model that made the order worse. */
  get usable(): boolean {
    return this.skills.vectors.size > 0 && !this.refused;
  }

  /** It was measured and made the order worse. */
  get refused(): boolean {
    return this.#options.rule === 'measured' && this.#measure !== null && isWorse(this.#measure);
  }

  sync(snapshot: Snapshot, again = false): void {
    if (this.#snapshot === snapshot && !again) return;
    this.#snapshot = snapshot;
    this.#count = 0;
    for (const { state } of snapshot.skills.values()) if (state === 'offered') this.#count++;
    this.skills.sync(snapshot);
  }

  /** Skills that are offered. */
  get count(): number {
    return this.#count;
  }

  fuse(input: Omit<FusionInput, 'vectors' | 'count'>): readonly Ranked[] {
    return fuse({ ...input, vectors: this.skills.vectors, count: this.#count });
  }

  /** Resolves when nothing is being made or measured. */
  async settled(): Promise<void> {
    await this.skills.settled();
    await this.#measuring;
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.queries.close();
    await this.skills.close();
    await this.#measuring;
  }

  /** Measures once for each set of examples. */
  #examine(): void {
    const snapshot = this.#snapshot;
    if (snapshot === null) return;
    this.#measuring = this.#measuring
      .then(() => this.#measureNow(snapshot))
      .catch((error: unknown) => {
        if (!this.#end.signal.aborted)
          this.#options.logger.warn(`the embedding model ${this.model} could not be measured: ${messageOf(error)}`);
      });
  }

  async #measureNow(snapshot: Snapshot): Promise<void> {
    const { logger, rule } = this.#options;
    const cases = exampleCases(snapshot);
    const digest = digestOf(cases);
    if (cases.length < ENOUGH_CASES || this.#end.signal.aborted || this.#measure?.digest === digest) return;
    const { measureModel } = await import('./measure.ts');
    const measure = await measureModel({
      ...this.#options,
      cases,
      digest,
      snapshot,
      vectors: this.skills.vectors,
      signal: this.#end.signal,
    });
    if (measure === null) return; // queries had no vectors: the next time
    const was = this.#measure;
    this.#measure = measure;
    await keepMeasure(this.model, measure, this.#options);
    if (isWorse(measure) && rule === 'measured' && (was === null || !isWorse(was)))
      logger.warn(`${figuresText(this.model, measure)}: it is not used; skills.embedding: always takes it nevertheless`);
  }
}

/** What `pith doctor` says of the model. */
export async function meaningFindings(
  model: string,
  { dataDirectory, logger, rule, snapshot }: Pick<MeaningOptions, 'dataDirectory' | 'logger' | 'rule'> & { readonly snapshot: Snapshot },
): Promise<readonly Diagnostic[]> {
  return findingOf(model, measureOf(model, { dataDirectory, logger }), exampleCases(snapshot).length, rule);
}

/** What the frontmatter of all offered skills says people say. */
export function exampleCases(snapshot: Snapshot): readonly EvalCase[] {
  return distinct([...snapshot.skills.values()].filter(({ state }) => state === 'offered').flatMap(casesOf));
}

const KEPT = 256;
const LONGEST = 4000;
/** Requests under way at once; while one is late, nobody waits for another. */
const MOST_ASKED = 4;

/** Vectors of what is searched for, the last few hundred kept. */
export class QueryVectors {
  readonly #client: EmbeddingClient;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Float32Array>();
  readonly #asked = new Map<string, Promise<Float32Array | null>>();
  readonly #end = new AbortController();
  #late = 0;

  constructor(client: EmbeddingClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** null where it fails or takes longer; a late one is kept for the next time. */
  async of(query: string, limitMs: number): Promise<Float32Array | null> {
    const text = query.trim().slice(0, LONGEST);
    if (text === '') return null;
    const known = this.#kept.get(text);
    if (known !== undefined) return known;
    const waits = this.#late === 0;
    const asked = this.#asked.get(text) ?? this.#ask(text);
    if (asked === null || !waits) return null;
    return within(this.#clock, limitMs, asked, () => {
      this.#late++;
      void asked.finally(() => this.#late--);
      return null;
    });
  }

  close(): void {
    this.#end.abort();
  }

  #ask(text: string): Promise<Float32Array | null> | null {
    if (this.#asked.size >= MOST_ASKED || this.#client.restMs > 0) return null;
    const asked = this.#client.embed([text], 'query', this.#end.signal).then((vectors) => {
      this.#asked.delete(text);
      const vector = vectors?.[0] ?? null;
      if (vector !== null) keepNewest(this.#kept, text, vector, KEPT);
      return vector;
    });
    this.#asked.set(text, asked);
    return asked;
  }
}
