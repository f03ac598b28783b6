import { type AgentSpec, PithError, type Diagnostic } from '../contract/index.ts';
import { deepFreeze } from '@pith/plain-data';
import { type Declaration, type FolderRecord } from './declaration.ts';
import type { Manifest } from '../trust/index.ts';
import { didYouMean, nearest } from '@pith/plain-text';
import { asIgnored, unknownKey } from '@pith/checked-yaml';

/** Keys under `agent:` that the kernel reads; every other key must be owned by an extension's `agent_keys`. */
export const KERNEL_AGENT_KEYS = [
  'description',
  'model',
  'effort',
  'integration_mode',
  'instructions',
  'uses_tools',
  'finds_tools',
  'uses_skills',
  'delegates_to',
  'limits',
] as const;

/** The agent that a declaration with an `agent` section declares; deeply frozen. Throws for others. */
export function agentSpecOf(declaration: Declaration): AgentSpec {
  const { manifest, prompt } = declaration;
  if (manifest?.agent === undefined)
    throw new PithError('agent_unknown', `'${declaration.id}' declares no agent`, { where: declaration.file });
  const { agent } = manifest;
  const spec: AgentSpec = {
    id: declaration.id,
    name: manifest.name,
    description: agent.description || manifest.description,
    model: agent.model,
    ...(agent.effort === undefined ? {} : { effort: agent.effort }),
    integrationMode: agent.integration_mode,
    instructions: agent.instructions,
    prompt: prompt?.text ?? null,
    promptFile: prompt?.file ?? null,
    ...(prompt !== null && manifest.entrypoint !== undefined ? { promptBy: declaration.id } : {}),
    usesTools: agent.uses_tools,
    findsTools: agent.finds_tools,
    usesSkills: agent.uses_skills,
    delegatesTo: agent.delegates_to,
    limits: agent.limits,
    keys: Object.fromEntries(Object.entries(agent).filter(([key]) => !(KERNEL_AGENT_KEYS as readonly string[]).includes(key))),
    origin: declaration.file,
  };
  return deepFreeze(structuredClone(spec));
}

/** A declaration and what else its folder's record says. */
export interface Entry {
  readonly declaration: Declaration;
  readonly record: Pick<FolderRecord, 'extraAgentKeys' | 'ownedAgentKeys'>;
}

/** Decides what one folder alone cannot: keys under `agent:` need an owner. */
export function settleAgents(entries: ReadonlyMap<string, Entry>): Map<string, Declaration> {
  const owned = new Set([...entries.values()].flatMap(({ record }) => record.ownedAgentKeys ?? []));
  const unreadable = [...entries.values()].filter(({ record }) => record.ownedAgentKeys === null).map(({ declaration }) => declaration.id);
  return new Map([...entries].map(([id, entry]) => [id, checked(entry, owned, unreadable)]));
}

/** Where a manifest cannot be read, the owner may be there: then the key is only doubtful, and the agent still works. */
function checked({ declaration, record }: Entry, owned: ReadonlySet<string>, unreadable: readonly string[]): Declaration {
  const unowned = declaration.manifest === null ? [] : record.extraAgentKeys.filter((key) => !owned.has(key));
  if (unowned.length === 0) return declaration;
  const found = unowned.map((key) =>
    unreadable.length > 0 ? doubt(declaration, key, owned, unreadable) : unknown(declaration, key, owned),
  );
  const diagnostics = [...declaration.diagnostics, ...found];
  if (found.some(({ severity }) => severity === 'error')) return { ...declaration, manifest: null, diagnostics };
  return unreadable.length > 0
    ? { ...declaration, diagnostics }
    : { ...declaration, manifest: without(declaration.manifest!, unowned), diagnostics };
}

function without(manifest: Manifest, keys: readonly string[]): Manifest {
  const agent = { ...manifest.agent! };
  for (const key of keys) delete agent[key];
  return { ...manifest, agent };
}

/** It is ignored, unless it was to be limits, or a key of an extension: these may forbid something. */
function unknown(declaration: Declaration, key: string, owned: ReadonlySet<string>): Diagnostic {
  const known = knownKeys(owned);
  const [meant = ''] = nearest(key, known, 1);
  const finding = unknownKey(['agent', key], known, { file: declaration.file, positions: declaration.positions ?? {} });
  return meant === 'limits' || owned.has(meant) ? finding : asIgnored(finding);
}

function knownKeys(owned: ReadonlySet<string>): readonly string[] {
  return [...KERNEL_AGENT_KEYS, ...[...owned].sort()];
}

function doubt(declaration: Declaration, key: string, owned: ReadonlySet<string>, unreadable: readonly string[]): Diagnostic {
  return {
    severity: 'warning',
    code: 'agent_key_unowned',
    ...placeOf(declaration, key),
    cure: 'correct the broken manifest',
    message: `nothing that could be read owns the key '${key}' in 'agent' (broken: ${unreadable.join(', ')})${didYouMean(key, knownKeys(owned))}`,
  };
}

function placeOf({ file, positions }: Declaration, key: string): Pick<Diagnostic, 'file' | 'line' | 'column'> {
  const [line, column] = positions?.[`agent.${key}`] ?? [1, 1];
  return { file, line, column };
}
