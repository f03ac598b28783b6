import { defineProtocol, defineTopic } from 'pith';

/** The ids of skills that came, differ and went. */
export interface SkillsChange {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export const skillsChanged = defineTopic<SkillsChange>('skills.changed');

/** What a turn did with a skill, or what a compaction did to it. What a turn was merely offered is in the ledger. */
export interface SkillUsed {
  /** null where a person compacted the thread. */
  readonly turnId: string | null;
  readonly threadId: string;
  readonly agentId: string;
  readonly skillId: string;
  readonly state: 'loaded' | 'resource_read' | 'script_run' | 'dropped';
  /** By what way it was loaded. */
  readonly how?: string;
  /** Of the text that was loaded or dropped. */
  readonly sha256?: string;
  /** Of the resource or script. */
  readonly path?: string;
  /** The script's exit code; null when it was ended. */
  readonly exit?: number | null;
  readonly correlationId: string | null;
}

export const skillUsed = defineTopic<SkillUsed>('skill.used');

/** A skill's toolset was opened and brings other tools, or other problems, than when it was opened before. */
export interface ToolsetLoaded {
  /** The skill's id. */
  readonly toolsetId: string;
  readonly tools: readonly string[];
  readonly problems: readonly string[];
}

export const toolsetLoaded = defineTopic<ToolsetLoaded>('toolset.loaded');

/** What can be searched of one skill. */
export interface RankerDocument {
  readonly id: string;
  /** Changes with any of the rest. */
  readonly version: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** What people say when they want it: from the skill, its triggers, and learned. */
  readonly examples: readonly string[];
  /** At most the first 20,000 characters. */
  readonly body: string;
}

export interface RankerOptions {
  readonly k: number;
  readonly agentId?: string;
  /** The ids that may be in the answer; absent: all. Others are dropped from it. */
  readonly among?: readonly string[];
}

export interface RankedSkill {
  readonly id: string;
  /** Higher is better; comparable only within one answer. */
  readonly score: number;
  /** Why, in words that a model and a person read: the query's words that matched. */
  readonly why: readonly string[];
}

/** Ranks skills for a text in the place of the default ranker, where a person's settings name it. */
export interface RankerProvider {
  /** Takes documents, new ones and changed ones. All are told again whenever a version of the extension begins; none is asked for before. */
  upsert(documents: readonly RankerDocument[], signal?: AbortSignal): Promise<void>;
  remove(ids: readonly string[], signal?: AbortSignal): Promise<void>;
  /** Best first, at most `k`; empty when nothing matches well. The default ranker answers where this rejects or is late. */
  rank(query: string, options: RankerOptions, signal?: AbortSignal): Promise<readonly RankedSkill[]>;
}

export const RankerProvider = defineProtocol<RankerProvider>('skills.ranker', {
  upsert: { kind: 'method', signature: 'upsert(documents: RankerDocument[]): Promise<void>', timeoutMs: 60_000, signalAt: 1 },
  remove: { kind: 'method', signature: 'remove(ids: string[]): Promise<void>', signalAt: 1 },
  rank: { kind: 'method', signature: 'rank(query: string, options: RankerOptions): Promise<RankedSkill[]>', signalAt: 2 },
});
