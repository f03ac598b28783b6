import { read } from '../server/api.ts';

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
}

let recipes: Promise<readonly Recipe[]> | null = null;
let agents: Promise<readonly Agent[]> | null = null;

/** Recipes after a slash at the beginning, agents after an @. Empty where nothing fits. */
export async function completionsOf(text: string): Promise<readonly Completion[]> {
  const [, slash] = /^\/([\w-]*)$/u.exec(text) ?? [];
  if (slash !== undefined) {
    recipes ??= read<readonly Recipe[]>('/api/recipes').catch(() => []);
    const usable = (await recipes).filter(({ state, name }) => state === 'usable' && name.startsWith(slash));
    return usable.map(({ name, description }) => ({ value: `/${name} `, about: description }));
  }
  const [, before = '', at] = /^(.*(?:^|\s))@([\w-]*)$/su.exec(text) ?? [];
  if (at === undefined) return [];
  agents ??= read<readonly Agent[]>('/api/agents').catch(() => []);
  const named = (await agents).filter(({ id }) => id.startsWith(at));
  return named.map(({ id, description }) => ({ value: `${before}@${id} `, about: description }));
}

/** What a message that begins with a recipe says in full; the text itself where it names none. */
export async function expanded(text: string): Promise<string> {
  const [, name, rest = ''] = /^\/([\w-]+)(?:\s+(.*))?$/su.exec(text) ?? [];
  if (name === undefined) return text;
  const query = new URLSearchParams({ message: 'true', ...(rest === '' ? {} : { text: rest }) });
  const shown = await read<{ readonly text?: string }>(`/api/recipes/${encodeURIComponent(name)}?${query}`).catch(() => null); // no recipe
  return shown?.text ?? text;
}
