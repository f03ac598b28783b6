import type { Diagnostic } from './errors.ts';
import { defineProtocol, method } from './protocol.ts';
import type { AgentSpec } from './turn.ts';

export interface SkillContent {
  readonly id: string;
  readonly name: string;
  readonly version: string | null;
  /** Hex digest of the bytes of SKILL.md. */
  readonly sha256: string;
  /** What follows the frontmatter, byte for byte. Data, never a template. */
  readonly body: string;
  /** Set when the skill is gone or broken and this is the last good body. */
  readonly stale?: string;
}

export type SkillState = 'offered' | 'draft' | 'shadowed' | 'disabled' | 'untrusted' | 'invalid';

export interface SkillSummary {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly path: string;
  readonly state: SkillState;
  /** Estimated from the file's size until the body has been read. */
  readonly tokens: number;
  readonly version?: string;
  readonly reason?: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** Knows skills by id. Publishes `provider.changed` when they change. */
export interface SkillProvider {
  /** Accepts an id or a unique name. Rejects `skill_not_found`, `skill_not_offered` (with state and cure) or `skills_disabled`. */
  getSkillContent(id: string, signal?: AbortSignal): Promise<SkillContent>;
  /** All skills in every state, sorted by id. */
  listSkills(signal?: AbortSignal): Promise<readonly SkillSummary[]>;
  /** Ids of the skills that this agent may read, sorted. Without it an agent made at run time gets none but its creator's bound ones. */
  readableSkills?(agent: AgentSpec, signal?: AbortSignal): Promise<readonly string[]>;
  /** Findings of lint mode for the folder at `path`; never rejects. */
  validateSkill(path: string, signal?: AbortSignal): Promise<readonly Diagnostic[]>;
}

export const SkillProvider = defineProtocol<SkillProvider>('skill', {
  getSkillContent: method({ signalAt: 1 }),
  listSkills: method({ signalAt: 0 }),
  readableSkills: method({ optional: true, signalAt: 1 }),
  validateSkill: method({ signalAt: 1 }),
});
