import type { TurnEvent } from '../../contract/index.ts';

const REMEMBERED_THREADS = 1000;

/** Passes a notice on once per thread. Remembers the last thousand threads of this process. */
export class NoticeSink {
  readonly #seen = new Map<string, Set<string>>();

  /** Those of `notices` that are new in this thread. */
  fresh(threadId: string, notices: readonly { readonly code: string; readonly message: string }[]): readonly TurnEvent[] {
    if (notices.length === 0) return [];
    const seen = this.#seen.get(threadId) ?? new Set();
    const found = notices.filter(({ code, message }) => {
      const key = `${code} ${message}`;
      const isNew = !seen.has(key);
      seen.add(key);
      return isNew;
    });
    this.#seen.delete(threadId);
    this.#seen.set(threadId, seen);
    if (this.#seen.size > REMEMBERED_THREADS) this.#seen.delete(this.#seen.keys().next().value as string);
    return found.map(({ code, message }) => ({ type: 'notice', code, message }));
  }
}
