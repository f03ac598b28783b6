/**
 * How many tokens the instructions of a skill have: what follows the frontmatter of its SKILL.md, without other files. All that no provider
 * reports is counted by `@pith/token-count`; what is only estimated says so.
 */
export function skillTokens({ tokens, tokensEstimated = false }: SkillSize): string {
  return `${tokensEstimated ? 'about ' : ''}${tokens.toLocaleString()} tokens of instructions`;
}

export interface SkillSize {
  readonly tokens: number;
  /** Nobody has read it yet. */
  readonly tokensEstimated?: boolean;
}
