import type { AgentSpec, CommandInput } from 'pith';
import type { Skill, Snapshot } from '../skill.ts';

export interface TriggerReport {
  readonly [key: string]: string | number | boolean | null | string[];
  readonly text: string;
  /** What the message is given of the skills: 0 nothing, 1 their number, 2 their names, 3 the texts of those that fit. */
  readonly tier: number;
  readonly why: string;
  /** What of the skill's triggers the message has. */
  readonly hits: string[];
  /** Its place among the skills that match, from 1; null: it does not match. */
  readonly rank: number | null;
  readonly of: number;
  readonly maxSkills: number;
  /** Whether the message brings the skill's text. */
  readonly brought: boolean;
}

/** For an agent in mode `triggers` and a text: what the text brings, as the first message of a conversation. `maxSkills`: for agents that say nothing else. */
export async function triggersOf(
  skill: Skill,
  snapshot: Snapshot,
  agent: AgentSpec | null,
  text: CommandInput['options'][string],
  maxSkills: number,
): Promise<{ readonly triggers?: TriggerReport }> {
  if (agent === null || typeof text !== 'string') return {};
  const { scopeOf } = await import('../catalog/scope.ts');
  const scope = scopeOf(snapshot, agent);
  if (scope.settings.mode !== 'triggers') return {};
  const { decide } = await import('../triggers/decision.ts');
  const { PatternCache } = await import('../triggers/pattern-cache.ts');
  const { TriggerIndex } = await import('../triggers/trigger-index.ts');
  const index = await TriggerIndex.of(snapshot, new PatternCache());
  const most = scope.settings.max_skills ?? maxSkills;
  const { tier, why, matches, chosen } = await decide({ snapshot, scope, index, text, maxSkills: most, recent: [], matched: [] });
  const at = matches.findIndex((one) => one.skill.id === skill.id);
  const hits = [...(matches[at]?.hits ?? [])];
  const rank = at === -1 ? null : at + 1;
  const brought = chosen.some(({ id }) => id === skill.id);
  return { triggers: { text, tier, why, hits, rank, of: matches.length, maxSkills: most, brought } };
}

export function* triggerLines({ text, tier, why, hits, rank, of, maxSkills, brought }: TriggerReport): Iterable<string> {
  yield `triggers: '${text}' is of tier ${tier}, ${why}`;
  yield hits.length === 0
    ? 'triggers: the text has none of this skill'
    : `triggers: it has ${hits.join(', ')}${brought ? ', and brings its text' : '; others come before it'}`;
  if (rank !== null) yield `triggers: rank ${rank} of ${of}; at most ${maxSkills} are brought unless named (max_skills)`;
}
