import type { TurnEvent } from '../../contract/index.ts';

/** Says a thing once per thread. Remembers the last thousand threads of this process. */
export interface Noticer {
  /** True the first time. */
  first(threadId: string, key: string): boolean;
}

/** Those of `notices` that have not been said in this thread yet. */
export function noticesOf(
  noticer: Noticer,
  threadId: string,
  notices: readonly { readonly code: string; readonly message: string }[],
): readonly TurnEvent[] {
  return notices
    .filter(({ code, message }) => noticer.first(threadId, `${code} ${message}`))
    .map(({ code, message }) => ({ type: 'notice', code, message }));
}

const REMEMBERED_THREADS = 1000;

export function createNoticer(): Noticer {
  const said = new Map<string, Set<string>>();
  return {
    first(threadId, key) {
      const keys = said.get(threadId) ?? new Set();
      if (keys.has(key)) return false;
      keys.add(key);
      said.delete(threadId);
      said.set(threadId, keys);
      if (said.size > REMEMBERED_THREADS) said.delete(said.keys().next().value as string);
      return true;
    },
  };
}
