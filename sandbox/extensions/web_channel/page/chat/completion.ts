import { ApiError, read } from '../server/api.ts';
import { onEvent } from '../server/events.ts';
import { SLASH_COMMANDS } from './slash-commands.ts';

/** So many are shown. */
export const MOST_COMPLETIONS = 8;

/** What can be completed at the end of a text. */
export interface Completion {
  readonly value: string;
  readonly about: string;
}

interface Recipe {
  readonly name: string;
  readonly description: string;
  readonly state: string;
}

interface Agent {
  readonly id: string;
  readonly description: string;
  readonly state: string;
}

let recipes: Promise<readonly Recipe[]> | null = null;
let agents: Promise<readonly Agent[]> | null = null;

// What is known is asked again once something of it, or the server, has changed.
onEvent(({ type, data }) => {
  if (type === 'reset' || ['skill', 'agent', 'extension'].includes(String(data['kind']))) [recipes, agents] = [null, null];
});

/** Commands, recipes and skills after a slash at the beginning, agents after an @ there. Empty where nothing fits. */
export async function completionsOf(text: string): Promise<readonly Completion[]> {
  const [, slash] = /^\/([\w-]*)$/u.exec(text) ?? [];
  if (slash !== undefined) {
    const named = [
      ...SLASH_COMMANDS.map(({ name, about }) => ({ name, about })),
      ...(await usableRecipes()),
      ...(await readableSkills(slash).catch(() => [])),
    ];
    return named.filter(({ name }) => name.startsWith(slash)).map(({ name, about }) => ({ value: `/${name} `, about }));
  }
  const [, at] = /^@([\w-]*)$/u.exec(text) ?? [];
  if (at === undefined) return [];
  const named = (await activeAgents()).filter(({ id }) => id.startsWith(at));
  return named.map(({ id, description }) => ({ value: `@${id} `, about: description }));
}

async function activeAgents() {
  agents ??= read<readonly Agent[]>('/api/agents').catch(() => ((agents = null), []));
  return (await agents).filter(({ state }) => state === 'active');
}

async function usableRecipes() {
  recipes ??= read<readonly Recipe[]>('/api/recipes').catch(() => ((recipes = null), []));
  return (await recipes).filter(({ state }) => state === 'usable').map(({ name, description }) => ({ name, about: description }));
}

/** Those whose names begin so, the shortest first; the server may have thousands. */
async function readableSkills(prefix: string) {
  const query = new URLSearchParams({ limit: String(MOST_COMPLETIONS), ...(prefix === '' ? {} : { prefix }) });
  const { skills } = await read<{ readonly skills: readonly Pick<Agent, 'id' | 'description'>[] }>(`/api/skills?${query}`);
  return skills.map(({ id, description }) => ({ name: id, about: description }));
}

/** Of a message that begins with an @ and the name of an agent, the agent, and what it is told. Rejects with `ApiError` where that is nothing. */
export async function addressed(text: string): Promise<{ readonly agent?: string; readonly text: string }> {
  const [, agent, rest = ''] = /^@([\w-]+)(?:\s+(.*))?$/su.exec(text) ?? [];
  if (agent === undefined || !(await activeAgents()).some(({ id }) => id === agent)) return { text };
  if (rest !== '') return { agent, text: rest };
  throw new ApiError({
    status: 0,
    code: 'usage',
    message: `there is no message to @${agent}`,
    cure: { text: 'write it after the name' },
    answer: {},
  });
}

/** What a message that begins with the name of a recipe or of a skill says in full. Rejects with `ApiError` where it is neither. */
export async function expanded(text: string): Promise<string> {
  const [, name, rest = ''] = /^\/([\w-]+)(?:\s+(.*))?$/su.exec(text) ?? [];
  if (name === undefined) return text.trim();
  if ((await usableRecipes()).some((recipe) => recipe.name === name)) {
    const query = new URLSearchParams({ message: 'true', ...(rest === '' ? {} : { text: rest }) });
    return (await read<{ readonly text: string }>(`/api/recipes/${encodeURIComponent(name)}?${query}`)).text;
  }
  if ((await readableSkills(name)).some((skill) => skill.name === name))
    return `Use the skill \`${name}\`${rest === '' ? '.' : `: ${rest}`}`;
  const cure = { text: 'type / to see what there is, or begin with a space to send it as it is' };
  throw new ApiError({ status: 0, code: 'command_unknown', message: `/${name} is not a command, a recipe or a skill`, cure, answer: {} });
}
