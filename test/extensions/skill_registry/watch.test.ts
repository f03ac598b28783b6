import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../core/testing/fake-clock.ts';
import {
  SHARE,
  SourceWatch,
  type FolderGroup,
  type Hint,
  type StartHint,
  type WatchOptions,
} from '../../../sandbox/extensions/skill_registry/scan/watch.ts';
import { logTo, skillSandbox, skillText, systemClock, until } from './skill-sandbox.ts';

const group = (...folders: readonly string[]): FolderGroup => ({ root: folders[0] ?? '/none', folders, isTold: true });

/** A hint that the test gives; it is sure of every folder but `unsure`. */
function hinting(unsure: readonly string[] = []) {
  const lost = new Set(unsure);
  const given = { tell: (_folder: string) => {}, full: (_error: unknown) => {}, covered: [] as string[], closed: 0, fresh: true };
  const hint: Hint = {
    cover: async (groups) => {
      const folders = groups.flatMap((one) => one.folders);
      const added = given.fresh ? folders.filter((folder) => !given.covered.includes(folder)) : [];
      given.covered = [...folders];
      return added;
    },
    get unsure() {
      return [...lost];
    },
    isSure: (folder) => !lost.has(folder),
    distrust: (folder) => void lost.add(folder),
    close: async () => void given.closed++,
  };
  const startHint: StartHint = async (tell, full) => {
    Object.assign(given, { tell, full });
    return hint;
  };
  return { given, startHint, hint };
}

/** A watch under a clock that stands still; `looks` has what each look was asked for, `all` for everything. */
function watching(options: Partial<WatchOptions> = {}) {
  const clock = fakeClock();
  const log: string[] = [];
  const stop = new AbortController();
  const looks: (readonly string[] | 'all')[] = [];
  const watch = new SourceWatch({
    groups: () => [],
    look: async (folders) => {
      looks.push(folders ?? 'all');
      return [];
    },
    pollSeconds: 5,
    clock,
    logger: logTo(log),
    startHint: hinting().startHint,
    ...options,
  });
  const done = watch.run(stop.signal);
  return {
    clock,
    log,
    looks,
    watch,
    stop: async () => {
      stop.abort(new Error('stopped'));
      await done;
    },
  };
}

