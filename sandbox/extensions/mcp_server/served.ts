import type { AgentSpec } from 'pith';
import type { ActingUser } from 'pith/saved_skills';

/** The channel of turns that clients begin. */
export const CHANNEL = 'mcp';

/** Whom a connection serves: whose skills, saved skills and conversations they are. */
export interface ServedPerson extends ActingUser {
  /** Its skills are offered, and it works on tasks. */
  readonly agent: AgentSpec;
  /** Those that this person reaches. */
  agents(): Promise<readonly AgentSpec[]>;
}
