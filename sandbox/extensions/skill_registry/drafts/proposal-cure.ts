import type { TurnInfo } from 'pith';

const EXTENSION = 'skill_proposals';
const PROPOSING = `${EXTENSION}/propose_skill_update`;
/** How the manifest of an agent names it among the tools that are found. */
const FINDING: ReadonlySet<string> = new Set([PROPOSING, EXTENSION, '*']);

/** What an agent does in place of a change of a skill, as the end of a sentence. */
export function proposalCure({ tools, agent }: Pick<TurnInfo, 'tools' | 'agent'>, id?: string): string {
  const change = id === undefined ? 'propose a change' : `propose a change to '${id}'`;
  if (tools.includes(PROPOSING)) return `${change} with propose_skill_update`;
  if (agent.findsTools?.some((each) => FINDING.has(each))) return `${change} with propose_skill_update, which find_tools finds`;
  return `${change} to the person, who makes it`;
}