describe('the watch', () => {
  it('S22 looks every poll_seconds and ends with the signal', async () => {
    const { clock, looks, stop } = watching();
    await clock.advance(0);
    expect(looks).toEqual(['all']);
    await clock.advance(4999);
    expect(looks).toHaveLength(1);
    await clock.advance(1);
    expect(looks).toHaveLength(2);
    await clock.advance(15_000);
    expect(looks).toHaveLength(5);
    await stop();
    expect(clock.pending()).toBe(0);
  });

  it('S22 poll_seconds 0 switches polling off', async () => {
    const { clock, looks, stop } = watching({ pollSeconds: 0 });
    await clock.advance(3_600_000);
    expect(looks).toHaveLength(1);
    await stop();
  });

  it('S22 a hint brings a look at its folder forward, many hints bring one, and what may have been half written is looked at again', async () => {
    const { given, startHint } = hinting();
    const { clock, looks, stop } = watching({ startHint });
    await clock.advance(0);
    for (let index = 0; index < 100; index += 1) given.tell(index % 2 === 0 ? '/a' : '/b');
    await clock.advance(2);
    expect(looks).toEqual(['all', ['/a', '/b']]);
    given.tell('/c');
    await clock.advance(10);
    expect(looks).toHaveLength(2);
    await clock.advance(12);
    expect(looks.slice(2)).toEqual([['/c']]);
    await clock.advance(500);
    expect(looks.slice(3)).toEqual([[]]); // what changed shortly before the last look belongs to every look
    await stop();
  });

  it('S22 more hints than the system can be trusted to keep bring a look at everything', async () => {
    const { given, startHint } = hinting();
    const { clock, looks, stop } = watching({ startHint });
    await clock.advance(0);
    for (let index = 0; index < 1001; index += 1) given.tell(`/skill-${index}`);
    await clock.advance(2);
    expect(looks).toEqual(['all', 'all']);
    await stop();
  });

  it('S22 what changed before the watch of a folder began is seen soon after', async () => {
    const { given, startHint } = hinting();
    const { clock, looks, stop } = watching({ startHint, groups: () => [group('/a', '/a/b')] });
    await clock.advance(2);
    expect([looks, given.covered]).toEqual([
      ['all', ['/a', '/a/b']],
      ['/a', '/a/b'],
    ]);
    await stop();
  });

  it('S22 a poll visits sources, what no hint is sure of, and in turns everything else', async () => {
    const folders = Array.from({ length: SHARE * 2 }, (_, at) => `/a/${at}`);
    const { given, startHint } = hinting(['/a/7', '/a/1111']);
    given.fresh = false;
    const { clock, looks, stop } = watching({ startHint, groups: () => [group('/a', ...folders)] });
    await clock.advance(15_000);
    const polled = looks.slice(1).map((look) => new Set(look));
    expect(polled.map((look) => [look.has('/a'), look.has('/a/7'), look.size <= SHARE + 3])).toEqual(polled.map(() => [true, true, true]));
    expect(new Set(polled.flatMap((look) => [...look]))).toEqual(new Set(['/a', ...folders, '/a/1111']));
    await stop();
  });

  it('S22 with hints that are sure of little a poll visits everything', async () => {
    const { given, startHint } = hinting(['/a', '/a/1']);
    given.fresh = false;
    const { clock, looks, stop } = watching({ startHint, groups: () => [group('/a', '/a/1', '/a/2')] });
    await clock.advance(5000);
    expect(looks).toEqual(['all', 'all']);
    await stop();
  });

  it('S22 a folder whose change a poll found and no hint told is visited by every poll; one that is told late is not', async () => {
    const { given, startHint, hint } = hinting();
    given.fresh = false;
    let changed: readonly string[] = [];
    const { clock, stop } = watching({ startHint, groups: () => [group('/a', '/a/1', '/a/2')], look: async () => changed });
    await clock.advance(0);
    changed = ['/a/1', '/a/2'];
    await clock.advance(5000);
    changed = [];
    given.tell('/a/2');
    await clock.advance(5000);
    expect(hint.unsure).toEqual(['/a/1']);
    await stop();
  });

  it('S22 a watcher that fails at the start or for some folders is said once, and polling goes on', async () => {
    const refused = watching({
      startHint: async () => {
        throw new Error('EMFILE: too many open files');
      },
    });
    await refused.clock.advance(10_000);
    expect(refused.looks).toEqual(['all', 'all', 'all']);
    expect(refused.log).toEqual([
      'warn folders of skills cannot be watched (Error: EMFILE: too many open files); changes are seen every 5 s',
    ]);
    await refused.stop();

    const { given, startHint } = hinting(['/a']);
    given.fresh = false;
    const later = watching({ startHint, groups: () => [group('/a', '/b', '/c')] });
    await later.clock.advance(0);
    given.full(new Error('ENOSPC'));
    given.full(new Error('ENOSPC'));
    await later.clock.advance(5000);
    expect(later.looks).toEqual(['all', ['/a', '/b', '/c']]);
    expect(later.log).toEqual(['warn not every folder of skills can be watched (Error: ENOSPC); changes are seen every 5 s']);
    await later.stop();
    expect(given.closed).toBe(1);
  });

  it('S22 a look that fails is said, and the next one visits its folders too', async () => {
    const { given, startHint } = hinting();
    const asked: unknown[] = [];
    const { clock, log, stop } = watching({
      startHint,
      look: async (folders) => {
        asked.push(folders);
        if (asked.length === 2) throw new Error('EIO');
        return [];
      },
    });
    await clock.advance(0);
    given.tell('/a');
    await clock.advance(5100);
    expect([asked.slice(0, 3), log]).toEqual([[null, ['/a'], ['/a']], ['warn skills could not be rescanned: Error: EIO']]);
    await stop();
  });

  it('S22 what a turn has to look at is what was told and what is never told; everything where nothing is watched', async () => {
    const { given, startHint } = hinting(['/u']);
    const { clock, watch, stop } = watching({ startHint });
    expect(await watch.untold()).toBeNull();
    await clock.advance(0);
    given.tell('/a');
    expect(await watch.untold()).toEqual(['/a', '/u']);
    expect(await watch.untold()).toEqual(['/u']);
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

  it('S22 with the real watcher the next turn sees each change at once, and looks at no other folder', async () => {
    const files = Object.fromEntries(['a', 'b', 'c', 'd'].map((id) => [`sandbox/skills/${id}/SKILL.md`, skillText({ name: id })]));
    const box = await skillSandbox({ ...files, 'elsewhere/SKILL.md': skillText({ name: 'c', description: 'Elsewhere.' }) });
    const registry = box.registry({ config: { poll_seconds: 0, trusted_links: [`${box.project}/elsewhere`] }, clock: systemClock });
    const stop = new AbortController();
    const done = registry.watch(stop.signal);
    const of = async (id: string) => (await registry.refreshIfOlderThan(250)).skills.get(id)?.description;
    await until(() => registry.current().generation > 0);
    await systemClock.sleep(900); // the watcher begins
    const file = (id: string) => `${box.sandbox}/skills/${id}/SKILL.md`;
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
    await systemClock.sleep(100);
    writeFileSync(file('d'), skillText({ name: 'd', description: 'And edited.' }));
    expect(await of('d')).toBe('And edited.');
    rmSync(file('c'));
    symlinkSync(`${box.project}/elsewhere/SKILL.md`, file('c'));
    expect(await of('c')).toBe('Elsewhere.');
    await systemClock.sleep(260); // nobody tells what happens elsewhere: a turn looks when the last look is so old
    writeFileSync(`${box.project}/elsewhere/SKILL.md`, skillText({ name: 'c', description: 'Edited elsewhere.' }));
    expect(await of('c')).toBe('Edited elsewhere.');
    stop.abort();
    await done;
    expect(box.log.filter((line) => line.startsWith('warn'))).toEqual([]);
  });
});
