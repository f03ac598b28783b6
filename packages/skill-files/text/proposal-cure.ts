/** What the tools of a turn tell of its agent. */
interface Asking {
  readonly tools: readonly string[];
  readonly agent: { readonly findsTools?: readonly string[] };
}

/** What an agent does in place of a change of a skill, as the end of a sentence. `tool`: `extension/tool`, by which it proposes one. */
export function proposalCure(tool: string, { tools, agent }: Asking, id?: string): string {
  const change = id === undefined ? 'propose a change' : `propose a change to '${id}'`;
  const [extension = '', name] = tool.split('/');
  if (tools.includes(tool)) return `${change} with ${name}`;
  // How the manifest of an agent names it among the tools that are found.
  if (agent.findsTools?.some((each) => [tool, extension, '*'].includes(each)))
    return `${change} with ${name}, which you have to find first`;
  return `${change} to the person, who makes it`;
}
