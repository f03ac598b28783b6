/** Of the lock that each tab shares while somebody looks at it. */
const NAME = 'pith.seen';

/** Whether somebody looks at this page, in whichever tab; where the browser has no locks, as over plain http: in this one. */
export async function isSeen(): Promise<boolean> {
  if (document.visibilityState === 'visible') return true;
  if (!('locks' in navigator)) return false;
  const { held = [] } = await navigator.locks.query();
  return held.some(({ name }) => name === NAME);
}

/** Reports to the other tabs while somebody looks at this one. */
export function reportSeen(): void {
  if (!('locks' in navigator)) return;
  let looking = new AbortController();
  const look = (): void => {
    looking.abort();
    if (document.visibilityState !== 'visible') return;
    const { signal } = (looking = new AbortController());
    const untilHidden = (): Promise<void> =>
      new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })));
    navigator.locks.request(NAME, { mode: 'shared', signal }, untilHidden).catch(() => undefined); // it was hidden before its turn came
  };
  document.addEventListener('visibilitychange', look);
  look();
}
