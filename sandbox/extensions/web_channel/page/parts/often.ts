import { useEffect } from 'preact/hooks';

/** Calls `again` every so often while `isWanted` and somebody looks: for what no event tells. */
export function useOften(again: () => void, isWanted: boolean, ms = 2000): void {
  useEffect(() => {
    if (!isWanted) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') again();
    }, ms);
    return () => clearInterval(timer);
  });
}
