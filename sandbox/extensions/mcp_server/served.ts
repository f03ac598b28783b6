import type { AgentSpec } from 'pith';

/** The channel of turns that clients begin. */
export const CHANNEL = 'mcp';

/** Whom a connection serves. */
export interface Served {
  /** The person whose skills, saved skills and conversations they are. */
  readonly userId: string;
  /** Its skills are offered, and it works on tasks. */
  readonly agent: AgentSpec;
  /** Those that this person reaches. */
  agents(): Promise<readonly AgentSpec[]>;
}
