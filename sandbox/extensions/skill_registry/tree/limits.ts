/** What a skill may hold to be installed, and to be copied for its scripts. */
export const SKILL_LIMITS = {
  files: 2000,
  bytes: 50 * 1024 * 1024,
  /** Parts of a path. */
  depth: 32,
} as const;

export interface TreeLimits {
  readonly entries: number;
  /** Parts of a path. */
  readonly depth: number;
}

/** More than this is no skill that anybody can look through. */
export const TREE_LIMITS: TreeLimits = { entries: 10_000, depth: SKILL_LIMITS.depth };
