import { PithError, type Permissions } from 'pith';
import { didYouMean } from '@pith/plain-text';
import type { SavedSkill } from '../domain/saved-skill.ts';

type Registered = Awaited<ReturnType<Permissions['tools']>>[number];

/** A tool that a skill names, by `extension/tool`. */
export interface NamedTool {
  readonly ref: string;
  readonly tool: Registered;
}

/** The tools that a skill's names mean. Throws `tool_unknown` with every name that means none, or more than one. */
export function namedTools(names: readonly string[], registered: readonly Registered[]): readonly NamedTool[] {
  const found: NamedTool[] = [];
  const problems: string[] = [];
  const refs = registered.map(refOf);
  for (const name of new Set(names)) {
    const meant = registered.filter((tool) => (name.includes('/') ? refOf(tool) === name : tool.name === name));
    const [tool] = meant;
    if (tool !== undefined && meant.length === 1) found.push({ ref: refOf(tool), tool });
    else if (tool !== undefined) problems.push(`'${name}' may be ${meant.map(refOf).join(' or ')}`);
    else problems.push(`no tool '${name}'${didYouMean(name, name.includes('/') ? refs : registered.map((each) => each.name))}`);
  }
  if (problems.length > 0)
    throw new PithError('tool_unknown', problems.join('; '), { cure: 'name tools as extension/tool; see: pith tools list' });
  return found;
}

export function refOf({ extensionId, name }: Registered): string {
  return `${extensionId}/${name}`;
}

/** Tools that this author may not name. */
export function notForAuthor(tools: readonly NamedTool[], isAdmin: boolean): readonly string[] {
  return isAdmin ? [] : tools.flatMap(({ ref, tool }) => (tool.permission.authoring === 'admin' ? [ref] : []));
}

/** Tools that keep a skill private. */
export function notForSharing(tools: readonly NamedTool[]): readonly string[] {
  return tools.flatMap(({ ref, tool }) => (tool.permission.safeToShare === false ? [ref] : []));
}

/** Names of this extension's other tools: no skill is exposed by one of them. */
const OWN_TOOLS: ReadonlySet<string> = new Set(['list_saved_skills', 'skill_invoke', 'skill_invoke_parallel', 'update_status']);

/** By which agents call an exposed skill. */
export function toolNameOf({ chatbot_tool_name, name }: Pick<SavedSkill, 'chatbot_tool_name' | 'name'>): string {
  return chatbot_tool_name === '' ? name : chatbot_tool_name;
}

/** Whether this extension has a tool of that name besides exposed skills. */
export function isOwnTool(name: string): boolean {
  return OWN_TOOLS.has(name);
}

/** Whether conversations in this channel may run a skill. Runs may run any. */
export function isExposedIn(skill: Exposure, channelId: string): boolean {
  const { expose_as_chatbot_tool, chatbot_channel_filter: filter } = skill;
  return expose_as_chatbot_tool && (filter === '' || filter === channelId);
}

/** Whether they are told of it, too: a retired one runs only by its name. */
export function isListedIn(skill: Exposure, channelId: string): boolean {
  return isExposedIn(skill, channelId) && skill.deprecated_by_agent_id === null;
}

type Exposure = Pick<SavedSkill, 'expose_as_chatbot_tool' | 'chatbot_channel_filter' | 'deprecated_by_agent_id'>;

/** Exposed skills that are tools, and those whose name is taken: two processes may save one name at once, and the first of its skills has it. */
export function exposedTools(exposed: readonly SavedSkill[]): {
  readonly tools: readonly SavedSkill[];
  readonly unnamed: readonly SavedSkill[];
} {
  const tools = new Map<string, SavedSkill>();
  for (const skill of exposed) if (!isOwnTool(toolNameOf(skill)) && !tools.has(toolNameOf(skill))) tools.set(toolNameOf(skill), skill);
  const known = [...tools.values()];
  return { tools: known, unnamed: exposed.filter((skill) => !known.includes(skill)) };
}
