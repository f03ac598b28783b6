import { useEffect, useRef } from 'preact/hooks';

/** Calls `again` every so often while `isWanted` and somebody looks: for what no event tells. */
export function useOften(again: () => void, isWanted: boolean, ms = 2000): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (!isWanted) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') latest.current();
    }, ms);
    return () => clearInterval(timer);
  }, [isWanted, ms]);
}
