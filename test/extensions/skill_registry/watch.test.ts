import fs, {
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '@pith/promises';
import { skillSandbox, skillText } from './skill-sandbox.ts';
import { until } from '../../waiting.ts';

/** In one step, as editors do: who looks between emptying a file and filling it is right to say that it is empty. */
function save(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

/** In place, and in one step too: the text is as long as the one before. */
function overwrite(file: string, text: string): void {
  const opened = openSync(file, 'r+');
  writeSync(opened, text);
  closeSync(opened);
}

describe('the watch', () => {
  it('S22 the real watcher sees an edit, a new skill and a removed one without a poll', async () => {
    const box = await skillSandbox({ 'sandbox/skills/a/SKILL.md': skillText({ name: 'a' }) });
    const registry = box.registry({ config: { poll_seconds: 0 }, clock: systemClock });
    const stop = new AbortController();
    const done = registry.watch(stop.signal);
    await until(() => registry.current().generation > 0);
    const file = (id: string) => `${box.sandbox}/skills/${id}/SKILL.md`;
    const edit = async (id: string, description: string) => {
      // Again and again: the watcher takes its time to begin with a folder, and only the poll is promised before.
      const seen = async () => {
        if (registry.current().skills.get(id)?.description === description) return true;
        mkdirSync(path.dirname(file(id)), { recursive: true });
        save(file(id), skillText({ name: id, description }));
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
      save(file('a'), skillText({ name: 'a', description: 'Begun it' }));
      return registry.current().skills.get('a')?.description === 'Begun it';
    };
    await until(begun, 15_000, 100);
    for (let round = 0; round < 20; round++) {
      overwrite(file('a'), skillText({ name: 'a', description: `Round ${round % 10}.` }));
      expect(await of('a')).toBe(`Round ${round % 10}.`);
    }
    const { mtime, atime } = statSync(file('a'));
    overwrite(file('a'), skillText({ name: 'a', description: 'Same s.z' }));
    utimesSync(file('a'), atime, mtime);
    expect(await of('a')).toBe('Same s.z');
    save(file('b'), skillText({ name: 'b', description: 'Renamed over it.' }));
    expect(await of('b')).toBe('Renamed over it.');
    rmSync(path.dirname(file('d')), { recursive: true });
    expect(await of('d')).toBeUndefined();
    mkdirSync(path.dirname(file('d')));
    save(file('d'), skillText({ name: 'd', description: 'Made again.' }));
    expect(await of('d')).toBe('Made again.');
    overwrite(file('d'), skillText({ name: 'd', description: 'And edited.' }));
    // Where the watch of a new folder has not begun, a turn looks when the last look is a quarter of a second old.
    await until(async () => (await of('d')) === 'And edited.');
    rmSync(file('c'));
    symlinkSync(`${box.project}/elsewhere/SKILL.md`, file('c'));
    expect(await of('c')).toBe('Elsewhere.');
    save(`${box.project}/elsewhere/SKILL.md`, skillText({ name: 'c', description: 'Edited elsewhere.' }));
    await until(async () => (await of('c')) === 'Edited elsewhere.'); // nobody tells what happens elsewhere
    stop.abort();
    await done;
    expect(box.log.filter((line) => line.startsWith('warn'))).toEqual([]);
  });

  it('S22 says once that the system watches no further folder', async () => {
    const { watch } = fs;
    onTestFinished(() => {
      fs.watch = watch;
      syncBuiltinESMExports();
    });
    fs.watch = (() => {
      throw Object.assign(new Error('no watch is left'), { code: 'ENOSPC' });
    }) as unknown as typeof watch;
    syncBuiltinESMExports();
    const box = await skillSandbox({ 'sandbox/skills/a/SKILL.md': skillText({ name: 'a' }) });
    const stop = new AbortController();
    const done = box.registry({ config: { poll_seconds: 5 }, clock: systemClock }).watch(stop.signal);
    const warnings = () => box.log.filter((line) => line.startsWith('warn'));
    await until(() => warnings().length > 0);
    stop.abort();
    await done;
    expect(warnings()).toEqual(['warn not every folder of skills can be watched (Error: no watch is left); changes are seen every 5 s']);
  });
});
