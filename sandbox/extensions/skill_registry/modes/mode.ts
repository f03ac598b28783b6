import type { AgentSpec, ExtensionContext, TurnInfo } from 'pith';
import { agentSkills } from '../catalog/scope.ts';
import { SkillMode, SkillSuggester } from '../contract.ts';

/** Those that the registry serves. */
export const OWN_MODES: ReadonlySet<string> = new Set(['catalog', 'single_tool', 'none']);

/** How an agent meets its skills: `catalog`, `single_tool`, `none`, or the word of another extension that serves it. A mode that nothing serves now is a catalog. */
export async function modeOf(context: Pick<ExtensionContext, 'find'>, agent: AgentSpec): Promise<string> {
  const others = await Promise.all(context.find(SkillMode).map((other) => other.modeOf(agent).catch(() => null)));
  const { mode } = agentSkills(agent);
  return others.find((name) => name !== null) ?? (mode === 'triggers' ? 'catalog' : mode);
}

/** Ids of the skills that other extensions suggest for a turn's message, best first. One that fails or is late suggests nothing. */
export async function suggestionsFor(context: Pick<ExtensionContext, 'find'>, turn: TurnInfo): Promise<readonly string[]> {
  const each = await Promise.all(context.find(SkillSuggester).map((other) => other.suggestionsFor(turn).catch(() => [])));
  return each.flat();
}
