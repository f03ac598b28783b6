import type { Discovery } from '../discovery/declaration.ts';
import { recorded, type Lifecycle } from './lifecycle.ts';
import type { Slot } from './slot.ts';

const GRACE_MS = 1000;
/** The whole process has ten seconds to end. */
const LIMIT_MS = 8000;

/** Stops every extension after its dependents, side by side where they do not depend on each other. Never rejects. */
export async function stopAll(lifecycle: Lifecycle, discovery: Discovery): Promise<void> {
  lifecycle.end();
  const { slots, parts, endings } = lifecycle;
  const stopping = new Map<string, Promise<void>>();
  const stop = (slot: Slot): Promise<void> => {
    const known = stopping.get(slot.id);
    if (known) return known;
    const dependents = [...slots.values()].filter(
      ({ declaration }) => declaration.manifest?.depends_on.includes(slot.id) && discovery.order.includes(declaration.id),
    );
    const done = Promise.all(dependents.map(stop)).then(async () => {
      await slot.pending?.catch(recorded);
      await slot.updating;
      if (slot.current) await lifecycle.rest(slot, null, GRACE_MS);
    });
    stopping.set(slot.id, done);
    return done;
  };
  let cancel: (() => void) | undefined;
  const late = new Promise<void>((resolve) => (cancel = parts.clock.after(LIMIT_MS, resolve)));
  await Promise.race([Promise.all([...[...slots.values()].map(stop), ...endings.map((end) => end())]), late]).finally(() => cancel?.());
}
