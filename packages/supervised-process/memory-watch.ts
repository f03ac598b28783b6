import { systemClock } from '@pith/promises';
import { heldMemory } from './held-memory.ts';
import { familyOf, processEntry } from './process-table.ts';

const WORKING_MS = 100;
/** A fork bomb has a thousand processes after a tenth of a second, and the system enforces no limit on one that root started. */
const COUNTING_MS = 10;
const IDLE_MS = 2000;

export interface MemoryWatch {
  /** Whether calls are open, which makes the checks more frequent. */
  working(isWorking: boolean): void;
  /** The processes that were seen below the host, by pid, with their start times. */
  readonly seen: ReadonlyMap<number, string>;
  stop(): void;
}

/** Watches the memory and number of a process and its descendants, and reports once when a limit is exceeded. */
export function watchMemory(pid: number, limitMb: number, exceeded: (message: string) => void, mostProcesses = Infinity): MemoryWatch {
  const seen = new Map<number, string>();
  let isWorking = true;
  let cancel = systemClock.after(WORKING_MS, look);
  let cancelCount = mostProcesses === Infinity ? null : systemClock.after(COUNTING_MS, count);

  function count(): void {
    if (familyOf(pid, mostProcesses).length > mostProcesses) return tooMany();
    cancelCount = systemClock.after(COUNTING_MS, count);
  }

  function tooMany(): void {
    stop();
    exceeded(`it started more than ${mostProcesses} processes`);
  }

  function stop(): void {
    cancel();
    cancelCount?.();
  }

  function look(): void {
    const family = familyOf(pid, mostProcesses);
    if (family.length > mostProcesses) return tooMany();
    for (const each of family.slice(1)) {
      const entry = processEntry(each);
      if (entry) seen.set(each, entry.startTime);
    }
    for (const each of seen.keys()) if (seen.size > MOST_SEEN) seen.delete(each);
    const { bytes, descriptors } = heldMemory(family);
    if (descriptors > MOST_DESCRIPTORS) return exceeded(`it opened more than ${MOST_DESCRIPTORS} files`);
    const used = Math.round(bytes / 1024 / 1024);
    if (used > limitMb) return exceeded(`it took ${used} MB of memory; its limit is ${limitMb} MB`);
    cancel = systemClock.after(isWorking ? WORKING_MS : IDLE_MS, look);
  }

  return {
    working(next) {
      if (next && !isWorking) {
        cancel();
        cancel = systemClock.after(WORKING_MS, look);
      }
      isWorking = next;
    },
    seen,
    stop,
  };
}

const MOST_SEEN = 256;
/** For all processes together, since each descriptor is examined. */
const MOST_DESCRIPTORS = 16_384;
