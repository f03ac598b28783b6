import { type Clock, codeOf, type Events, type Logger, messageOf, PithError, type Remote } from 'pith';
import { within } from '@pith/promises';
import { printableLine } from '@pith/plain-text';
import { type RankOptions as Limits, BODY_CHARACTERS } from '@pith/word-ranker';
import type { RankedSkill, RankerProvider, RankerDocument } from '../contract.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { clean, type SkillFields } from '@pith/skill-files';

export interface RankerFeedOptions {
  /** The extension's id. */
  readonly id: string;
  /** null while it cannot be reached. */
  find(): Remote<RankerProvider> | null;
  /** null where it cannot be read now. */
  readBody(skill: Skill): Promise<string | null>;
  /** Called when all that changed has been sent to the ranker. */
  onKnown(): Promise<void>;
  readonly events: Pick<Events, 'handle'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RankOptions extends Limits {
  /** Who asks. */
  readonly agentId?: string;
}

/** Why a ranker gave no answer. */
export type NoAnswer = 'absent' | 'indexing' | 'failed';

const BATCH = 50;
/** Up to so many skills that the asker may not see are asked for beside the others, and dropped; with more the ids of the others are sent. */
const MOST_EXTRA = 200;
const RETRY_MS = 30_000;
/** The first time the whole library is sent, which takes so much longer; and once more where few are left. */
const FIRST_MS = 250;
const FEW = 500;
const MOST_WORDS = 20;
const LONGEST_WORD = 60;

/** Sends every skill to one ranker in the background, and asks it once it has them all. Its answers are checked: nothing in them is taken for granted. */
export class RankerFeed {
  private readonly options: RankerFeedOptions;
  /** By id, the version of the document that the ranker has; '' where its body could not be read. */
  private readonly sent = new Map<string, string>();
  private readonly end = new AbortController();
  private readonly off: readonly (() => void)[];
  private snapshot: Snapshot | null = null;
  /** The last snapshot of which the ranker has every skill. */
  private complete: Snapshot | null = null;
  /** One of which it has most, while there is none of which it has all. */
  private recalled: Snapshot | null = null;
  /** How many skills are still to be sent. */
  private left = Infinity;
  private syncing: Promise<void> | null = null;
  /** Counts how often the ranker began or ended: what was sent before is gone. */
  private generation = 0;
  private notBefore = -Infinity;
  /** Bodies of some skills could not be read. */
  private hasUnread = false;
  private hasComplained = false;
  private isLate = false;

  constructor(options: RankerFeedOptions) {
    this.options = options;
    const { id, events } = options;
    const begun = ({ extensionId }: { readonly extensionId: string }) => (extensionId === id ? this.reset(true) : undefined);
    this.off = [
      events.handle('extension.activated', begun),
      events.handle('extension.reloaded', begun),
      events.handle('extension.stopped', ({ extensionId }) => (extensionId === id ? this.reset(false) : undefined)),
    ];
  }

  /** Sends what the snapshot changed, in the background. */
  follow(snapshot: Snapshot): void {
    if (this.snapshot === null || snapshot.generation >= this.snapshot.generation) this.snapshot = snapshot;
    if ((this.complete === this.snapshot && !this.hasUnread) || this.syncing !== null || this.end.signal.aborted) return;
    if (this.options.clock.now() < this.notBefore) return;
    this.syncing = this.sync()
      .catch((error: unknown) => {
        this.notBefore = this.options.clock.now() + RETRY_MS;
        this.complain(messageOf(error));
      })
      .finally(() => {
        this.syncing = null;
      });
  }

  /** Whether something is being sent. */
  get isBehind(): boolean {
    return this.syncing !== null;
  }

  /** Resolves when everything has been sent, or after `ms`; the first time it waits longer. */
  async known(ms: number): Promise<void> {
    const isFirst = this.complete === null;
    await within(this.options.clock, isFirst ? ms + FIRST_MS : ms, this.settled());
    if (isFirst && this.left > 0 && this.left < FEW) await within(this.options.clock, FIRST_MS, this.settled());
  }

