import { useMemo, useRef } from 'preact/hooks';
import { ApiError, readTagged, type Tagged } from './api.ts';
import type { ServerEvent } from './events.ts';
import { useLoaded } from './loaded.ts';

/** A list as far as somebody has looked. */
export interface List<T> {
  readonly rows: readonly T[];
  readonly hasMore: boolean;
  readonly error: ApiError | null;
  /** Loads the next page. */
  more(): void;
}

type ListState<T> = Pick<List<T>, 'rows' | 'hasMore'>;
type Page<T> = Readonly<Record<string, readonly T[]>> & { readonly cursor: string | null };

const PAGE = 50;
/** The server gives no more at once. */
const MOST = 200;

/** Loads the first page of the list `name` at `path`, and the next ones when asked; all of them again when an event says that they have changed. */
export function useList<T>(path: string, name: string, changes: (event: ServerEvent) => boolean): List<T> {
  const known = useMemo(() => ({ rows: [] as readonly T[], cursor: null as string | null, wanted: PAGE, isMore: false }), [path]);
  const readRows = async (from: string, signal: AbortSignal): Promise<Tagged<ListState<T>>> => {
    let { rows, cursor } = known.isMore ? known : { rows: [], cursor: null };
    do {
      const address = new URL(from, location.origin);
      address.searchParams.set('limit', String(Math.min(MOST, known.wanted - rows.length)));
      if (cursor !== null) address.searchParams.set('cursor', cursor);
      const { value } = await readTagged<Page<T>>(`${address.pathname}${address.search}`, signal);
      rows = [...rows, ...(value[name] ?? [])];
      cursor = value.cursor;
    } while (cursor !== null && rows.length < known.wanted);
    Object.assign(known, { rows, cursor });
    return { value: { rows, hasMore: cursor !== null }, tag: null };
  };
  const readOn = async (from: string, signal: AbortSignal): Promise<Tagged<ListState<T>>> => {
    try {
      return await readRows(from, signal);
    } catch (error) {
      const isGone = known.isMore && error instanceof ApiError && error.code === 'usage'; // the row at its end
      known.isMore = false;
      if (isGone) return await readRows(from, signal);
      throw error;
    } finally {
      known.isMore = false;
    }
  };
  const [loaded, again] = useLoaded<ListState<T>>(path, changes, readOn);
  const { value, error } = loaded.value;
  // What was there before is shown until the answer comes.
  const shown = useRef(value);
  shown.current = value ?? shown.current;
  const { rows = [], hasMore = false } = shown.current ?? {};
  const more = (): void => {
    if (known.isMore || known.cursor === null) return;
    [known.wanted, known.isMore] = [known.rows.length + PAGE, true];
    void again();
  };
  return { rows, hasMore, error, more };
}
