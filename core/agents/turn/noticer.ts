/** Says a thing once per thread. Remembers the last thousand threads of this process. */
export interface Noticer {
  /** True the first time. */
  first(threadId: string, key: string): boolean;
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
