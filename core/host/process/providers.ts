import { canRun } from '../../agents/ports.ts';
import { descriptorOf } from '../calls/handle.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { ProviderFacts } from './setup.ts';

/** Every other extension with what it provides; and the kernel, which offers commands. */
export function providersFor(lifecycle: Lifecycle, user: Declaration): readonly ProviderFacts[] {
  const kernel: ProviderFacts = { id: 'kernel', provides: ['command'], constants: {}, reachable: true };
  const others = [...lifecycle.slots.values()].flatMap((slot): readonly ProviderFacts[] => {
    const provides = slot.declaration.manifest?.provides ?? [];
    if (slot.id === user.id || provides.length === 0) return [];
    const constants = descriptorOf(lifecycle, slot)?.constants ?? {};
    return [{ id: slot.id, provides, constants, reachable: slot.pending !== null || canRun(lifecycle.stateOf(slot)) }];
  });
  return lifecycle.parts.options.commands === undefined ? others : [kernel, ...others];
}
