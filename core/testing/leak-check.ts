import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface Resources {
  readonly active: ReadonlyMap<string, number>;
  readonly descriptors: number | null;
  readonly processListeners: number;
}

/** Runs `work` and throws when timers, handles, file descriptors or process listeners are left that were not there before. */
export async function expectNoLeaks(work: () => Promise<void>): Promise<void> {
  const before = resources();
  await work();
  let left: readonly string[] = [];
  for (let round = 0; round < 50; round++) {
    left = leaked(before, resources());
    if (left.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20)); // closing is asynchronous
    if (round % 10 === 0) collectGarbage(); // a database driver lets go of its files with its last statement
  }
  throw new Error(`left behind: ${left.join(', ')}`);
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

function leaked(before: Resources, after: Resources): readonly string[] {
  const left = [...after.active].flatMap(([kind, count]) => {
    const more = count - (before.active.get(kind) ?? 0);
    return more > 0 ? [`${more} × ${kind}`] : [];
  });
  const descriptors = (after.descriptors ?? 0) - (before.descriptors ?? 0);
  if (descriptors > 0) left.push(`${descriptors} × file descriptor`);
  const listeners = after.processListeners - before.processListeners;
  if (listeners > 0) left.push(`${listeners} × process listener`);
  return left;
}

function resources(): Resources {
  const active = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (kind === 'Immediate' || kind === 'TickObject') continue; // gone by the next tick, by definition
    active.set(kind, (active.get(kind) ?? 0) + 1);
  }
  const processListeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  return { active, descriptors: descriptorCount(), processListeners };
}

function descriptorCount(): number | null {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null; // no /proc on this system
    throw error;
  }
}
