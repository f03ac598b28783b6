import { createHash } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import { messageOf, PithError } from 'pith';
import type { StateFolder } from '@pith/safe-files';
import { documentOf, documentVersion, type Searched } from '../search/ranker.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { BATCH } from './embedding-client.ts';
import type { MeaningOptions } from './meaning.ts';
import { VectorFile, type VectorRecord } from './vector-file.ts';

/** Of the body, which begins with what it is for. */
const BODY_CHARACTERS = 1500;
const LONGEST = 4000;

/**
 * What of a skill is turned into a vector: name, description, when to use it, what people said when they wanted it, and how its body
 * begins. The examples of its frontmatter are left to the words: they are what a model is measured by.
 */
export function vectorTextOf(skill: Searched, body: string, learned: readonly string[] = []): string {
  const { name, description, examples } = documentOf({ ...skill, examples: [] }, learned);
  return [name, description, ...examples, body.trim().slice(0, BODY_CHARACTERS)]
    .filter((part) => part !== '')
    .join('\n')
    .slice(0, LONGEST);
}

export interface SkillVectorsOptions extends Omit<MeaningOptions, 'dataDirectory' | 'rule'> {
  /** Of the files. */
  readonly folder: StateFolder;
  /** Called when every skill has its vector. */
  onComplete?(): void;
}

/** Of more skills than this the last have no vector: memory is bounded. */
const MOST = 20_000;

/** A vector for each offered skill, made in the background and kept from one process to the next. A text is asked for once. */
export class SkillVectors {
  readonly #options: SkillVectorsOptions;
  readonly #file: VectorFile;
  readonly #end = new AbortController();
  readonly #vectors = new Map<string, Float32Array>();
  #records: Map<string, VectorRecord> | null = null;
  #target: Snapshot | null = null;
  #working: Promise<void> | null = null;
  #cancelRetry: (() => void) | null = null;

  constructor(options: SkillVectorsOptions) {
    this.#options = options;
    this.#file = new VectorFile(options);
  }

  /** By id, of what is known now. */
  get vectors(): ReadonlyMap<string, Float32Array> {
    return this.#vectors;
  }

  get file(): string {
    return this.#file.file;
  }

  /** Makes what the snapshot lacks, in the background. */
  sync(snapshot: Snapshot): void {
    this.#target = snapshot;
    this.#begin();
  }

  /** Resolves when nothing is being made; what failed is tried again later. */
  async settled(): Promise<void> {
    while (this.#working !== null) await this.#working;
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#cancelRetry?.();
    await this.settled();
  }

  #begin(): void {
    if (this.#end.signal.aborted || this.#working !== null) return;
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#working = this.#work()
      .catch((error: unknown) => this.#options.logger.warn(`vectors of skills: ${messageOf(error)}`))
      .finally(() => {
        this.#working = null;
      });
  }

  async #work(): Promise<void> {
    this.#records ??= await this.#load();
    for (let snapshot = this.#target; snapshot !== null && !this.#end.signal.aborted; snapshot = this.#target) {
      const lacking = this.#lacking(snapshot);
      if (!(await this.#make(lacking))) return;
      if (snapshot !== this.#target) continue;
      this.#options.onComplete?.();
      return;
    }
  }

  async #load(): Promise<Map<string, VectorRecord>> {
    const records = await this.#file.load();
    for (const [id, { vector }] of records) this.#vectors.set(id, vector);
    return records;
  }

  /** Skills whose vector is none of their text now. What is offered no more is forgotten. */
  #lacking(snapshot: Snapshot): readonly Skill[] {
    const records = this.#records!;
    for (const id of records.keys()) {
      if (snapshot.skills.get(id)?.state === 'offered') continue;
      records.delete(id);
      this.#vectors.delete(id);
    }
    const offered = [...snapshot.skills.values()].filter(({ state }) => state === 'offered').slice(0, MOST);
    return offered.filter((skill) => records.get(skill.id)?.version !== this.#versionOf(skill));
  }

  /** False where it must be tried again later. */
  async #make(lacking: readonly Skill[]): Promise<boolean> {
    for (let from = 0; from < lacking.length; from += BATCH) {
      const texts: { readonly skill: Skill; readonly version: string; readonly key: string; readonly text: string }[] = [];
      const made: VectorRecord[] = [];
      for (const skill of lacking.slice(from, from + BATCH)) {
        const version = this.#versionOf(skill);
        const body = await this.#options.readBody(skill).catch(() => null);
        if (body === null) continue; // gone, or not to be read now: a later snapshot says
        const text = vectorTextOf(skill, body, this.#options.learned.of(skill.id));
        const key = keyOf(this.#options.model, text);
        const before = this.#records!.get(skill.id);
        if (before?.key === key) made.push({ ...before, version });
        else texts.push({ skill, version, key, text });
        await breathe();
      }
      if (texts.length > 0) {
        const vectors = await this.#ask(texts.map(({ text }) => text));
        if (vectors === null) return this.#later();
        for (const [at, { skill, version, key }] of texts.entries()) made.push({ id: skill.id, version, key, vector: vectors[at]! });
      }
      await this.#keep(made);
      if (this.#end.signal.aborted) return false;
    }
    return true;
  }

  async #ask(texts: readonly string[]): Promise<readonly Float32Array[] | null> {
    const { client, model } = this.#options;
    const vectors = await client.embed(texts, 'document', this.#end.signal);
    const [kept] = this.#vectors.values();
    const [length, now] = [kept?.length, vectors?.[0]?.length];
    if (length === undefined || now === undefined || length === now) return vectors;
    const cure = `name the right model, or remove ${this.#file.file}`;
    client.fail(model, new PithError('provider_failed', `the embedding model gave vectors of ${now} numbers, before ${length}`, { cure }));
    return null;
  }

  #later(): false {
    const { client, clock } = this.#options;
    if (!this.#end.signal.aborted) this.#cancelRetry ??= clock.after(Math.max(1000, client.restMs), () => this.#begin());
    return false;
  }

  async #keep(made: readonly VectorRecord[]): Promise<void> {
    const records = this.#records!;
    for (const record of made) {
      records.set(record.id, record);
      this.#vectors.set(record.id, record.vector);
    }
    if (made.length > 0) await this.#file.append(made, records);
  }

  #versionOf(skill: Skill): string {
    return documentVersion(skill, this.#options.learned.of(skill.id));
  }
}

function keyOf(model: string, text: string): string {
  return createHash('sha256').update(`${model}\0${text}`).digest('hex');
}
