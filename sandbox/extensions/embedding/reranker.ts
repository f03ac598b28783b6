import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { type Clock, codeOf, type ExtensionContext, type Logger, messageOf, PithError, type Remote } from 'pith';
import type { RankedSkill, RankerDocument, SkillLibrary, SkillRecord } from 'pith/skill_registry';
import type { RerankerProvider } from 'pith/skill_search';
import { sha256 } from '@pith/plain-data';
import { fuse } from './fusion.ts';
import type { PatientEmbedder } from './patient-embedder.ts';
import { VectorTable } from './vector-table.ts';

/** Characters of the body, which begins with the skill's purpose. */
const BODY_CHARACTERS = 1500;
const LONGEST = 4000;
/** The most skills with vectors, to limit memory; the last ones have none. */
const MOST = 20_000;
const BATCH = 64;
const QUERIES_KEPT = 256;
/** The most concurrent requests for queries: while a server is slow, further messages do without vectors. */
const MOST_ASKED = 4;

/**
 * A skill's text for its vector: name, description, when to use it, and the start of its body. The frontmatter's examples are left to the
 * words, because the model is measured by them.
 */
export function vectorTextOf({ name, description, whenToUse, body }: Omit<RankerDocument, 'id' | 'version'>): string {
  return [name, description, ...whenToUse, body.trim().slice(0, BODY_CHARACTERS)]
    .filter((part) => part !== '')
    .join('\n')
    .slice(0, LONGEST);
}

export interface SkillRerankerPorts {
  readonly model: string;
  readonly embedder: PatientEmbedder;
  readonly database: ExtensionContext['database'];
  /** null while no extension provides skills. */
  library(): Remote<SkillLibrary> | null;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A skill with the state of its vector. */
interface Known {
  readonly version: string;
  readonly key: string;
  readonly vector: Float32Array;
}

/** Orders skills by words and by the nearness of their vectors, which are made in the background, once for each text. */
export class SkillReranker {
  private readonly ports: SkillRerankerPorts;
  private readonly table: VectorTable;
  private readonly known = new Map<string, Known>();
  private readonly queries = new Map<string, Promise<Float32Array | null>>();
  private readonly end = new AbortController();
  private count = 0;
  /** Requests for queries that are not answered yet. */
  private asking = 0;
  private working: Promise<void> | null = null;
  private isBehind = false;
  private cancelRetry: (() => void) | null = null;

  constructor(ports: SkillRerankerPorts) {
    this.ports = ports;
    this.table = new VectorTable(ports.database);
  }

  async rerank(...[requests, { k, among, weak = false, complete = false }]: Parameters<RerankerProvider['rerank']>) {
    this.follow();
    if (complete) await this.settled();
    const texts = requests.map(({ query }) => query.trim().slice(0, LONGEST));
    const found = await this.vectorsOf(texts, complete ? Infinity : MOST_ASKED);
    if (complete && this.count > 0 && (this.known.size === 0 || found.includes(null))) throw this.unreachable();
    if (this.known.size === 0) return requests.map(() => null);
    const vectors = new Map([...this.known].map(([id, { vector }]) => [id, vector] as const));
    const allowed = among === undefined ? null : new Set(among);
    const scope = allowed === null ? {} : { among: (id: string) => allowed.has(id) };
    return requests.map(({ found: lexical }, at): readonly RankedSkill[] | null => {
      const query = found[at];
      return query ? fuse({ lexical, query, vectors, count: this.count, k, weak, ...scope }) : null;
    });
  }

  /** Makes missing vectors in the background. */
  follow(): void {
    this.isBehind = true;
    if (this.end.signal.aborted) return;
    this.cancelRetry?.();
    this.cancelRetry = null;
    this.working ??= this.work()
      .catch((error: unknown) => this.ports.logger.warn(`vectors of skills: ${messageOf(error)}`))
      .finally(() => {
        this.working = null;
      });
  }

  async close(): Promise<void> {
    this.end.abort();
    this.cancelRetry?.();
    await this.settled();
  }

  private async settled(): Promise<void> {
    while (this.working !== null) await this.working;
  }

  private async work(): Promise<void> {
    while (this.isBehind && !this.end.signal.aborted) {
      this.isBehind = false;
      const library = this.ports.library();
      if (library === null) return;
      const { skills } = await library.records();
      const offered = skills.filter(({ state }) => state === 'offered').slice(0, MOST);
      this.count = offered.length;
      const ids = new Set(offered.map(({ id }) => id));
      for (const id of this.known.keys()) if (!ids.has(id)) this.known.delete(id);
      const lacking = offered.filter((skill) => this.known.get(skill.id)?.version !== versionOf(skill));
      if (lacking.length === 0) continue;
      for (let from = 0; from < lacking.length; from += BATCH) {
        if (!(await this.make(lacking.slice(from, from + BATCH), library))) return this.later();
        if (this.end.signal.aborted) return;
      }
      await this.table.keepOnly([...this.known.values()].map(({ key }) => key));
    }
  }

