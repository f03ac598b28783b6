import type { Clock } from './extension.ts';

/** Makes a value when it is first asked for; a failure is tried again. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** As `once`, for a promise; one that rejects is made again when it is next asked for. */
export function oncePromised<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}

/** True for promises, whoever made them. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** What `work` comes to, or after `ms` what `late` says or throws; the work is left to itself then. */
export function within<T, L>(clock: Pick<Clock, 'after'>, ms: number, work: PromiseLike<T>, late: () => L): Promise<T | L> {
  let cancel: (() => void) | undefined;
  const over = new Promise<void>((resolve) => (cancel = clock.after(ms, resolve))).then(late);
  return Promise.race([work, over]).finally(() => cancel?.());
}
