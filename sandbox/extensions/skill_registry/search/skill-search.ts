import type { CommandContext, Diagnostic, Events, ExtensionContext } from 'pith';
import { endsOf } from '@pith/plain-text';
import { untilAborted } from '@pith/promises';
import { DEFAULT_RANKER } from '../config.ts';
import { eachTerm, queryTerms } from '@pith/word-ranker';
import { type FoundSkills, type RankedSkill, RankerProvider } from '../contract.ts';
import type { SkillRegistry } from '../registry.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { type NoAnswer, RankerFeed, type RankOptions } from './ranker-feed.ts';

export interface SearchAnswer extends FoundSkills {
  /** False while skills are being sent to the ranker. */
  readonly ready: boolean;
}

/** A turn waits so long for a ranker, whatever else it waited for. */
const LEAST_MS = 250;
/** A person who typed a command, after the ranker knows everything. */
const COMMAND_MS = 2000;

/** Characters of a text that are searched by: of a longer one its beginning and its end. */
const MOST_QUERY = 8192;

/** Finds skills for a text, for everyone who asks: tools, the catalog, commands. The ranker that the settings name is asked; where it gives no answer, shared words decide. */
export class SkillSearch {
  private readonly id: string | null;
  private readonly feed: RankerFeed | null;
  private readonly rankers: () => readonly string[];

  constructor(
    context: CommandContext & Pick<ExtensionContext, 'find'> & { readonly events: Pick<Events, 'handle'> },
    registry: Pick<SkillRegistry, 'studyBody' | 'publishTokens'>,
  ) {
    const { clock, logger, events } = context;
    const named = context.config['ranker'];
    this.id = typeof named === 'string' ? named : null;
    this.rankers = () => context.find(RankerProvider).map(({ extensionId }) => extensionId);
    this.feed =
      this.id === null
        ? null
        : new RankerFeed({
            id: this.id,
            find: () => context.find(RankerProvider).find(({ extensionId }) => extensionId === this.id) ?? null,
            readBody: (skill) => registry.studyBody(skill),
            onKnown: () => registry.publishTokens(),
            events,
            clock,
            logger,
          });
  }

  /** Sends what the snapshot changed to the ranker, in the background. */
  follow(snapshot: Snapshot): void {
    this.feed?.follow(snapshot.base ?? snapshot);
  }

  /** Sends it, and resolves when the ranker has it or after `ms`. */
  async prepare(snapshot: Snapshot, ms: number): Promise<void> {
    this.follow(snapshot);
    await this.feed?.known(ms);
  }

  /** Sends it, and resolves when the ranker has it, however long that takes. */
  async waitUntilIndexed(snapshot: Snapshot, signal?: AbortSignal): Promise<void> {
    this.follow(snapshot);
    const settled = this.feed?.settled() ?? Promise.resolve();
    await (signal === undefined ? settled : untilAborted(settled, signal));
  }

  /** `waitMs`: how long to wait for what is being read; 0: answer with what there is. */
  async rank(snapshot: Snapshot, query: string, { waitMs, ...asked }: RankOptions & { readonly waitMs: number }): Promise<SearchAnswer> {
    if (waitMs > 0) await this.prepare(snapshot, waitMs);
    else this.follow(snapshot);
    return this.ask(snapshot, query, asked, Math.max(waitMs, LEAST_MS));
  }

  /** For a command: everything is sent to the ranker first. */
  async rankComplete(snapshot: Snapshot, query: string, asked: RankOptions, signal?: AbortSignal): Promise<SearchAnswer> {
    await this.waitUntilIndexed(snapshot, signal);
    return this.ask(snapshot, query, asked, COMMAND_MS);
  }

  findings(): readonly Diagnostic[] {
    const rankers = this.rankers();
    if (this.id === null || rankers.includes(this.id)) return [];
    const others = rankers.length === 0 ? 'no extension provides one' : `there is ${rankers.join(', ')}`;
    const message = `skills.ranker names '${this.id}', and no extension of that id ranks now: only ids, names and tags are searched; ${others}`;
    // Who switches off the usual ranker means it: doctor says what follows, and no conversation begins with it.
    const severity = this.id === DEFAULT_RANKER ? 'info' : 'warning';
    return [{ severity, code: 'ranker_unknown', message, cure: `switch on '${this.id}', or correct skills.ranker` }];
  }

  async close(): Promise<void> {
    await this.feed?.close();
  }

  private async ask(snapshot: Snapshot, text: string, asked: RankOptions, ms: number): Promise<SearchAnswer> {
    const query = endsOf(text, MOST_QUERY);
    const found = this.feed === null ? 'absent' : await this.feed.rank(query, asked, ms);
    const isBehind = this.feed?.isBehind === true;
    if (typeof found !== 'string') return { ranked: found, ready: !isBehind, by: this.id, note: isBehind ? MORE_LATER : null };
    const offered = [...snapshot.skills.values()].filter(isOffered);
    return { ranked: bySharedWords(offered, query, asked), ready: found !== 'indexing', by: null, note: this.noteOf(found) };
  }

  private noteOf(why: NoAnswer): string {
    if (why === 'indexing') return `the skills are still being indexed: ${ONLY_NAMES}; ask again in a moment`;
    if (this.id === null) return `${ONLY_NAMES}: no ranker is named in skills.ranker`;
    return `${ONLY_NAMES}: the ranker '${this.id}' ${why === 'absent' ? 'is not there' : 'did not answer'}`;
  }
}

const ONLY_NAMES = 'only ids, names and tags were searched';
const MORE_LATER = 'the skills are still being indexed: more may match in a moment';

function isOffered({ state }: Skill): boolean {
  return state === 'offered';
}

/** Ranks without a ranker: by how many of the query's words are in a skill's id, name and tags. */
export function bySharedWords(skills: readonly Skill[], query: string, { k, among }: RankOptions): readonly RankedSkill[] {
  const words = queryTerms(query);
  const found: RankedSkill[] = [];
  for (const { id, name, tags } of skills) {
    if (among?.(id) === false) continue;
    const terms = new Set<string>();
    eachTerm([id, name, ...tags].join(' '), (term) => terms.add(term));
    const why = words.filter(({ term }) => terms.has(term)).map(({ word }) => word);
    if (why.length > 0) found.push({ id, score: why.length / words.length, why });
  }
  return found.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).slice(0, k);
}
