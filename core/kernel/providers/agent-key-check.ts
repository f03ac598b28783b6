import { pathText } from '../discovery/schema-issues.ts';
import type { ExtensionsPort } from '../records/extensions-port.ts';
import { type AgentSpec, type Diagnostic, type JsonValue, messageOf } from '../../contract/index.ts';
import { didYouMean } from '@pith/plain-text';
import { KERNEL_AGENT_KEYS } from '../discovery/agent-spec.ts';
import { positionOf, type Declaration } from '../discovery/declaration.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Slot } from '../lifecycle/slot.ts';

/** Checks what stands under `agent:` with the extensions that own the keys. `declaration` gives the places, for a declared agent. */
export async function checkAgentKeys(
  lifecycle: Lifecycle,
  spec: AgentSpec,
  declaration: Declaration | undefined,
): ReturnType<ExtensionsPort['checkAgentKeys']> {
  const owners = new Map(
    [...lifecycle.slots.values()].flatMap((slot) => (slot.declaration.manifest?.agent_keys ?? []).map((key) => [key, slot] as const)),
  );
  const at = placeIn(spec, declaration);
  let { keys } = spec;
  const checks = Object.entries(spec.keys).map(async ([key, value]) => {
    const owner = owners.get(key);
    if (owner) {
      const { notes, usable } = await checkKey(lifecycle, owner, key, value, at);
      if (notes.length > 0) keys = { ...keys, [key]: usable as JsonValue };
      return notes;
    }
    if (declaration?.diagnostics.some(({ code }) => code === 'agent_key_unowned')) return []; // doubtful, and said so
    const unowned: Diagnostic = {
      severity: 'error',
      code: 'agent_key_unowned',
      message: `no extension owns 'agent.${key}'${didYouMean(key, [...owners.keys(), ...KERNEL_AGENT_KEYS])}`,
      cure: 'correct or remove the key',
      ...at(`agent.${key}`),
    };
    return [unowned];
  });
  const notes = (await Promise.all(checks)).flat();
  return { notes, keys };
}

type PlaceOf = (path: string) => Pick<Diagnostic, 'file' | 'line' | 'column'>;

async function checkKey(
  lifecycle: Lifecycle,
  owner: Slot,
  key: string,
  value: unknown,
  at: PlaceOf,
): Promise<{ notes: readonly Diagnostic[]; usable: unknown }> {
  try {
    const generation = await lifecycle.ready(owner);
    const { findings, usable } = await generation.checkAgentKey(key, value);
    const notes = findings.map(({ path, cure = `correct '${pathText([path])}'`, ...rest }) => ({ ...rest, cure, ...at(path) }));
    return { notes, usable };
  } catch (error) {
    const note: Diagnostic = {
      severity: 'warning',
      code: 'provider_unavailable',
      message: `'agent.${key}' was not checked: ${messageOf(error)}`,
      cure: `fix '${owner.id}'`,
      ...at(`agent.${key}`),
    };
    return { notes: [note], usable: value };
  }
}

function placeIn(spec: AgentSpec, declaration: Declaration | undefined): PlaceOf {
  const file = spec.origin ?? declaration?.file;
  return (path) => {
    const position = declaration?.file === file && declaration?.positions ? positionOf(declaration.positions, path.split('.')) : null;
    return { ...(file === undefined ? {} : { file }), ...position };
  };
}
