import { describe, expect, it } from 'vitest';
import { PithError } from '../../../core/contract/index.ts';
import { Calls } from '../../../core/kernel/index.ts';
import { fakeClock } from 'pith/testing';

const limit = (signal?: AbortSignal) => ({ timeoutMs: 1000, timedOut: () => new PithError('tool_timeout', 'late'), signal });

describe('calls of a generation', () => {
  it('cuts a call whose caller gave up while its code ran, and tells the code', async () => {
    const calls = new Calls(fakeClock());
    const caller = new AbortController();
    let signal: AbortSignal | undefined;
    const call = calls.run(limit(caller.signal), (given) => {
      signal = given;
      caller.abort();
      return new Promise<void>(() => undefined);
    });
    await expect(call).rejects.toMatchObject({ code: 'aborted' });
    expect(signal?.aborted).toBe(true);
    expect(calls.size).toBe(0);
    const gone = new AbortController();
    const ask = () =>
      calls.run(limit(gone.signal), async () => {
        gone.abort();
        return 'too late';
      });
    await expect(ask()).rejects.toThrow('aborted');
    await expect(ask()).rejects.toThrow('aborted');
  });

  it('ends a call that waits at its time', async () => {
    const clock = fakeClock();
    const calls = new Calls(clock);
    const signals: AbortSignal[] = [];
    const wait = () =>
      calls.run(limit(), (given) => {
        signals.push(given);
        return new Promise<void>(() => undefined);
      });
    const ended = [wait(), wait()].map((call) => expect(call).rejects.toMatchObject({ code: 'tool_timeout' }));
    expect(calls.size).toBe(2);
    await clock.advance(1000);
    await Promise.all(ended);
    expect([...signals.map(({ aborted }) => aborted), calls.size]).toEqual([true, true, 0]);
  });
});