  /** Resolves when nothing is being sent. */
  async settled(): Promise<void> {
    while (this.syncing !== null) await this.syncing;
  }

  /** Never rejects. */
  async rank(query: string, asked: RankOptions, timeoutMs: number): Promise<readonly RankedSkill[] | NoAnswer> {
    const provider = this.options.find();
    if (provider === null) return 'absent';
    const snapshot = this.complete ?? this.recalled;
    if (snapshot === null) return this.syncing === null ? 'failed' : 'indexing';
    if (this.isLate) return 'failed';
    const { among, k, ...rest } = asked;
    const offered = [...snapshot.skills.values()].filter(({ state }) => state === 'offered').map(({ id }) => id);
    const allowed = new Set(among === undefined ? offered : offered.filter(among));
    const extra = offered.length - allowed.size;
    const options = { ...rest, ...(extra > MOST_EXTRA ? { k, among: [...allowed] } : { k: k + extra }) };
    let isDone = false;
    const late = new AbortController();
    const answer = provider
      .rank(query, options, AbortSignal.any([this.end.signal, late.signal]))
      .then((given) => rankedIn(given, allowed, k) ?? new TypeError('its answer is not a list of { id, score, why }'))
      .catch((error: unknown) => error as Error)
      .finally(() => {
        isDone = true;
        this.isLate = false;
      });
    const found = await within(this.options.clock, timeoutMs, answer, () => null);
    if (found === null) {
      this.isLate = !isDone;
      late.abort(new PithError('aborted', 'nobody waits for it any more'));
      return this.complain(`it took longer than ${timeoutMs} ms`);
    }
    if (!Array.isArray(found)) return this.complain(messageOf(found));
    this.hasComplained = false;
    return found as readonly RankedSkill[];
  }

  async close(): Promise<void> {
    this.end.abort();
    for (const off of this.off) off();
    await this.settled();
  }

  /** A ranker that begins or ends has no documents. */
  private reset(begins: boolean): void {
    this.generation++;
    this.sent.clear();
    this.complete = null;
    this.recalled = null;
    this.left = Infinity;
    this.notBefore = -Infinity;
    if (begins && this.snapshot !== null) this.follow(this.snapshot);
  }

  /** Warns once, until the ranker answers again. */
  private complain(why: string): 'failed' {
    if (!this.hasComplained && !this.end.signal.aborted)
      this.options.logger.warn(`the ranker '${this.options.id}' does not answer, and words shared with ids, names and tags do: ${why}`);
    this.hasComplained = true;
    return 'failed';
  }

  private async sync(): Promise<void> {
    const provider = this.options.find();
    if (provider === null) return;
    await provider.remove([], this.end.signal); // loads the extension, which resets this feed
    for (let snapshot = this.snapshot; snapshot !== null && !this.end.signal.aborted; snapshot = this.snapshot) {
      const generation = this.generation;
      if (!(await this.sendChanges(provider, snapshot)) || generation !== this.generation) continue;
      this.complete = snapshot;
      await this.options.onKnown();
      if (snapshot === this.snapshot) return;
    }
  }

  /** False where the feed was reset meanwhile. */
  private async sendChanges(provider: Remote<RankerProvider>, snapshot: Snapshot): Promise<boolean> {
    const { signal } = this.end;
    const { generation } = this;
    const { skills } = snapshot;
    const gone = [...this.sent.keys()].filter((id) => skills.get(id)?.state !== 'offered');
    if (gone.length > 0) await provider.remove(gone, signal);
    for (const id of gone) this.sent.delete(id);
    const offered = [...skills.values()].filter(({ state }) => state === 'offered');
    if (this.sent.size === 0) await this.recall(provider, snapshot, offered);
    if (generation !== this.generation) return false;
    const changed = offered.filter((skill) => this.sent.get(skill.id) !== documentVersion(skill));
    this.left = changed.length;
    let unread = 0;
    for (let from = 0; from < changed.length; from += BATCH) {
      const some = changed.slice(from, from + BATCH);
      const bodies = await Promise.all(some.map((skill) => this.bodyOf(skill)));
      const documents = some.map((skill, at) => documentOf(skill, bodies[at] ?? ''));
      if (signal.aborted || generation !== this.generation) return false;
      await provider.upsert(documents, signal);
      if (generation !== this.generation) return false;
      for (const [at, { id, version }] of documents.entries()) this.sent.set(id, bodies[at] === null ? '' : version);
      unread += bodies.filter((body) => body === null).length;
      this.left -= documents.length;
    }
    this.hasUnread = unread > 0;
    return true;
  }

