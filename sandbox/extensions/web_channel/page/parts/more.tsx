import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { List } from '../server/list.ts';

/** The end of a list: the next page is loaded when it comes into view, or is pressed. */
export function More({ list: { rows, hasMore, more } }: { readonly list: List<unknown> }): VNode | null {
  const end = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (end.current === null) return undefined;
    const seen = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && more());
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [rows]);
  if (!hasMore) return null;
  return (
    <button ref={end} type="button" class="quiet" onClick={more}>
      More
    </button>
  );
}
