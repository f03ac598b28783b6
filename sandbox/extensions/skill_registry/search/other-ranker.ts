import { type Clock, type Logger, messageOf, PithError, type Remote } from 'pith';
import { within } from '@pith/promises';
import { printableLine } from '@pith/plain-text';
import type { RankerDocument, RankerProvider } from '../contract.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { BODY_CHARACTERS, documentVersion, fullDocumentOf, type Ranked, type RankOptions, type SearchDocument } from './ranker.ts';
import type { Learned } from './learned-examples.ts';

export interface OtherRankerOptions {
  /** The extension's id. */
  readonly id: string;
  /** null while it cannot be reached. */
  find(): Remote<RankerProvider> | null;
  /** null where it cannot be read now. */
  readBody(skill: Skill): Promise<string | null>;
  readonly learned: Pick<Learned, 'of'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const BATCH = 50;
/** Up to so many skills that the asker may not see are asked for beside the others, and dropped; with more the ids of the others are sent. */
const MOST_EXTRA = 200;
const RETRY_MS = 30_000;
const MOST_WORDS = 20;
const LONGEST_WORD = 60;

/** A ranker of another extension: told of every skill in the background, asked when it knows them all, and believed in nothing. */
export class OtherRanker {
  readonly id: string;
  readonly #options: OtherRankerOptions;
  readonly #told = new Map<string, string>();
  readonly #end = new AbortController();
  #snapshot: Snapshot | null = null;
  /** The last snapshot that it was told whole. */
  #knows: Snapshot | null = null;
  #telling: Promise<void> | null = null;
  /** Grows each time that it forgets. */
  #lives = 0;
  #notBefore = -Infinity;
  #complained = false;
  #late = false;

  constructor(options: OtherRankerOptions) {
    this.#options = options;
    this.id = options.id;
  }

