import { canRun } from '../../agents/ports.ts';
import { descriptorOf } from '../calls/handle.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { REACHABLE_FROM_PROCESS } from '../calls/protocols.ts';
import type { ProviderFacts } from './setup.ts';

/** Every other extension with what of it a process may reach. */
export function providersFor(lifecycle: Lifecycle, user: Declaration): readonly ProviderFacts[] {
  return [...lifecycle.slots.values()].flatMap((slot): readonly ProviderFacts[] => {
    const provides = (slot.declaration.manifest?.provides ?? []).filter((id) => REACHABLE_FROM_PROCESS.has(id));
    if (slot.id === user.id || provides.length === 0) return [];
    const constants = descriptorOf(lifecycle, slot)?.constants ?? {};
    return [{ id: slot.id, provides, constants, reachable: slot.pending !== null || canRun(lifecycle.stateOf(slot)) }];
  });
}
