import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '@pith/promises';
import { agent, createWorld } from '../agent/world.ts';

const DAY_MS = 86_400_000;

// Node's own timers, but for the passing of time: one that is set for longer than Node takes fires after a millisecond, as there.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

describe("the machine's clock", () => {
  it.each([1, 2 ** 31 - 1, 2 ** 31, 30 * DAY_MS, 100 * DAY_MS])('B3: after and sleep of %d ms last so long', async (ms) => {
    const seen: string[] = [];
    systemClock.after(ms, () => seen.push('after'));
    void systemClock.sleep(ms).then(() => seen.push('sleep'));
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(seen).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen).toEqual(['after', 'sleep']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('B3: a long wait is cancelled and aborted, also in a later piece of it', async () => {
    const seen: string[] = [];
    const stop = new AbortController();
    const cancel = systemClock.after(100 * DAY_MS, () => seen.push('after'));
    const sleeping = systemClock.sleep(100 * DAY_MS, stop.signal);
    sleeping.catch(() => seen.push('aborted'));
    await vi.advanceTimersByTimeAsync(60 * DAY_MS);
    cancel();
    stop.abort(new Error('enough'));
    await expect(sleeping).rejects.toThrow('enough');
    await vi.advanceTimersByTimeAsync(60 * DAY_MS);
    expect(seen).toEqual(['aborted']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('B3: a turn with a time budget of thirty days is not ended at once', async () => {
    const world = await createWorld({
      clock: systemClock,
      agents: [agent('main', { limits: { time_budget_ms: 30 * DAY_MS } as never })],
      script: [
        async () => {
          await vi.advanceTimersByTimeAsync(500);
          return { text: 'still there' };
        },
      ],
    });
    expect((await world.run('go')).end).toMatchObject({ reason: 'done', text: 'still there' });
  });
});
