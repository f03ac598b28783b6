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
  let leave = (): void => undefined;
  const untilHidden = (): Promise<void> =>
    new Promise((resolve) => (document.visibilityState === 'visible' ? void (leave = resolve) : resolve()));
  const look = (): void => {
    leave();
    if (document.visibilityState === 'visible') void navigator.locks.request(NAME, { mode: 'shared' }, untilHidden);
  };
  document.addEventListener('visibilitychange', look);
  look();
}
