import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fakeClock } from 'pith/testing';
import { SourceWatch, type FolderHint, type WatchOptions } from '../../../sandbox/extensions/skill_registry/scan/watch.ts';
import { systemClock } from '@pith/promises';
import { logTo, skillSandbox, skillText } from './skill-sandbox.ts';
import { until } from '../../waiting.ts';

/** A watch under a clock that stands still, with hints that the test gives. */
function watching(options: Partial<WatchOptions> = {}) {
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
  const watch = new SourceWatch({
    folders: () => new Set(),
    look: async () => void counted.looks++,
    pollSeconds: 5,
    clock,
    logger: logTo(log),
    startHint: (tell, full) => {
      Object.assign(hint, { tell, full });
      return { cover, close: () => void hint.closed++ };
    },
    ...options,
  });
  const done = watch.run(stop.signal);
  return {
    clock,
    log,
    watch,
    hint,
    looks: () => counted.looks,
    stop: async () => {
      stop.abort(new Error('stopped'));
      await done;
    },
  };
}

describe('the watch', () => {
  it('S22 looks every poll_seconds and ends with the signal', async () => {
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

  it('S22 poll_seconds 0 switches polling off', async () => {
    const { clock, looks, stop } = watching({ pollSeconds: 0 });
    await clock.advance(3_600_000);
    expect(looks()).toBe(1);
    await stop();
  });

  it('S22 a hint brings a look forward, and many hints bring one', async () => {
    const { clock, looks, hint, stop } = watching();
    await clock.advance(0);
    for (let index = 0; index < 100; index += 1) hint.tell();
    await clock.advance(10);
    expect(looks()).toBe(2);
    hint.tell();
    await clock.advance(15);
    expect(looks(), 'looks that hints bring forward take a share of the time').toBe(2);
    await clock.advance(20);
    expect(looks()).toBe(3);
    await stop();
  });

  it('S22 what changed before the watch of a folder began is seen soon after', async () => {
    const { clock, looks, hint, stop } = watching({ folders: () => new Set(['/a', '/a/b']) });
    await clock.advance(10);
    expect([looks(), hint.covered]).toEqual([2, ['/a', '/a/b']]);
    await stop();
  });

  it('S22 a watcher that fails is said once, and polling goes on', async () => {
    const { clock, log, looks, hint, stop } = watching();
    await clock.advance(0);
    hint.full(new Error('ENOSPC'));
    hint.full(new Error('ENOSPC'));
    await clock.advance(10_000);
    expect(looks()).toBe(3);
    expect(log).toEqual(['warn not every folder of skills can be watched (Error: ENOSPC); changes are seen every 5 s']);
    await stop();
  });

  it('S22 a look that fails is said, and the next poll looks again', async () => {
    let asked = 0;
    const look = async () => {
      if (++asked === 2) throw new Error('EIO');
    };
    const { clock, log, hint, stop } = watching({ look });
    await clock.advance(0);
    hint.tell();
    await clock.advance(5100);
    expect([asked, log]).toEqual([3, ['warn skills could not be rescanned: Error: EIO']]);
    await stop();
  });

  it('S22 a turn that follows a hint looks instead of the watch', async () => {
    const { clock, watch, looks, hint, stop } = watching();
    expect(await watch.takeHint()).toBe(false);
    await clock.advance(0);
    hint.tell();
    expect([await watch.takeHint(), await watch.takeHint()]).toEqual([true, false]);
    await clock.advance(4000);
    expect(looks()).toBe(1);
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
      const seen = async () => {
        if (registry.current().skills.get(id)?.description === description) return true;
        await box.write(`sandbox/skills/${id}/SKILL.md`, skillText({ name: id, description }));
        return false;
      };
      await until(seen, 15_000, 100);
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

  it('S22 with the real watcher the next turn sees each change at once', async () => {
    const files = Object.fromEntries(['a', 'b', 'c', 'd'].map((id) => [`sandbox/skills/${id}/SKILL.md`, skillText({ name: id })]));
    const box = await skillSandbox({ ...files, 'elsewhere/SKILL.md': skillText({ name: 'c', description: 'Elsewhere.' }) });
    const registry = box.registry({ config: { poll_seconds: 0, trusted_links: [`${box.project}/elsewhere`] }, clock: systemClock });
    const stop = new AbortController();
    const done = registry.watch(stop.signal);
    const of = async (id: string) => (await registry.refreshIfOlderThan(250)).skills.get(id)?.description;
    await until(() => registry.current().generation > 0);
    const file = (id: string) => `${box.sandbox}/skills/${id}/SKILL.md`;
    const begun = () => {
      writeFileSync(file('a'), skillText({ name: 'a', description: 'The watcher has begun.' }));
      return registry.current().skills.get('a')?.description === 'The watcher has begun.';
    };
    await until(begun, 15_000, 100);
    for (let round = 0; round < 20; round++) {
      writeFileSync(file('a'), skillText({ name: 'a', description: `Round ${round % 10}.` }));
      expect(await of('a')).toBe(`Round ${round % 10}.`);
    }
    const { mtime, atime } = statSync(file('a'));
    writeFileSync(file('a'), skillText({ name: 'a', description: 'Same s.z' }));
    utimesSync(file('a'), atime, mtime);
    expect(await of('a')).toBe('Same s.z');
    writeFileSync(`${file('b')}.new`, skillText({ name: 'b', description: 'Renamed over it.' }));
    renameSync(`${file('b')}.new`, file('b'));
    expect(await of('b')).toBe('Renamed over it.');
    rmSync(path.dirname(file('d')), { recursive: true });
    expect(await of('d')).toBeUndefined();
    mkdirSync(path.dirname(file('d')));
    writeFileSync(file('d'), skillText({ name: 'd', description: 'Made again.' }));
    expect(await of('d')).toBe('Made again.');
    writeFileSync(file('d'), skillText({ name: 'd', description: 'And edited.' }));
    // Where the watch of a new folder has not begun, a turn looks when the last look is a quarter of a second old.
    await until(async () => (await of('d')) === 'And edited.');
    rmSync(file('c'));
    symlinkSync(`${box.project}/elsewhere/SKILL.md`, file('c'));
    expect(await of('c')).toBe('Elsewhere.');
    writeFileSync(`${box.project}/elsewhere/SKILL.md`, skillText({ name: 'c', description: 'Edited elsewhere.' }));
    await until(async () => (await of('c')) === 'Edited elsewhere.'); // nobody tells what happens elsewhere
    stop.abort();
    await done;
    expect(box.log.filter((line) => line.startsWith('warn'))).toEqual([]);
  });
});
