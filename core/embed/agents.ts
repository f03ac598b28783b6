import path from 'node:path';
import { type AgentSpec, PithError } from '../contract/index.ts';
import type { Kernel } from '../compose/index.ts';
import { DEFAULT_LIMITS } from '../trust/index.ts';
import { EMBEDDED } from './embedded.ts';
import { partsOf } from './models.ts';
import type { EmbeddedAgent, PithOptions } from './options.ts';
import { policyOf } from './run-limits.ts';
import { DELEGATION, DELEGATION_TOOLS, SKILL_TOOLS } from './shipped.ts';

/** The agents that a program gives. Throws `settings_invalid`. */
export function agentsOf(options: PithOptions): readonly AgentSpec[] {
  const { agents = [] } = options;
  for (const { id, model } of agents) refuseOtherModel(options.model, model, `agents.${id}.model`);
  const ids = agents.map(({ id }) => id);
  const wrong = ids.find((id, at) => !ID.test(id) || ids.indexOf(id) < at);
  if (wrong === undefined) return agents.map((agent) => specOf(agent, options));
  const isTwice = ID.test(wrong);
  throw new PithError('settings_invalid', `agents: '${wrong}' ${isTwice ? 'is there twice' : 'is not an id'}`, {
    cure: isTwice ? 'rename one of them' : 'begin with a small letter, and use small letters, digits, - and _',
  });
}

const ID = /^[a-z][a-z0-9_-]{0,62}$/u;

/** Throws `settings_invalid` where `asked` is another model than the one that the program gives for all. */
export function refuseOtherModel(given: PithOptions['model'], asked: string | undefined, where: string): void {
  if (typeof given !== 'object' || asked === undefined) return;
  const { provider, modelId } = partsOf(given).model;
  const only = `${provider}/${modelId}`;
  if (asked === 'default' || asked === only) return;
  throw new PithError('settings_invalid', `${where}: '${asked}' would be ignored: createPith was given the model ${only} for everything`, {
    cure: 'leave it out, or give createPith a function from a reference to a model',
  });
}

/** The agent where nobody declares one: it has all tools and skills of the program. */
export function assistantOf(options: PithOptions): AgentSpec {
  return specOf({ id: 'assistant', instructions: options.instructions ?? '' }, options);
}

function specOf({ id, limits = {}, ...given }: EmbeddedAgent, { tools = {}, extensions = [], limits: most = {} }: PithOptions): AgentSpec {
  const named = (name: string) => (Object.hasOwn(tools, name) ? `${EMBEDDED}/${name}` : name);
  const wanted = extensions.map((each) => (typeof each === 'string' ? path.basename(each) : each.id));
  const { usesTools = [EMBEDDED, SKILL_TOOLS, ...wanted], findsTools, delegatesTo = [] } = given;
  const mayCall = usesTools.some((name) => name === '*' || name.split('/', 1)[0] === DELEGATION);
  return {
    name: id,
    description: '',
    model: 'default',
    integrationMode: 'none',
    instructions: '',
    prompt: null,
    usesSkills: [],
    keys: {},
    ...given,
    delegatesTo,
    usesTools: [...usesTools.map(named), ...(delegatesTo.length === 0 || mayCall ? [] : DELEGATION_TOOLS)],
    ...(findsTools === undefined ? {} : { findsTools: findsTools.map(named) }),
    id,
    limits: { ...DEFAULT_LIMITS, ...policyOf(most), ...policyOf(limits) },
    promptFile: null,
    origin: null,
  };
}

/** Rejects `settings_invalid` where one of the agents names what is not there, with the nearest names. */
export async function refuseUnusable(kernel: Kernel, agents: readonly AgentSpec[]): Promise<void> {
  const found = await Promise.all(agents.map(async (spec) => ({ id: spec.id, notes: await kernel.agents.check(spec) })));
  for (const { id, notes } of found) {
    const wrong = notes.find(({ severity }) => severity === 'error');
    if (wrong !== undefined)
      throw new PithError('settings_invalid', `agents.${id}: ${wrong.message.replaceAll(KEYS_OF_MANIFESTS, camelCase)}`, {
        cure: wrong.cure ?? 'correct it',
      });
  }
}

/** As messages name keys of agents that a program writes otherwise. */
const KEYS_OF_MANIFESTS = /\b(?:uses_tools|finds_tools|uses_skills|delegates_to|integration_mode)\b/gu;

function camelCase(key: string): string {
  return key.replaceAll(/_(.)/gu, (_, letter: string) => letter.toUpperCase());
}

/** The agent of a run that names none; null: the program's assistant. */
export function firstAgent({ settings, host }: Kernel, agents: readonly AgentSpec[]): string | null {
  const [first] = agents;
  if (first !== undefined) return first.id;
  const { default_agent: ofSandbox, origins } = settings;
  const isThere = origins['default_agent'] !== undefined || host.agents.declared().some(({ id }) => id === ofSandbox);
  return isThere ? ofSandbox : null;
}
