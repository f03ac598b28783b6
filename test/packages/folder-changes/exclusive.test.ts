import { existsSync, mkdirSync, readdirSync, renameSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ChangeRefused, exclusively, exclusivelyNow, OneAtATime } from '@pith/folder-changes';
import { systemClock } from '@pith/promises';
import { stateFolder } from '@pith/safe-files';
import { folderWith } from '../../places.ts';
import { until } from '../../waiting.ts';

it('S83 B9: what a living process holds is left alone, what a dead one held is taken over by one', async () => {
  const folder = folderWith();
  const lock = path.join(folder, '.busy');
  mkdirSync(lock);
  utimesSync(lock, 1, 1); // nobody has said for long that he lives
  let inside = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await new Promise(setImmediate);
    inside -= 1;
  };
  const words = { code: 'busy', message: 'another process is at work', cure: 'try again when it has ended' };
  const exclusion = { folder: stateFolder(folder), name: '.busy', busy: (where: string) => new ChangeRefused(words, { where }) };
  const held = { ...systemClock, now: hurried() };
  await Promise.all(Array.from({ length: 12 }, () => exclusively(exclusion, systemClock, work)));
  expect([most, existsSync(lock)]).toEqual([1, false]);
  let [at, beats] = [Date.now(), 0];
  const clock = {
    now: () => at,
    after: (_: number, run: () => void) => (beats++, setImmediate(run), () => undefined),
    sleep: async () => void ((at += 1000), await new Promise(setImmediate)),
  };
  await exclusively(exclusion, clock, async () => {
    await until(() => beats > 3);
    await expect(exclusively(exclusion, held, work)).rejects.toMatchObject({ ...words, where: lock });
    expect(() => exclusivelyNow(exclusion, held, () => expect.unreachable())).toThrow(words.message);
    expect(existsSync(lock)).toBe(true);
  });
  mkdirSync(lock);
  utimesSync(lock, 1, 1);
  exclusivelyNow(exclusion, systemClock, () => expect(existsSync(lock)).toBe(true));
  expect(existsSync(lock)).toBe(false);
});

it('S83 B9: who was thought dead and comes back leaves the lock of the next alone', async () => {
  const folder = folderWith();
  const lock = path.join(folder, '.busy');
  const exclusion = { folder: stateFolder(folder), name: '.busy', busy: () => new Error('busy') };
  const silent = { ...systemClock, after: () => () => undefined };
  let comeBack = (): void => undefined;
  const first = exclusively(exclusion, silent, () => new Promise<void>((resolve) => (comeBack = resolve)));
  await until(() => existsSync(lock));
  const [token = ''] = readdirSync(lock);
  renameSync(path.join(lock, token), path.join(lock, 'of-the-next')); // the same folder with another owner, as file systems give numbers again
  comeBack();
  await first;
  expect(existsSync(lock)).toBe(true);
});

it('E1 what changes one place waits for its turn, also behind another process; other places do not', async () => {
  const folder = stateFolder(folderWith());
  const { signal } = new AbortController();
  const [own, others] = [0, 1].map(() => new OneAtATime({ folder, busy: () => new Error('busy') })) as [OneAtATime, OneAtATime];
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} begins`);
    await new Promise(setImmediate);
    order.push(`${name} ends`);
  };
  let free = (): void => undefined;
  const first = own.run('a', () => new Promise<void>((resolve) => (free = resolve)), signal);
  await until(() => readdirSync(folder.path).length === 1);
  const later = [own.run('a', work('own'), signal), others.run('a', work('other'), signal)];
  await others.run('b', work('elsewhere'), signal);
  expect(order).toEqual(['elsewhere begins', 'elsewhere ends']);
  free();
  await Promise.all([first, ...later]);
  expect(order.slice(2).map((each) => each.split(' ')[1])).toEqual(['begins', 'ends', 'begins', 'ends']);
  expect(readdirSync(folder.path)).toEqual([]);
  await expect(own.run('a', () => Promise.reject(new Error('fails')), signal)).rejects.toThrow('fails');
  await own.run('a', work('after'), signal);
});

/** Half a minute passes between two looks, and nobody seems old. */
function hurried(): () => number {
  let at = -100_000;
  return () => (at += 31_000);
}
