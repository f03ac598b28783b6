import type { Diagnostic, ExtensionContext } from 'pith';
import { unknownSkills } from './catalog/pinned.ts';
import type { SkillSearch } from './search/skill-search.ts';
import type { Snapshot } from './skill.ts';

/** What is wrong beside the skills themselves: settings, agents that name skills that are not there, the search. */
export async function findingsOf(
  { agents }: Pick<ExtensionContext, 'agents'>,
  search: Pick<SkillSearch, 'findings'>,
  snapshot: Snapshot,
): Promise<readonly Diagnostic[]> {
  const pins = (await agents.list()).flatMap((agent) => unknownSkills(agent, snapshot));
  return [...snapshot.diagnostics, ...pins, ...(await search.findings(snapshot))];
}
