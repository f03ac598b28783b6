import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError, read } from './api.ts';
import { onEvent, type ServerEvent } from './events.ts';

/** What a view shows of the server: the last answer to its path, also while a newer one is on its way. */
export interface Loaded<T> {
  readonly value: T | null;
  readonly error: ApiError | null;
}

/** Events that something of `kind`, or that with `id`, has changed; without an id in the event, any of them may have. */
export const concerns =
  (kind: string, id?: string) =>
  ({ data }: ServerEvent): boolean =>
    data['kind'] === kind && (id === undefined || data['id'] === '' || data['id'] === id);

/** For what no event tells. */
export const never = (): boolean => false;

/** Loads `path`, and loads it again when an event says that it has changed. null: nothing is loaded. */
export function useLoaded<T>(path: string | null, changes: (event: ServerEvent) => boolean): readonly [Signal<Loaded<T>>, () => void] {
  const loaded = useMemo(() => signal<Loaded<T>>({ value: null, error: null }), [path]);
  const control = useMemo(() => ({ again: () => undefined as void }), [path]);
  useEffect(() => {
    if (path === null) return undefined;
    const ended = new AbortController();
    let isRunning = false;
    let isStale = false;
    const load = async (): Promise<void> => {
      isStale = true;
      if (isRunning) return;
      isRunning = true;
      while (isStale && !ended.signal.aborted) {
        isStale = false;
        try {
          loaded.value = { value: await read<T>(path, ended.signal), error: null };
        } catch (error) {
          if (!ended.signal.aborted && error instanceof ApiError) loaded.value = { ...loaded.value, error };
        }
      }
      isRunning = false;
    };
    control.again = () => void load();
    void load();
    const stop = onEvent((event) => {
      if (event.type === 'reset' || (event.type === 'ready' && loaded.value.error !== null) || changes(event)) void load();
    });
    return () => {
      stop();
      ended.abort();
    };
  }, [path]);
  return [loaded, () => control.again()];
}