  /** Tells what the snapshot changed, in the background; `again`: also where it has been told of it. */
  sync(snapshot: Snapshot, again = false): void {
    this.#snapshot = snapshot;
    if ((this.#knows === snapshot && !again) || this.#telling !== null || this.#end.signal.aborted) return;
    if (this.#options.clock.now() < this.#notBefore) return;
    this.#telling = this.#tell()
      .catch((error: unknown) => {
        this.#notBefore = this.#options.clock.now() + RETRY_MS;
        this.#complain(messageOf(error));
      })
      .finally(() => {
        this.#telling = null;
      });
  }

  /** It began anew or has ended: it knows nothing. */
  forgets(): void {
    this.#lives++;
    this.#told.clear();
    this.#knows = null;
  }

  /** null where the default ranker must answer. Never rejects. */
  async rank(
    query: string,
    { k, agentId, among, patienceMs }: RankOptions & { readonly patienceMs: number },
  ): Promise<readonly Ranked[] | null> {
    const { clock } = this.#options;
    const provider = this.#options.find();
    if (provider === null) return this.#complain('it cannot be reached');
    const snapshot = this.#knows;
    if (snapshot === null || this.#late) return null;
    const offered = [...snapshot.skills.values()].filter(({ state }) => state === 'offered').map(({ id }) => id);
    const allowed = new Set(among === undefined ? offered : offered.filter(among));
    const extra = offered.length - allowed.size;
    const options = {
      ...(extra > MOST_EXTRA ? { k, among: [...allowed] } : { k: k + extra }),
      ...(agentId === undefined ? {} : { agentId }),
    };
    let done = false;
    const late = new AbortController();
    const asked = provider
      .rank(query, options, AbortSignal.any([this.#end.signal, late.signal]))
      .then((answer) => ({ ranked: rankedIn(answer, allowed, k) }))
      .catch((error: unknown) => ({ ranked: null, error }))
      .finally(() => {
        done = true;
        this.#late = false;
      });
    const found = await within(clock, patienceMs, asked, () => null);
    if (found === null) {
      this.#late = !done;
      late.abort(new PithError('aborted', 'nobody waits for it any more'));
      return this.#complain(`it took longer than ${patienceMs} ms`);
    }
    if (found.ranked === null)
      return this.#complain('error' in found ? messageOf(found.error) : 'its answer is no list of { id, score, why }');
    this.#complained = false;
    return found.ranked;
  }

  /** Resolves when nothing is being told. */
  async settled(): Promise<void> {
    while (this.#telling !== null) await this.#telling;
  }

  async close(): Promise<void> {
    this.#end.abort();
    await this.settled();
  }

  /** Said once, until it answers again. */
  #complain(why: string): null {
    if (!this.#complained && !this.#end.signal.aborted)
      this.#options.logger.warn(`the ranker '${this.id}' does not answer, and the default one does: ${why}`);
    this.#complained = true;
    return null;
  }

  async #tell(): Promise<void> {
    const provider = this.#options.find();
    if (provider === null) return;
    await provider.remove([], this.#end.signal); // loads it: what begins forgets what it was told
    for (let snapshot = this.#snapshot; snapshot !== null && !this.#end.signal.aborted; snapshot = this.#snapshot) {
      const life = this.#lives;
      if (!(await this.#tellOf(provider, snapshot)) || life !== this.#lives) continue;
      this.#knows = snapshot;
      if (snapshot === this.#snapshot) return;
    }
  }

  /** False where it forgot meanwhile. */
  async #tellOf(provider: Remote<RankerProvider>, { skills }: Snapshot): Promise<boolean> {
    const { signal } = this.#end;
    const life = this.#lives;
    const gone = [...this.#told.keys()].filter((id) => skills.get(id)?.state !== 'offered');
    if (gone.length > 0) await provider.remove(gone, signal);
    for (const id of gone) this.#told.delete(id);
    const changed = [...skills.values()].filter(
      (skill) => skill.state === 'offered' && this.#told.get(skill.id) !== this.#versionOf(skill),
    );
    for (let from = 0; from < changed.length; from += BATCH) {
      const documents: RankerDocument[] = [];
      for (const skill of changed.slice(from, from + BATCH)) {
        const document = await this.#documentOf(skill);
        if (document !== null) documents.push(document);
      }
      if (signal.aborted || life !== this.#lives) return false;
      if (documents.length > 0) await provider.upsert(documents, signal);
      if (life !== this.#lives) return false;
      for (const { id, version } of documents) this.#told.set(id, version);
    }
    return true;
  }

  async #documentOf(skill: Skill): Promise<RankerDocument | null> {
    const learned = this.#options.learned.of(skill.id);
    const text = await this.#options.readBody(skill).catch(() => null);
    if (text === null) return null;
    return toRankerDocument(fullDocumentOf(skill, text, learned));
  }

  #versionOf(skill: Skill): string {
    return documentVersion(skill, this.#options.learned.of(skill.id));
  }
}

export function toRankerDocument({ id, version, name, description, tags, examples, body }: SearchDocument): RankerDocument {
  return { id, version, name, description, tags, examples, body: body.slice(0, BODY_CHARACTERS) };
}

/** Each allowed id once, as ranked; null where the answer is none. */
export function rankedIn(answer: unknown, allowed: ReadonlySet<string>, k: number): readonly Ranked[] | null {
  if (!Array.isArray(answer)) return null;
  const found = new Map<string, Ranked>();
  for (const one of answer as readonly unknown[]) {
    const { id, score, why } = (typeof one === 'object' && one !== null ? one : {}) as Partial<Ranked>;
    if (typeof id !== 'string' || typeof score !== 'number' || !Number.isFinite(score)) return null;
    if (!Array.isArray(why) || why.some((word) => typeof word !== 'string')) return null;
    if (!allowed.has(id) || found.has(id)) continue;
    const words = (why as readonly string[]).slice(0, MOST_WORDS).map((word) => printableLine(word, LONGEST_WORD));
    found.set(id, { id, score, why: words });
    if (found.size >= k) break;
  }
  return [...found.values()];
}