  /** What it has kept need not be read. Where that is most of all, it is asked at once: the others come in a moment. */
  private async recall({ recall }: Remote<RankerProvider>, snapshot: Snapshot, offered: readonly Skill[]): Promise<void> {
    if (recall === undefined || offered.length === 0) return;
    const { generation } = this;
    const versions = new Map(offered.map((skill) => [skill.id, documentVersion(skill)]));
    const asked = [...versions].map(([id, version]) => ({ id, version }));
    const known: unknown = await recall(asked, this.end.signal).catch((error: unknown) => {
      if (codeOf(error, '') === 'not_declared') return []; // it keeps none, as most do
      throw error;
    });
    if (generation !== this.generation || !Array.isArray(known)) return;
    for (const id of known as readonly unknown[]) if (typeof id === 'string' && versions.has(id)) this.sent.set(id, versions.get(id)!);
    if (this.sent.size * 2 > offered.length) this.recalled = snapshot;
  }

  private async bodyOf(skill: Skill): Promise<string | null> {
    try {
      return await this.options.readBody(skill);
    } catch (error) {
      if (this.sent.get(skill.id) !== '') this.options.logger.warn(`skill '${skill.id}': its body is not searched: ${messageOf(error)}`);
      return null;
    }
  }
}

/** Each allowed id once, as ranked; null where the answer is none. */
function rankedIn(answer: unknown, allowed: ReadonlySet<string>, k: number): readonly RankedSkill[] | null {
  if (!Array.isArray(answer)) return null;
  const found = new Map<string, RankedSkill>();
  for (const one of answer as readonly unknown[]) {
    const { id, score, why, weak } = (typeof one === 'object' && one !== null ? one : {}) as Partial<RankedSkill>;
    if (typeof id !== 'string' || typeof score !== 'number' || !Number.isFinite(score)) return null;
    if (!Array.isArray(why) || why.some((word) => typeof word !== 'string')) return null;
    if (!allowed.has(id) || found.has(id)) continue;
    const words = (why as readonly string[]).slice(0, MOST_WORDS).map((word) => printableLine(word, LONGEST_WORD));
    found.set(id, { id, score, why: words, ...(weak === true ? { weak } : {}) });
    if (found.size >= k) break;
  }
  return [...found.values()];
}

/** What a ranker is given of a skill. Nothing in it is anybody's but the author's. */
export function documentOf(skill: SkillFields & Pick<Skill, 'id' | 'file' | 'stamp'>, body: string): RankerDocument {
  const { id, description, tags, examples } = skill;
  return {
    id,
    version: documentVersion(skill),
    name: clean(skill.name),
    description,
    tags,
    examples,
    whenToUse: whenToUse(skill),
    body: body.slice(0, BODY_CHARACTERS),
  };
}

/** Names the file and the version of it. */
function documentVersion({ stamp, file }: Pick<Skill, 'file' | 'stamp'>): string {
  return `${stamp} ${file}`;
}

const NO_TRIGGERS = { keywords: [], verbs: [] };

/** What else says when a skill fits: its triggers, and frontmatter of other systems. */
function whenToUse({ triggers, extra }: Pick<Skill, 'triggers' | 'extra'>): readonly string[] {
  const { keywords, verbs } = triggers ?? NO_TRIGGERS;
  const said = [extra['when_to_use'], extra['when-to-use'], ...keywords, ...verbs];
  return said.filter((value) => typeof value === 'string');
}
