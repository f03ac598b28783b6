import fs, { mkdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '@pith/promises';
import { ownSkill, skillSandbox, type SkillSandbox, skillsIn, skillText } from './skill-sandbox.ts';
import { until } from '../../waiting.ts';

/** In one step, as editors do: who looks between emptying a file and filling it is right to say that it is empty. */
function save(file: string, text: string): void {
  fs.writeFileSync(`${file}.new`, text);
  fs.renameSync(`${file}.new`, file);
}

/** In place, and in one step too: the text is as long as the one before. */
function overwrite(file: string, text: string): void {
  const opened = fs.openSync(file, 'r+');
  fs.writeSync(opened, text);
  fs.closeSync(opened);
}

/** A registry that the real watcher keeps up to date until the test ends. */
async function watched(box: SkillSandbox, config: object = { poll_seconds: 0 }) {
  const registry = box.registry({ config, clock: systemClock });
  const stop = new AbortController();
  const done = registry.watch(stop.signal);
  await until(() => registry.current().generation > 0);
  return {
    registry,
    file: (id: string) => `${box.sandbox}/skills/${id}/SKILL.md`,
    /** What it has warned of, when it has ended. */
    async ended() {
      stop.abort();
      await done;
      return box.log.filter((line) => line.startsWith('warn'));
    },
  };
}

describe('the watch', () => {
  it('S22 the real watcher sees an edit, a new skill and a removed one without a poll', async () => {
    const box = await skillSandbox(ownSkill('a'));
    const { registry, file, ended } = await watched(box);
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
    expect(await ended()).toEqual([]);
  });

  it('S22 with the real watcher the next turn sees each change at once', async () => {
    const files = skillsIn('sandbox/skills', 'a', 'b', 'c', 'd');
    const box = await skillSandbox({ ...files, 'elsewhere/SKILL.md': skillText({ name: 'c', description: 'Elsewhere.' }) });
    const { registry, file, ended } = await watched(box, { poll_seconds: 0, trusted_links: [`${box.project}/elsewhere`] });
    const of = async (id: string) => (await registry.refreshIfOlderThan(250)).skills.get(id)?.description;
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
    fs.utimesSync(file('a'), atime, mtime);
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
    expect(await ended()).toEqual([]);
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
    const box = await skillSandbox(ownSkill('a'));
    const { ended } = await watched(box, { poll_seconds: 5 });
    await until(() => box.log.some((line) => line.startsWith('warn')));
    expect(await ended()).toEqual(['warn not every folder of skills can be watched (Error: no watch is left); changes are seen every 5 s']);
  });
});
