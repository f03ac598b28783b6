import type { AgentSpec } from 'pith';
import type { FoundSkills, SkillExplainer } from 'pith/skill_registry';
import type { LearnedExamples } from './learning/learned-examples.ts';

/** Finds skills for who has no next time. */
export interface SkillFinder {
  find(query: string, options: { readonly k: number; readonly agent?: AgentSpec }, signal?: AbortSignal): Promise<FoundSkills>;
}

/** More than any sandbox has. */
const ALL = 1_000_000;

/** How a skill ranks for a text, among what the agent may see, and how many learned texts help to find it. */
export async function explainRanking(
  finder: SkillFinder,
  learned: LearnedExamples | null,
  [skill, { agent, text }, signal]: Parameters<SkillExplainer['explainSkill']>,
): ReturnType<SkillExplainer['explainSkill']> {
  const lines: string[] = [];
  let ranking = null;
  if (text !== null) {
    const { ranked, by, note } = await finder.find(text, { k: ALL, ...(agent === null ? {} : { agent }) }, signal);
    const at = skill.state === 'offered' ? ranked.findIndex(({ id }) => id === skill.id) : -1;
    const { score = null, why = [] } = ranked[at] ?? {};
    ranking = { text, rank: at < 0 ? null : at + 1, of: ranked.length, score, why, by, instead: note };
    lines.push(
      at < 0
        ? `search: does not rank for '${text}'; ${ranked.length === 1 ? '1 other skill does' : `${ranked.length} other skills do`}`
        : `search: ranks ${at + 1} of ${ranked.length} for '${text}' (score ${score?.toFixed(2)}${by === 'lexical' || by === null ? '' : ` by ${by}`}; matched ${why.join(', ')})`,
      ...(note === null ? [] : [note]),
    );
  }
  await learned?.look();
  const count = learned?.count(skill.id) ?? 0;
  if (count > 0) lines.push(`learned: ${count} of the texts that it was loaded for ${count === 1 ? 'helps' : 'help'} to find it`);
  return { lines, json: { ranking, learned: count } };
}
