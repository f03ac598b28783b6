import { existsSync } from 'node:fs';
import path from 'node:path';
import { type AgentSpec, PithError } from '../contract/index.ts';
import { shippedSandbox } from '../declarations/index.ts';
import type { PithOptions } from './options.ts';

/** What a program needs of what ships; the rest it names. */
export const SHIPPED = ['skill_registry', 'skill_search', 'openai_compatible', 'anthropic', 'offline'];

/** The model without a network, which tells what to do. */
export const LIBRARIAN = 'offline';

/** The tools for skills. */
export const SKILL_TOOLS = 'skill_registry';

/** Agents that call others need it. */
export const DELEGATION = 'delegation';
export const DELEGATION_TOOLS = [`${DELEGATION}/list_agents`, `${DELEGATION}/delegate_task`];

/** Of what works in the folder `project`. */
const PROJECT_TOOLS = 'project_tools';

/** Whether an extension of this id comes with Pith. */
export function isShipped(id: string): boolean {
  return /^\w+$/u.test(id) && existsSync(path.join(shippedSandbox(), 'extensions', id));
}

/** Throws `settings_invalid` where the program counts on an extension that ships and that is not among `given`. */
export function refuseNotGiven(
  { settings = {}, project, sandbox }: PithOptions,
  agents: readonly AgentSpec[],
  given: readonly string[],
): void {
  const isOwn = (id: string) => sandbox !== undefined && existsSync(path.join(sandbox, 'extensions', id));
  const missing = (where: string, id: string) => {
    if (given.includes(id) || !isShipped(id) || isOwn(id)) return;
    throw new PithError('settings_invalid', `${where}: '${id}' is not among \`extensions\``, {
      cure: `add '${id}' to \`extensions\` of createPith`,
    });
  };
  for (const id of Object.keys(settings['extensions'] ?? {})) missing(`settings.extensions.${id}`, id);
  for (const { id, usesTools, findsTools = [] } of agents) {
    for (const name of usesTools) missing(`agents.${id}.usesTools`, name.split('/', 1)[0] as string);
    for (const name of findsTools) missing(`agents.${id}.findsTools`, name.split('/', 1)[0] as string);
  }
  if (given.includes(PROJECT_TOOLS) && project === undefined && sandbox === undefined)
    throw new PithError('settings_invalid', `extensions: '${PROJECT_TOOLS}' has no folder to work in`, { cure: 'name it as `project`' });
  const isUsed = sandbox !== undefined || given.some((id) => !SHIPPED.includes(id) && id !== DELEGATION);
  if (project !== undefined && !isUsed) missing('project', PROJECT_TOOLS);
}
