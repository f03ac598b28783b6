import type { Clock } from '../../contract/index.ts';

const IDLE_MS = 5 * 60_000;

export interface IdleOptions {
  readonly clock: Clock;
  busy(): boolean;
  /** Told once, when five minutes have gone by without use. */
  ended(): void;
}

/** Watches for five minutes without a call. Being used costs a look at the clock and no timer. */
export function endWhenIdle({ clock, busy, ended }: IdleOptions): { used(): void; close(): void } {
  let last = clock.now();
  let cancel = clock.after(IDLE_MS, check);
  function check(): void {
    const now = clock.now();
    last = Math.min(last, now); // the clock may have been set back
    const rest = last + IDLE_MS - now;
    if (busy()) last = now;
    else if (rest <= 0) return ended();
    cancel = clock.after(rest > 0 ? rest : IDLE_MS, check);
  }
  return {
    used: () => void (last = clock.now()),
    close: () => cancel(),
  };
}
