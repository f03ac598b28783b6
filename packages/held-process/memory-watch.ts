import { heldMemory } from './held-memory.ts';
import { familyOf, processEntry } from './process-table.ts';
import { after } from './timers.ts';

const WORKING_MS = 100;
const IDLE_MS = 2000;

export interface MemoryWatch {
  /** Whether calls are open: it looks more often then. */
  working(isWorking: boolean): void;
  /** Processes that it saw below the host, by pid, with their start times. */
  readonly seen: ReadonlyMap<number, string>;
  stop(): void;
}

/** Looks at the memory of a process and its descendants, and reports once when they hold more than they may, or are more. */
export function watchMemory(pid: number, limitMb: number, exceeded: (message: string) => void, mostProcesses = Infinity): MemoryWatch {
  const seen = new Map<number, string>();
  let isWorking = true;
  let cancel = after(WORKING_MS, look);

  function look(): void {
    const family = familyOf(pid);
    for (const each of family.slice(1)) {
      const entry = processEntry(each);
      if (entry) seen.set(each, entry.startTime);
    }
    for (const each of seen.keys()) if (seen.size > MOST_SEEN) seen.delete(each);
    if (family.length > mostProcesses) return exceeded(`it started more than ${mostProcesses} processes`);
    const { bytes, descriptors } = heldMemory(family);
    if (descriptors > MOST_DESCRIPTORS) return exceeded(`it opened more than ${MOST_DESCRIPTORS} files`);
    const used = Math.round(bytes / 1024 / 1024);
    if (used > limitMb) return exceeded(`it took ${used} MB of memory; its limit is ${limitMb} MB`);
    cancel = after(isWorking ? WORKING_MS : IDLE_MS, look);
  }

  return {
    working(next) {
      if (next && !isWorking) {
        cancel();
        cancel = after(WORKING_MS, look);
      }
      isWorking = next;
    },
    seen,
    stop: () => cancel(),
  };
}

const MOST_SEEN = 256;
/** Of all processes together: each is looked at. */
const MOST_DESCRIPTORS = 16_384;
