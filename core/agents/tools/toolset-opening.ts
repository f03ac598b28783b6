import { within } from '../../contract/promises.ts';
import type { Clock, Toolset } from '../../contract/index.ts';
import type { ExtensionsPort } from '../ports.ts';

/** Turns wait so long for a toolset in all, counted from the first that asked: most are there in less than one second. */
export const PATIENCE_MS = 3000;

type Opened = Awaited<ReturnType<ExtensionsPort['openToolset']>>;

interface Opening {
  readonly since: number;
  readonly result: Promise<Opened>;
}

const underWay = new WeakMap<ExtensionsPort, Map<string, Opening>>();

/** null: it is not open in time. It goes on, and is there for a later step or turn. Rejects with the reason why it cannot be opened. */
export async function openInTime(extensions: ExtensionsPort, clock: Clock, providerId: string, toolset: Toolset): Promise<Opened | null> {
  const openings = underWay.get(extensions) ?? new Map<string, Opening>();
  underWay.set(extensions, openings);
  const key = `${providerId} ${toolset.id} ${toolset.directory}`;
  const opening = openings.get(key) ?? { since: clock.now(), result: extensions.openToolset(providerId, toolset) };
  if (!openings.has(key)) {
    openings.set(key, opening);
    const settled = (): unknown => openings.delete(key);
    opening.result.then(settled, settled);
  }
  const left = opening.since + PATIENCE_MS - clock.now();
  return within(clock, Math.min(Math.max(0, left), PATIENCE_MS), opening.result, () => null); // the clock may have been set back
}
