import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError, readTagged, type Tagged } from './api.ts';
import { onEvent, type ServerEvent } from './events.ts';

/** What a view shows of the server: the last answer to its path, also while a newer one is on its way. */
export interface Loaded<T> {
  readonly value: T | null;
  /** Of the value, for a change that must not undo what somebody else did meanwhile. */
  readonly tag: string | null;
  readonly error: ApiError | null;
}

/** Of several: whether all of them are there, and the first error. */
export function together(all: readonly Pick<Loaded<unknown>, 'value' | 'error'>[]): Pick<Loaded<true>, 'value' | 'error'> {
  return {
    value: all.every(({ value }) => value !== null) ? true : null,
    error: all.find(({ error }) => error !== null)?.error ?? null,
  };
}

/** Events that something of `kind`, or that with `id`, has changed; without an id in the event, any of them may have. */
export const concerns =
  (kind: string, id?: string) =>
  ({ data }: ServerEvent): boolean =>
    data['kind'] === kind && (id === undefined || data['id'] === '' || data['id'] === id);

/** For what no event tells. */
export const never = (): boolean => false;

/** What is loaded, and what loads it again. */
export type Loading<T> = readonly [Signal<Loaded<T>>, () => Promise<void>];

/** Loads `path`, and loads it again when an event says that it has changed, or when asked. null: nothing is loaded. */
export function useLoaded<T>(
  path: string | null,
  changes: (event: ServerEvent) => boolean,
  read: (path: string, signal: AbortSignal) => Promise<Tagged<T>> = readTagged,
): Loading<T> {
  const loaded = useMemo(() => signal<Loaded<T>>({ value: null, tag: null, error: null }), [path]);
  const control = useMemo(() => ({ again: () => Promise.resolve() }), [path]);
  useEffect(() => {
    if (path === null) return undefined;
    const ended = new AbortController();
    let running: Promise<void> | null = null;
    let isStale = false;
    let isMissed = false;
    const loadAll = async (): Promise<void> => {
      while (isStale && !ended.signal.aborted) {
        isStale = false;
        try {
          loaded.value = { ...(await read(path, ended.signal)), error: null };
          isMissed = false;
        } catch (error) {
          if (ended.signal.aborted || !(error instanceof ApiError)) continue;
          isMissed = true;
          // That there is no connection, the page says elsewhere.
          if (!error.isUnreached || loaded.value.value === null) loaded.value = { ...loaded.value, error };
        }
      }
      running = null;
    };
    const load = (): Promise<void> => {
      isStale = true;
      return (running ??= loadAll());
    };
    control.again = load;
    void load();
    const stop = onEvent((event) => {
      if (event.type === 'reset' || (event.type === 'ready' && isMissed) || changes(event)) void load();
    });
    return () => {
      stop();
      ended.abort();
    };
  }, [path]);
  return [loaded, () => control.again()];
}
