import { useMemo, useRef } from 'preact/hooks';
import { ApiError, readTagged, type Tagged } from './api.ts';
import type { ServerEvent } from './events.ts';
import { type Loaded, together, useLoaded } from './loaded.ts';

/** A list as far as somebody has looked. */
export interface List<T> extends Pick<Loaded<unknown>, 'value' | 'error'> {
  readonly rows: readonly T[];
  readonly hasMore: boolean;
  /** Loads the next page. */
  more(): void;
  /** Loads all of it again. */
  again(): void;
}

type ListState<T> = Pick<List<T>, 'rows' | 'hasMore'>;
type Page<T> = Readonly<Record<string, readonly T[]>> & { readonly cursor: string | null };

const NOTHING = { rows: [], hasMore: false };
const PAGE = 50;
/** The server gives no more at once. */
const MOST = 200;

/** Loads the first page of the list `name` at `path`, and the next ones when asked; all of them again when an event says that they have changed. null: the list is empty. */
export function useList<T>(path: string | null, name: string, changes: (event: ServerEvent) => boolean): List<T> {
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
      const isGone = known.isMore && error instanceof ApiError && [400, 404].includes(error.status); // the row at its end
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
  shown.current = path === null ? NOTHING : (value ?? shown.current);
  const { rows = [], hasMore = false } = shown.current ?? {};
  const more = (): void => {
    if (known.isMore || known.cursor === null) return;
    [known.wanted, known.isMore] = [known.rows.length + PAGE, true];
    void again();
  };
  return { value: shown.current, rows, hasMore, error, more, again: () => void again() };
}

/** Several lists as one, whose pages are the next ones of each. */
export function joined<T>(lists: readonly List<T>[]): List<T> {
  const each = (act: (list: List<T>) => void) => (): void => {
    for (const list of lists) act(list);
  };
  return {
    ...together(lists),
    rows: lists.flatMap(({ rows }) => rows),
    hasMore: lists.some(({ hasMore }) => hasMore),
    more: each((list) => list.more()),
    again: each((list) => list.again()),
  };
}
