import { canRun } from '../records/extensions-port.ts';
import type { AgentSpec, TurnInfo, TurnTool } from '../../contract/index.ts';
import { TOOLSET_PREFIX } from '../records/extension-data.ts';
import { recorded, type Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Slot } from '../lifecycle/slot.ts';
import { Problem } from '../records/problem.ts';
import { callProvider, running } from './handle.ts';
import { TURN_TOOLS } from '../calls/surface.ts';
import { toJsonValue } from '../calls/json-value.ts';

/** How many entries one extension may give to one turn. */
const MOST_TURN_TOOLS = 1000;

/** Extensions that the agent names and that have tools of one turn, sorted. Loads what it names only where nothing is known of it. */
export async function turnToolProviders(lifecycle: Lifecycle, agent: AgentSpec): Promise<readonly string[]> {
  const slots = [...lifecycle.slots.values()].filter((slot) => isNamed(slot, agent) && (slot.pending || canRun(lifecycle.stateOf(slot))));
  const known = await Promise.all(
    slots.map(async (slot) => {
      if (slot.pending) await slot.pending.catch(recorded);
      const descriptor = lifecycle.descriptorOf(slot);
      return descriptor ?? (await lifecycle.ready(slot).catch(recorded))?.surface.descriptor;
    }),
  );
  return slots.flatMap(({ id }, index) => (known[index]?.turnTools ? [id] : [])).sort();
}

/** Rejects `provider_timeout` or `provider_failed`, recorded. */
export async function turnTools(
  lifecycle: Lifecycle,
  extensionId: string,
  turn: TurnInfo,
  signal: AbortSignal,
): Promise<readonly TurnTool[]> {
  const found = await callProvider(lifecycle, extensionId, TURN_TOOLS, [turn, signal]);
  if (Array.isArray(found) && found.length <= MOST_TURN_TOOLS && found.every(isTurnTool))
    return lifecycle.runtime.secrets.redactJson(toJsonValue(found, 'the tools of a turn')) as unknown as readonly TurnTool[];
  const problem = new Problem(
    'getTurnTools',
    'provider_failed',
    `getTurnTools of '${extensionId}' returned no list of { tool, description?, inputSchema? } and { toolset: { id, directory, modules } }`,
  );
  lifecycle.runtime.failures.record(extensionId, problem);
  throw problem;
}

/** Calls a hook of an extension that provides `turn` and has it. The end is told only to what still runs. Never rejects: what fails is recorded. */
export async function tellOfTurn(
  lifecycle: Lifecycle,
  extensionId: string,
  operation: 'turn.beginTurn' | 'turn.endTurn',
  values: readonly unknown[],
): Promise<void> {
  const slot = lifecycle.slots.get(extensionId);
  if (!slot?.declaration.manifest?.provides.includes('turn')) return;
  try {
    const generation = operation === 'turn.endTurn' ? slot.current : await running(lifecycle, extensionId);
    if (generation?.surface.descriptor.operations[operation]) await callProvider(lifecycle, extensionId, operation, values);
  } catch {
    // It is recorded, and the turn goes on without.
  }
}

/** By its id, by a key under `agent:` that it owns, or, where it provides skills, by a skill or a toolset. */
function isNamed({ id, declaration: { manifest } }: Slot, { usesTools, usesSkills, keys }: AgentSpec): boolean {
  if (!manifest?.provides.includes('tool')) return false;
  const byTool = usesTools.some((entry) => entry === '*' || entry === id || entry.startsWith(`${id}/`));
  if (byTool || manifest.agent_keys.some((key) => Object.hasOwn(keys, key))) return true;
  return manifest.provides.includes('skill') && (usesSkills.length > 0 || usesTools.some((entry) => entry.startsWith(TOOLSET_PREFIX)));
}

function isTurnTool(value: unknown): boolean {
  const { tool, description, inputSchema, toolset } = fieldsOf(value);
  if (toolset !== undefined) {
    const { id, directory, modules } = fieldsOf(toolset);
    return (
      typeof id === 'string' && typeof directory === 'string' && Array.isArray(modules) && modules.every((each) => typeof each === 'string')
    );
  }
  const isObject = typeof inputSchema === 'object' && inputSchema !== null && !Array.isArray(inputSchema);
  return (
    typeof tool === 'string' && (description === undefined || typeof description === 'string') && (inputSchema === undefined || isObject)
  );
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
