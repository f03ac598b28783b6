import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeClock } from 'pith/testing';
import { type FolderHint, FolderWatch, type FolderWatchOptions } from '@pith/folder-watch';

/** A watch under a clock that stands still, with hints that the test gives. */
function watching(options: Partial<FolderWatchOptions> = {}) {
  const clock = fakeClock();
  const log: string[] = [];
  const stop = new AbortController();
  const hint = { tell: () => {}, full: (_error: unknown) => {}, covered: [] as string[], closed: 0 };
  const counted = { looks: 0 };
  const cover: FolderHint['cover'] = async (folders) => {
    const begun = [...folders].filter((folder) => !hint.covered.includes(folder));
    hint.covered = [...folders];
    return begun.length > 0;
  };
  const watch = new FolderWatch({
    folders: () => new Set(),
    look: async () => void counted.looks++,
    pollSeconds: 5,
    clock,
    isRead: () => true,
    onFailed: (error) => void log.push(`failed ${String(error)}`),
    onFull: (error) => void log.push(`full ${String(error)}`),
    startHint: (tell, full) => {
      Object.assign(hint, { tell, full });
      return { cover, close: () => void hint.closed++ };
    },
    ...options,
  });
  const done = watch.run(stop.signal);
  const end = async () => {
    stop.abort(new Error('stopped'));
    await done;
  };
  onTestFinished(end);
  return {
    clock,
    log,
    watch,
    hint,
    looks: () => counted.looks,
    stop: end,
  };
}

describe('the watch', () => {
  it('S22 looks every so many seconds and ends with the signal', async () => {
    const { clock, looks, hint, stop } = watching();
    await clock.advance(0);
    expect(looks()).toBe(1);
    await clock.advance(4999);
    expect(looks()).toBe(1);
    await clock.advance(1);
    expect(looks()).toBe(2);
    await clock.advance(15_000);
    expect(looks()).toBe(5);
    await stop();
    expect([clock.pending(), hint.closed]).toEqual([0, 1]);
  });

  it('S22 no seconds switches polling off', async () => {
    const { clock, looks } = watching({ pollSeconds: 0 });
    await clock.advance(3_600_000);
    expect(looks()).toBe(1);
  });

  it('S22 a hint brings a look forward, and many hints bring one', async () => {
    const { clock, looks, hint } = watching();
    await clock.advance(0);
    for (let index = 0; index < 100; index += 1) hint.tell();
    await clock.advance(10);
    expect(looks()).toBe(2);
    hint.tell();
    await clock.advance(15);
    expect(looks(), 'looks that hints bring forward take a share of the time').toBe(2);
    await clock.advance(20);
    expect(looks()).toBe(3);
  });

  it('S22 what changed before the watch of a folder began is seen soon after', async () => {
    const { clock, looks, hint } = watching({ folders: () => new Set(['/a', '/a/b']) });
    await clock.advance(10);
    expect([looks(), hint.covered]).toEqual([2, ['/a', '/a/b']]);
  });

  it('S22 a watcher that fails is said once, and polling goes on', async () => {
    const { clock, log, looks, hint } = watching();
    await clock.advance(0);
    hint.full(new Error('ENOSPC'));
    hint.full(new Error('ENOSPC'));
    await clock.advance(10_000);
    expect(looks()).toBe(3);
    expect(log).toEqual(['full Error: ENOSPC']);
  });

  it('S22 a look that fails is said, and the next poll looks again', async () => {
    let asked = 0;
    const look = async () => {
      if (++asked === 2) throw new Error('EIO');
    };
    const { clock, log, hint } = watching({ look });
    await clock.advance(0);
    hint.tell();
    await clock.advance(5100);
    expect([asked, log]).toEqual([3, ['failed Error: EIO']]);
  });

  it('S22 who follows a hint looks instead of the watch', async () => {
    const { clock, watch, looks, hint } = watching();
    expect(await watch.takeHint()).toBe(false);
    await clock.advance(0);
    hint.tell();
    expect([await watch.takeHint(), await watch.takeHint()]).toEqual([true, false]);
    await clock.advance(4000);
    expect(looks()).toBe(1);
  });
});
