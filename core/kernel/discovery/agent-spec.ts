import { type AgentSpec, PithError } from '../../contract/index.ts';
import { deepFreeze } from '../records/plain-data.ts';
import { isExtension, type Declaration } from './declaration.ts';

/** Keys under `agent:` that the kernel reads; every other key must be owned by an extension's `agent_keys`. */
export const KERNEL_AGENT_KEYS = [
  'description',
  'model',
  'integration_mode',
  'instructions',
  'uses_tools',
  'uses_skills',
  'delegates_to',
  'limits',
] as const;

const specs = new WeakMap<Declaration, AgentSpec>();

/** The agent that a declaration with an `agent` section declares; deeply frozen, the same value for the same declaration. Throws for others. */
export function agentSpecOf(declaration: Declaration): AgentSpec {
  let spec = specs.get(declaration);
  if (spec === undefined) {
    spec = deepFreeze(make(declaration));
    specs.set(declaration, spec);
  }
  return spec;
}

function make(declaration: Declaration): AgentSpec {
  const { manifest, prompt } = declaration;
  if (manifest?.agent === undefined)
    throw new PithError('agent_unknown', `'${declaration.id}' declares no agent`, { where: declaration.file });
  const { agent } = manifest;
  return structuredClone({
    id: declaration.id,
    name: manifest.name,
    description: agent.description || manifest.description,
    model: agent.model,
    integrationMode: agent.integration_mode,
    instructions: agent.instructions,
    prompt: prompt?.text ?? null,
    promptFile: prompt?.file ?? null,
    ...(prompt !== null && isExtension(declaration) ? { promptBy: declaration.id } : {}),
    usesTools: agent.uses_tools,
    usesSkills: agent.uses_skills,
    delegatesTo: agent.delegates_to,
    limits: agent.limits,
    keys: Object.fromEntries(Object.entries(agent).filter(([key]) => !(KERNEL_AGENT_KEYS as readonly string[]).includes(key))),
    origin: declaration.file,
  });
}
