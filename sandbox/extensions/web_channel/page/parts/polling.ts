import { useEffect, useRef } from 'preact/hooks';

/** Calls `again` every second while `isWanted` and somebody looks: for what no event tells. */
export function usePolling(again: () => void, isWanted: boolean): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (!isWanted) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') latest.current();
    }, 1000);
    return () => clearInterval(timer);
  }, [isWanted]);
}
