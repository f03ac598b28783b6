import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../core/testing/fake-clock.ts';
import { watchSources, type Hint, type StartHint, type WatchOptions } from '../../../sandbox/extensions/skill_registry/scan/watch.ts';
import { logTo, skillSandbox, skillText, systemClock, until } from './skill-sandbox.ts';

const silent: StartHint = async () => ({ cover: () => false, close: async () => undefined });

/** A watch under a clock that stands still; `scans` counts rescans. */
function watching(options: Partial<WatchOptions> = {}) {
  const clock = fakeClock();
  const log: string[] = [];
  const stop = new AbortController();
  const state = { scans: 0 };
  const done = watchSources(
    {
      folders: () => ['/a'],
      refresh: async () => {
        state.scans += 1;
      },
      pollSeconds: 5,
      clock,
      logger: logTo(log),
      startHint: silent,
      ...options,
    },
    stop.signal,
  );
  return {
    clock,
    log,
    state,
    done,
    stop: async () => {
      stop.abort(new Error('stopped'));
      await done;
    },
  };
}

describe('the watch', () => {
  it('S22 rescans every poll_seconds and ends with the signal', async () => {
    const { clock, state, stop } = watching();
    await clock.advance(0);
    expect(state.scans).toBe(1);
    await clock.advance(4999);
    expect(state.scans).toBe(1);
    await clock.advance(1);
    expect(state.scans).toBe(2);
    await clock.advance(15_000);
    expect(state.scans).toBe(5);
    await stop();
    expect(clock.pending()).toBe(0);
  });

  it('S22 poll_seconds 0 switches polling off', async () => {
    const { clock, state, stop } = watching({ pollSeconds: 0 });
    await clock.advance(3_600_000);
    expect(state.scans).toBe(1);
    await stop();
  });

  it('S22 a hint brings the rescan forward, many hints bring one', async () => {
    let hint = () => {};
    const { clock, state, stop } = watching({
      startHint: async (onChange) => {
        hint = onChange;
        return { cover: () => false, close: async () => undefined };
      },
    });
    await clock.advance(0);
    for (let index = 0; index < 100; index += 1) hint();
    await clock.advance(0);
    expect(state.scans).toBe(2);
    hint();
    await clock.advance(49);
    expect(state.scans).toBe(2);
    await clock.advance(1);
    expect(state.scans).toBe(3);
    await stop();
  });

  it('S22 what changed before the watch of a new folder began is seen soon after', async () => {
    let covered: readonly string[] = [];
    const { clock, state, stop } = watching({
      folders: () => ['/a', '/b'],
      startHint: async () => ({
        cover: (folders) => {
          const fresh = folders.length > covered.length;
          covered = folders;
          return fresh;
        },
        close: async () => undefined,
      }),
    });
    await clock.advance(249);
    expect([state.scans, covered]).toEqual([1, ['/a', '/b']]);
    await clock.advance(1);
    expect(state.scans).toBe(2);
    await clock.advance(1000);
    expect(state.scans).toBe(2);
    await stop();
  });

  it('S22 a watcher that fails at the start or later is said once, and polling goes on', async () => {
    const refused = watching({
      startHint: async () => {
        throw new Error('EMFILE: too many open files');
      },
    });
    await refused.clock.advance(10_000);
    expect(refused.state.scans).toBe(3);
    expect(refused.log).toEqual([
      'warn folders of skills cannot be watched (Error: EMFILE: too many open files); changes are seen every 5 s',
    ]);
    await refused.stop();

    let fail: (error: unknown) => void = () => {};
    let closed = 0;
    const hint: Hint = { cover: () => false, close: async () => void (closed += 1) };
    const later = watching({
      startHint: async (_change, onFailure) => {
        fail = onFailure;
        return hint;
      },
    });
    await later.clock.advance(0);
    fail(new Error('ENOSPC'));
    fail(new Error('ENOSPC'));
    await later.clock.advance(5000);
    expect([later.state.scans, closed]).toEqual([2, 1]);
    expect(later.log.filter((line) => line.startsWith('warn'))).toHaveLength(1);
    await later.stop();
  });

  it('S22 a rescan that fails is said and the next one comes', async () => {
    let calls = 0;
    const { clock, log, stop } = watching({
      refresh: async () => {
        calls += 1;
        if (calls === 2) throw new Error('EIO');
      },
    });
    await clock.advance(10_000);
    expect([calls, log]).toEqual([3, ['warn skills could not be rescanned: Error: EIO']]);
    await stop();
  });

  it('S22 the real watcher sees an edit, a new skill and a removed one without a poll', async () => {
    const box = await skillSandbox({ 'sandbox/skills/a/SKILL.md': skillText({ name: 'a' }) });
    const registry = box.registry({ config: { poll_seconds: 0 }, clock: systemClock });
    const stop = new AbortController();
    const done = registry.watch(stop.signal);
    await until(() => registry.current().generation > 0);
    const edit = async (id: string, description: string) => {
      // Again and again: the watcher takes its time to begin with a folder, and only the poll is promised before.
      while (registry.current().skills.get(id)?.description !== description) {
        await box.write(`sandbox/skills/${id}/SKILL.md`, skillText({ name: id, description }));
        await systemClock.sleep(100);
      }
    };
    await edit('a', 'Edited.');
    await edit('b', 'New.');
    await edit('b', 'Edited too.');
    await box.remove('sandbox/skills/a');
    await until(() => !registry.current().skills.has('a'));
    stop.abort();
    await done;
    expect(box.log.filter((line) => line.startsWith('warn'))).toEqual([]);
  });
});
