export interface Reading {
  readonly threadId: string;
  readonly skillId: string;
  readonly part: number;
  readonly sha256: string;
  /** The thread's number of compactions when it was read. */
  readonly compactions: number;
  /** A repeated attempt at the same call gets the same answer. */
  readonly callKey: string;
}

/** How a body that is about to be returned relates to what the thread holds already. */
export type Familiarity = 'new' | 'same' | 'changed';

const THREADS = 1000;
const READINGS = 200;

/** Which bodies each thread has been given. Bounded: what is forgotten is simply read again. */
export class ThreadMemory {
  readonly #threads = new Map<string, Map<string, Reading>>();

  /** `same`: it stands above unchanged, so that a pointer will do. */
  familiarity(reading: Reading): Familiarity {
    const before = this.#threads.get(reading.threadId)?.get(keyOf(reading));
    if (before === undefined || before.callKey === reading.callKey || before.compactions !== reading.compactions) return 'new';
    return before.sha256 === reading.sha256 ? 'same' : 'changed';
  }

  remember(reading: Reading): void {
    const thread = this.#threads.get(reading.threadId) ?? new Map<string, Reading>();
    this.#threads.delete(reading.threadId);
    this.#threads.set(reading.threadId, thread);
    thread.delete(keyOf(reading));
    thread.set(keyOf(reading), reading);
    dropOldest(thread, READINGS);
    dropOldest(this.#threads, THREADS);
  }

  /** Ids read in a thread, the latest first. */
  recent(threadId: string): readonly string[] {
    const readings = [...(this.#threads.get(threadId)?.values() ?? [])].reverse();
    return [...new Set(readings.map(({ skillId }) => skillId))];
  }
}

function keyOf({ skillId, part }: Reading): string {
  return `${part}/${skillId}`;
}

function dropOldest(map: Map<string, unknown>, limit: number): void {
  for (const key of map.keys()) {
    if (map.size <= limit) return;
    map.delete(key);
  }
}
