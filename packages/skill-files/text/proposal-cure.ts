/** What the tools of a turn tell of its agent. */
interface Asking {
  readonly tools: readonly string[];
  readonly agent: { readonly findsTools?: readonly string[] };
}

/** What an agent does in place of a change of a skill, as the end of a sentence. */
export function proposalCure({ tools, agent }: Asking, id?: string): string {
  const change = id === undefined ? 'propose a change' : `propose a change to '${id}'`;
  if (tools.includes(PROPOSING)) return `${change} with propose_skill_update`;
  if (agent.findsTools?.some((each) => FINDING.has(each))) return `${change} with propose_skill_update, which find_tools finds`;
  return `${change} to the person, who makes it`;
}

const PROPOSING = 'skill_proposals/propose_skill_update';
/** How the manifest of an agent names it among the tools that are found. */
const FINDING: ReadonlySet<string> = new Set([PROPOSING, 'skill_proposals', '*']);
