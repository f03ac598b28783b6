import { sha256 } from '@pith/plain-data';

/** The id by which a program knows a call: of the thread, and of this call in it. `key` is the same for every attempt at it. */
export function programCallId(threadId: string, key: string): string {
  return `call_${threadId}_${sha256(key).slice(0, 8)}`;
}

/** null: no call of a thread here has such an id. */
export function threadOfCall(id: string): string | null {
  return /^call_(.+)_[0-9a-f]{8}$/u.exec(id)?.[1] ?? null;
}
