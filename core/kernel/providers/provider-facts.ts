import { type Declaration, KERNEL_PROTOCOLS } from '../../declarations/index.ts';
import { canRun, type Slot } from '../lifecycle/actor.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { ProviderFacts } from '../lifecycle/tiers.ts';

interface Offer extends Pick<ProviderFacts, 'provides' | 'constants'> {
  readonly declaration: Declaration;
}

/**
 * Every other extension, with what a process may reach of it. Each process asks at each change of any extension, so what one offers is
 * kept until that one changes.
 */
export function createProviderFacts(
  lifecycle: Pick<Lifecycle, 'slots' | 'descriptorOf' | 'stateOf'>,
  onChange: (listener: (ids: ReadonlySet<string>) => void) => unknown,
): (user: Pick<Declaration, 'id'>) => readonly ProviderFacts[] {
  const offers = new Map<string, Offer>();
  onChange((ids) => ids.forEach((id) => offers.delete(id)));

  function offerOf(slot: Slot): Offer {
    const { id, declaration } = slot;
    const known = offers.get(id);
    if (known?.declaration === declaration) return known;
    const { inProcessOnly = [], constants = {} } = lifecycle.descriptorOf(slot) ?? {};
    const isOpen = (each: string) => !KERNEL_PROTOCOLS.get(each)?.inProcessOnly && !inProcessOnly.includes(each);
    const offer = { declaration, provides: (declaration.manifest?.provides ?? []).filter(isOpen), constants };
    offers.set(id, offer);
    return offer;
  }

  return (user) =>
    [...lifecycle.slots.values()].flatMap((slot): readonly ProviderFacts[] => {
      if (slot.id === user.id) return [];
      const { provides, constants } = offerOf(slot);
      if (provides.length === 0) return [];
      return [{ id: slot.id, provides, constants, reachable: slot.pending !== null || canRun(lifecycle.stateOf(slot)) }];
    });
}
