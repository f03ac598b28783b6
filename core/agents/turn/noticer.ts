import type { TurnEvent } from '../../contract/index.ts';

/** Says a thing once per thread. Remembers the last thousand threads of this process. */
export interface Noticer {
  /** True the first time. */
  first(threadId: string, key: string): boolean;
}

/** Says notices in a turn's thread, each once. */
export function tell(
  { noticer, record, emit }: { readonly noticer: Noticer; readonly record: { readonly threadId: string }; emit(event: TurnEvent): void },
  notices: readonly { readonly code: string; readonly message: string }[],
): void {
  for (const { code, message } of notices) {
    if (noticer.first(record.threadId, `${code} ${message}`)) emit({ type: 'notice', code, message });
  }
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
