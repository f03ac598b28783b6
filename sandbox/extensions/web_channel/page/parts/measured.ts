import { useLayoutEffect, useState } from 'preact/hooks';

/** How wide a place is now, in whole pixels; 0: it is not there yet. */
export function useWidth(place: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (place.current === null) return undefined;
    const watched = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    watched.observe(place.current);
    return () => watched.disconnect();
  }, []);
  return width;
}
