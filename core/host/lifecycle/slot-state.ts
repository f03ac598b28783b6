import { canRun, type ExtensionState } from '../../agents/ports.ts';
import type { Failure } from '../../contract/index.ts';
import type { Declaration, Discovery } from '../discovery/declaration.ts';
import { isBlocked } from '../discovery/order.ts';
import type { HostParts } from '../host-parts.ts';
import type { Slot } from './slot.ts';

type Slots = ReadonlyMap<string, Slot>;

export function stateOf(slots: Slots, slot: Slot): ExtensionState {
  if (!slot.config.enabled) return 'disabled';
  // A version that runs stays, also when its manifest has been broken since.
  if (slot.current) return 'active';
  if (slot.declared) return isBlocked(slot.declared) ? 'blocked' : 'failed';
  if (slot.failure) return 'failed';
  return blockerOf(slots, slot) === undefined ? 'idle' : 'blocked';
}

/** The hard dependency that keeps an extension from running. */
export function blockerOf(slots: Slots, slot: Slot): Slot | undefined {
  for (const id of slot.declaration.manifest?.depends_on ?? []) {
    const dependency = slots.get(id);
    if (dependency && !dependency.pending && !canRun(stateOf(slots, dependency))) return dependency;
  }
  return undefined;
}

/** Those that run or can run. */
export function runnable(slots: Slots): readonly Slot[] {
  return [...slots.values()].filter((slot) => slot.pending || canRun(stateOf(slots, slot)));
}

/** What a declaration gives its slot. The secrets that it may have are hidden from here on. */
export function declaredOf({ options, secrets }: Pick<HostParts, 'options' | 'secrets'>, discovery: Discovery, declaration: Declaration) {
  const config = options.configOf(declaration);
  secrets.declare(config.secrets);
  return { declaration, config, declared: discovery.failures.get(declaration.id) ?? quarantined(options, declaration) };
}

function quarantined({ quarantine }: HostParts['options'], { id, digest, file }: Declaration): Failure | null {
  const found = quarantine?.of(id, digest);
  if (!found) return null;
  const { reason, at } = found;
  const cure = `edit it, or run: pith extensions reload ${id}`;
  return { extensionId: id, phase: 'start', code: 'quarantined', message: reason, at, file, cure };
}
