import { describe, expect, it, vi } from 'vitest';
import { createLeases, type Leases, sqliteLeaseRows } from '../../../../core/store/index.ts';
import { manualClock } from '../../store/manual-clock.ts';
import { temporaryStore } from '../../store/temporary-store.ts';
import { createThreadQueue } from '../../../../core/agent/index.ts';
import { gate } from '../../../waiting.ts';

function setup(jump = false) {
  const clock = manualClock({ jump });
  const store = temporaryStore(undefined, clock);
  const leases = createLeases(sqliteLeaseRows(store, clock), clock, 'mine');
  return { clock, store, leases, queue: createThreadQueue(leases, clock) };
}

describe('thread queue', () => {
  it('K45 runs the tasks of one thread one after another, first come first served', async () => {
    const { queue } = setup();
    const log: string[] = [];
    let running = 0;
    const task = (name: string) => async () => {
      running += 1;
      expect(running).toBe(1);
      log.push(name);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return name;
    };
    expect(await Promise.all(['a', 'b', 'c', 'd'].map((name) => queue.run('t', task(name))))).toEqual(['a', 'b', 'c', 'd']);
    expect(log).toEqual(['a', 'b', 'c', 'd']);
  });

  it('K45 runs threads side by side', async () => {
    const { queue } = setup();
    const first = gate();
    const slow = queue.run('slow', () => first.opened);
    expect(await queue.run('quick', async () => 'done')).toBe('done');
    first.open();
    await slow;
  });

  it('K45 goes on after a task that failed', async () => {
    const { queue, store } = setup();
    const results = await Promise.allSettled([queue.run('t', () => Promise.reject(new Error('mine'))), queue.run('t', async () => 2)]);
    expect(results).toMatchObject([
      { status: 'rejected', reason: { message: 'mine' } },
      { status: 'fulfilled', value: 2 },
    ]);
    expect(store.all('SELECT * FROM leases')).toEqual([]);
  });

  it('K45 an abort leaves the queue, and those behind still run in order', async () => {
    const { queue } = setup();
    const first = gate();
    const log: string[] = [];
    const controller = new AbortController();
    const runs = [
      queue.run('t', () => first.opened.then(() => void log.push('first'))),
      queue.run('t', async () => void log.push('second'), controller.signal),
      queue.run('t', async () => void log.push('third')),
    ];
    controller.abort(new Error('changed my mind'));
    await expect(runs[1]).rejects.toThrow('changed my mind');
    expect(log).toEqual([]);
    first.open();
    await Promise.all([runs[0], runs[2]]);
    expect(log).toEqual(['first', 'third']);
    await expect(queue.run('t', async () => 1, controller.signal)).rejects.toThrow('changed my mind');
  });

  it('K45 says thread_busy when another process keeps the thread', async () => {
    const { queue, store, clock } = setup(true);
    const held = await createLeases(sqliteLeaseRows(store, clock), clock, 'other').acquire('thread:t', 3_000); // and renews it
    const start = clock.now();
    await expect(queue.run('t', async () => 1)).rejects.toMatchObject({
      code: 'thread_busy',
      where: 't',
      cure: expect.stringContaining('another thread'),
    });
    expect(clock.now() - start).toBeGreaterThanOrEqual(3_000); // longer than a lease that a dead process left
    expect(await queue.run('u', async () => 'free')).toBe('free');
    expect(held?.lost.aborted).toBe(false);
    await held?.release();
  });

  it('K45 continues a thread whose process died once its lease has expired', async () => {
    const { queue, store, clock } = setup(true);
    await store.write((statement) => void statement('INSERT INTO leases VALUES (?, ?, ?)', 'thread:t', 'dead', clock.now() + 3_000));
    expect(await queue.run('t', async () => 'mine now')).toBe('mine now');
  });

  it('K45 tells the task when its lease is lost', async () => {
    const { queue, store, clock } = setup();
    const seen = gate();
    const run = queue.run('t', async ({ lost }) => {
      await store.write((statement) => void statement(`UPDATE leases SET owner = 'thief'`));
      lost.addEventListener('abort', seen.open);
      await clock.advance(1_000);
      await seen.opened;
      return lost.aborted;
    });
    expect(await run).toBe(true);
  });

  it('lets the next one in when taking the lease fails, and releases once', async () => {
    const clock = manualClock();
    const release = vi.fn(() => Promise.resolve());
    const acquire = vi
      .fn<Leases['acquire']>()
      .mockRejectedValueOnce(new Error('disk'))
      .mockResolvedValue({
        fence: { name: 'x', holder: 'x' },
        lost: new AbortController().signal,
        stopped: new AbortController().signal,
        inherited: false,
        release,
      });
    const queue = createThreadQueue({ acquire }, clock);
    const [first, second] = await Promise.allSettled([queue.acquire('t'), queue.acquire('t')]);
    expect(first).toMatchObject({ status: 'rejected', reason: { message: 'disk' } });
    expect(second.status).toBe('fulfilled');
    if (second.status === 'fulfilled') await second.value.release();
    expect(release).toHaveBeenCalledTimes(1);
    await (await queue.acquire('t')).release();
  });
});
