import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { Outbox } from '../../../sandbox/extensions/rest_api/conversations/outbox.ts';
import { passing } from '../../waiting.ts';
import { apiKernel } from './api-kernel.ts';

const frame = (bytes: number) => ({ bytes: new Uint8Array(bytes) });
const open = new AbortController().signal;

describe('a reader of a stream', () => {
  it('W16 that is too slow costs no more than its bound, and is told to begin again', async () => {
    const clock = fakeClock();
    const outbox = new Outbox(100);
    outbox.add(frame(60));
    outbox.add(frame(40));
    expect(await outbox.next(clock, 1000, open)).toHaveLength(2);
    outbox.add(frame(60));
    outbox.add(frame(41));
    outbox.add(frame(1));
    expect([await outbox.next(clock, 1000, open), await outbox.next(clock, 1000, open)]).toEqual(['over', 'over']);
  });

  it('W16 gets what waits before the end, and nothing once it has left', async () => {
    const clock = fakeClock();
    const outbox = new Outbox(100);
    const left = new AbortController();
    const next = outbox.next(clock, 1000, left.signal);
    left.abort();
    expect([await next, clock.pending()]).toEqual(['ended', 0]);
    outbox.add(frame(1));
    outbox.end();
    expect([await outbox.next(clock, 1000, open), await outbox.next(clock, 1000, open)]).toEqual([[frame(1)], 'ended']);
  });

  it('W16 hears a heartbeat each 15 s while nothing happens', async () => {
    const clock = fakeClock();
    const api = await apiKernel([], { clock });
    const token = await api.token({ userId: 'ann' });
    const stream = await api.events('/api/events', { token });
    expect(await stream.next()).toMatchObject({ event: 'ready' });
    for (const _ of [1, 2]) {
      const from = clock.now();
      let beat: Awaited<ReturnType<typeof stream.next>> = null;
      void stream.next().then((event) => (beat = event));
      await passing(clock, () => beat !== null);
      expect(beat).toEqual({ event: 'heartbeat', id: undefined, data: {} });
      expect(clock.now() - from).toBeLessThanOrEqual(20_000);
    }
  });
});
