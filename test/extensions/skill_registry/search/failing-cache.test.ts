import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Cache, CommandContext } from 'pith';
import { expect, it } from 'vitest';
import { openIndex } from '../../../../sandbox/extensions/skill_registry/search/open-index.ts';
import { commandContext, skillSandbox, skillText, systemClock } from '../skill-sandbox.ts';

const clock = { ...systemClock, now: () => 0 };

/** An index over one skill, whose cache is what `change` makes of it, and timers that go off when the test says. */
async function opened(change: (cache: Cache) => Partial<Cache>) {
  const box = await skillSandbox({ 'sandbox/skills/alpha/SKILL.md': skillText({ name: 'alpha', body: 'Grows porcupines.\n' }) });
  const timers: (() => void)[] = [];
  const plain = commandContext(box);
  const openCache: CommandContext['openCache'] = async (name, layout) => {
    const cache = await plain.openCache(name, layout);
    const members = Object.fromEntries((['all', 'get', 'write', 'spoil', 'close'] as const).map((name) => [name, cache[name].bind(cache)]));
    return { file: cache.file, ...members, ...change(cache) } as Cache;
  };
  const after = (_ms: number, run: () => void) => {
    timers.push(run);
    return () => void timers.splice(timers.indexOf(run), 1);
  };
  const registry = box.registry({ clock, keepsBodies: false });
  const index = openIndex({ ...plain, openCache, clock: { ...plain.clock, after } }, registry);
  const snapshot = await registry.refresh();
  await index.sync(snapshot);
  await index.settled();
  const found = async () => (await index.rank(snapshot, 'porcupines', { k: 3, patienceMs: 0 })).ranked.map(({ id }) => id);
  const close = async () => {
    await index.close();
    await registry.close();
  };
  return { box, timers, found, close, file: path.join(plain.dataDirectory, 'catalog.db') };
}

it('R3 a disk that fails while search writes costs a line: search goes on from memory', async () => {
  const eio = () => Promise.reject(new Error('EIO: i/o error, fsync'));
  const { box, found, close } = await opened((cache) => ({ write: eio, close: () => cache.close().then(eio) }));
  expect(await found()).toEqual(['alpha']);
  await close();
  const lines = box.log.filter((line) => line.startsWith('warn'));
  expect(lines).toEqual([expect.stringMatching(/^warn what search learns is not kept: EIO: i\/o error, fsync; a start without it/)]);
});

it('R3 who is closed while the cache is opened again leaves none open', async () => {
  let open = 0;
  let fails = true;
  const { timers, close, file } = await opened((cache) => {
    open++;
    return {
      write: (run) => (fails ? Promise.reject(new Error('EIO')) : cache.write(run)),
      close: () => cache.close().finally(() => open--),
    };
  });
  expect([open, timers.length]).toEqual([0, 1]);
  fails = false;
  await rm(file, { force: true });
  timers[0]!();
  await close();
  expect(open).toBe(0);
});

it('R3 what cannot be compared when the cache is there again costs a line and no more', async () => {
  let fails = true;
  const { box, timers, found, close } = await opened((cache) => ({
    write: (run) => (fails ? Promise.reject(new Error('EIO')) : cache.write(run)),
    all: (sql, ...parameters) => {
      if (!fails && sql.includes('version')) throw new Error('EIO again');
      return cache.all(sql, ...parameters);
    },
  }));
  fails = false;
  timers[0]!();
  await expect.poll(() => box.log.filter((line) => line.includes('EIO again')).length).toBe(1);
  expect(await found()).toEqual(['alpha']);
  await close();
});
