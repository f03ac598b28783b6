import { didYouMean, messageOf, SkillProvider, toolError, type ExtensionContext, type ToolResult, type TurnInfo } from 'pith';

/** The tools that `wanted` means, each as `extension/tool`, when the turn has all of them; else the refusal with the nearest names. */
export function grantedTools(wanted: readonly string[], { tools, agent }: TurnInfo): readonly string[] | ToolResult {
  const granted = new Set<string>();
  for (const name of wanted) {
    const meant = tools.filter((tool) => name === '*' || namesOf(tool).includes(name));
    if (meant.length === 0 && name !== '*') {
      const close = didYouMean(name, new Set(tools.flatMap(namesOf)));
      return toolError('tool_unknown', `uses_tools '${name}': '${agent.id}' has no such tool to give${close}; it has ${tools.join(', ')}`);
    }
    for (const tool of meant) granted.add(tool);
  }
  return [...granted];
}

/** A tool may be named by its extension, by itself, or by both, as a manifest or as a model writes them. */
function namesOf(tool: string): readonly string[] {
  const [extension = '', name = ''] = tool.split('/', 2);
  return [tool, name, extension, `${extension}__${name}`];
}

/** `wanted`, when the turn's agent may read all of them; else the refusal with the nearest names. */
export async function grantedSkills(
  wanted: readonly string[],
  { agent }: TurnInfo,
  context: Pick<ExtensionContext, 'find' | 'logger'>,
): Promise<readonly string[] | ToolResult> {
  if (wanted.length === 0) return [];
  const readable = new Set(agent.usesSkills);
  for (const provider of context.find(SkillProvider)) {
    try {
      for (const id of (await provider.readableSkills?.(agent)) ?? []) readable.add(id);
    } catch (error) {
      // Fail closed: what cannot be asked gives nothing.
      context.logger.warn(`'${provider.extensionId}' does not say which skills '${agent.id}' may read`, { error: messageOf(error) });
    }
  }
  const missing = wanted.find((id) => !readable.has(id));
  if (missing === undefined) return [...new Set(wanted)];
  return toolError('skill_not_found', `uses_skills '${missing}': '${agent.id}' has no such skill to give${didYouMean(missing, readable)}`);
}
