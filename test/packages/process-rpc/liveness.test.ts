import { Liveness } from '@pith/process-rpc';
import { fakeClock } from 'pith/testing';
import { expect, it } from 'vitest';

it.each([true, false])(
  'K10 who is asked and does not answer for five seconds is told to be silent, once; who answers is not: %s',
  async (answers) => {
    const clock = fakeClock();
    let silent = 0;
    const liveness = new Liveness({
      after: clock.after,
      ping: () => (answers ? Promise.resolve() : new Promise(() => undefined)),
      busy: () => true,
      working: () => undefined,
      silent: () => void (silent += 1),
    });
    liveness.used();
    await clock.advance(6999);
    expect(silent).toBe(0);
    await clock.advance(20_000);
    expect(silent).toBe(answers ? 0 : 1);
    liveness.close();
  },
);
