import { type Clock, PithError } from '../contract/index.ts';
import { isThenable } from '@pith/promises';

/** The last moment that ids have room for. */
const LAST = 2 ** 48 - 1;

/** The clock of a program. Throws `settings_invalid` here, and rejects with it later, where it answers what a clock must not. */
export function checkedClock(clock: Clock): Clock {
  const checked: Clock = {
    now: () =>
      right(clock.now(), (now) => Number.isInteger(now) && now >= 0 && now <= LAST, 'now must return whole milliseconds since 1970'),
    sleep: async (ms, signal) => right(clock.sleep(ms, signal), isThenable, 'sleep must return a promise'),
    after: (ms, run) => right(clock.after(ms, run), (cancel) => typeof cancel === 'function', 'after must return a function that cancels'),
  };
  checked.now();
  checked.after(1, () => undefined)();
  return checked;
}

function right<T>(given: T, isRight: (given: T) => boolean, must: string): T {
  if (isRight(given)) return given;
  throw new PithError('settings_invalid', `clock: ${must}`, {
    cure: 'leave `clock` out, or give one as `fakeClock` of pith/testing makes it',
  });
}