  /** False where it must be tried again later. */
  private async make(skills: readonly SkillRecord[], library: Remote<SkillLibrary>): Promise<boolean> {
    const wanted: { readonly id: string; readonly version: string; readonly key: string; readonly text: string }[] = [];
    for (const skill of skills) {
      const document = await this.documentOf(skill.id, library);
      if (document === null) continue;
      const text = vectorTextOf(document);
      wanted.push({ id: skill.id, version: versionOf(skill), key: sha256(`${this.ports.model}\0${text}`), text });
      await yieldToOthers();
    }
    const kept = await this.table.get(wanted.map(({ key }) => key));
    const missing = wanted.filter(({ key }) => !kept.has(key));
    if (missing.length > 0) {
      const texts = missing.map(({ text }) => text);
      const vectors = await this.ports.embedder.embed(texts, 'document', this.end.signal);
      if (vectors === null || !this.isAlike(vectors, kept)) return false;
      const made = new Map(missing.map(({ key }, at) => [key, vectors[at]!]));
      await this.table.put(made);
      for (const [key, vector] of made) kept.set(key, vector);
    }
    for (const { id, version, key } of wanted) this.known.set(id, { version, key, vector: kept.get(key)! });
    return true;
  }

  /** null where the skill is gone, or cannot be read now. */
  private async documentOf(id: string, library: Remote<SkillLibrary>): Promise<RankerDocument | null> {
    try {
      return await library.document(id);
    } catch (error) {
      if (codeOf(error, '') !== 'skill_not_found') this.ports.logger.warn(`the skill '${id}' gets no vector now: ${messageOf(error)}`);
      return null;
    }
  }

  /** Vectors of one model have one length. */
  private isAlike(vectors: readonly Float32Array[], kept: ReadonlyMap<string, Float32Array>): boolean {
    const [before] = [...kept.values(), ...[...this.known.values()].map(({ vector }) => vector)];
    const [length, now] = [before?.length, vectors[0]?.length];
    if (length === undefined || length === now) return true;
    const cure = 'name the right model in extensions.embedding.model, and its dimensions';
    this.ports.embedder.fail(
      new PithError('provider_failed', `the embedding model gave vectors of ${now} numbers, before ${length}`, { cure }),
    );
    return false;
  }

  private later(): void {
    const { clock, embedder } = this.ports;
    if (!this.end.signal.aborted) this.cancelRetry ??= clock.after(Math.max(1000, embedder.restMs), () => this.follow());
  }

  /** The vectors of queries, requested once; null where the request fails, or so many others are not answered yet. */
  private async vectorsOf(texts: readonly string[], most: number): Promise<readonly (Float32Array | null)[]> {
    const missing = this.asking < most ? [...new Set(texts)].filter((text) => text !== '' && !this.queries.has(text)) : [];
    const asked = missing.length === 0 ? null : this.ask(missing);
    const now = new Map(
      missing.map(
        (text, at) =>
          [
            text,
            this.keep(
              text,
              asked!.then((vectors) => vectors?.[at] ?? null),
            ),
          ] as const,
      ),
    );
    return Promise.all(texts.map((text) => now.get(text) ?? this.queries.get(text) ?? null));
  }

  private async ask(texts: readonly string[]) {
    this.asking += 1;
    try {
      return await this.ports.embedder.embed(texts, 'query', this.end.signal);
    } finally {
      this.asking -= 1;
    }
  }

  /** Also while it is asked for; a late one serves the next message. */
  private keep(text: string, vector: Promise<Float32Array | null>): Promise<Float32Array | null> {
    this.queries.set(text, vector);
    for (const oldest of this.queries.keys()) {
      if (this.queries.size <= QUERIES_KEPT) break;
      this.queries.delete(oldest);
    }
    return vector.then((found) => {
      if (found === null) this.queries.delete(text);
      return found;
    });
  }

  private unreachable(): PithError {
    const { failure } = this.ports.embedder;
    const why = failure === null ? '' : `: ${failure.message}`;
    return new PithError('provider_failed', `the embedding model gives no vectors${why}`, { cure: failure?.cure ?? 'see pith doctor' });
  }
}

function versionOf({ stamp, file }: SkillRecord): string {
  return `${stamp} ${file}`;
}
