import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { createLeases, createOwner, sqliteLeaseRows } from '../../../core/store/index.ts';
import { bundleProgram, exitOf, startProgram } from './child-process.ts';
import { manualClock } from './manual-clock.ts';
import { temporaryStore } from './temporary-store.ts';
import { folderWith } from '../../places.ts';

const DAY_MS = 86_400_000;

describe('leases', () => {
  it('K45 gives a name to one holder at a time', async () => {
    const clock = manualClock();
    const rows = sqliteLeaseRows(temporaryStore(), clock);
    const [mine, other] = [createLeases(rows, clock, 'a'), createLeases(rows, clock, 'b')];
    const results = await Promise.all([
      mine.acquire('x', 1_000),
      other.acquire('x', 1_000),
      mine.acquire('x', 1_000),
      other.acquire('y', 1_000),
    ]);
    expect(results.map((lease) => lease !== null)).toEqual([true, false, false, true]);
    await results[0]?.release();
    const next = await other.acquire('x', 1_000);
    expect(next).not.toBeNull();
    await results[0]?.release(); // a second release must not take it from its new holder
    expect(await mine.acquire('x', 1_000)).toBeNull();
  });

  it('K45 what a dead process held is free soon, also when the clock went back a day meanwhile', async () => {
    let ahead = DAY_MS;
    const time = manualClock();
    const clock = { ...time, now: () => time.now() + ahead };
    const rows = sqliteLeaseRows(temporaryStore(), clock);
    await rows.take({ name: 'x', holder: 'dead' }, 3_000);
    ahead = 0;
    const other = createLeases(rows, clock, 'other');
    expect([await other.acquire('x', 3_000), await other.isHeld('x', 3_000)]).toEqual([null, true]);
    await clock.advance(2_999);
    expect(await other.acquire('x', 3_000)).toBeNull();
    await clock.advance(1);
    expect(await other.isHeld('x', 3_000)).toBe(false);
    expect(await other.acquire('x', 3_000)).not.toBeNull();
  });

  it('W17 asks the holder of now to stop, here at once and elsewhere with its next renewal, and never the one after it', async () => {
    const clock = manualClock();
    const rows = sqliteLeaseRows(temporaryStore(undefined, clock), clock);
    const [mine, other] = [createLeases(rows, clock, 'a'), createLeases(rows, clock, 'b')];
    expect(await mine.askToStop('x', 'ann')).toBeNull();
    const lease = (await mine.acquire('x', 900))!;
    const asked = (await other.askToStop('x', 'ann'))!;
    expect([lease.stopped.aborted, await other.isHolder(asked)]).toEqual([false, true]);
    await clock.advance(300);
    await vi.waitFor(() => expect(lease.stopped.reason).toMatchObject({ code: 'aborted', message: 'stopped by ann' }));
    expect(lease.lost.aborted).toBe(false);
    await lease.release();
    const next = (await mine.acquire('x', 900))!;
    expect(await other.isHolder(asked)).toBe(false);
    await clock.advance(600);
    expect(next.stopped.aborted).toBe(false);
    await mine.askToStop('x', 'bob');
    await vi.waitFor(() => expect(next.stopped.aborted).toBe(true));
    await next.release();
    expect(clock.pending()).toBe(0);
  });

  it('K45 renews itself while held and leaves no timer behind', async () => {
    const clock = manualClock();
    const store = temporaryStore(undefined, clock);
    const lease = await createLeases(sqliteLeaseRows(store, clock), clock, 'a').acquire('x', 900);
    const other = createLeases(sqliteLeaseRows(store, clock), clock, 'b');
    for (let round = 0; round < 10; round += 1) {
      await clock.advance(300);
      await vi.waitFor(() => expect(store.get('SELECT until FROM leases')).toMatchObject({ until: clock.now() + 900 }));
      await vi.waitFor(() => expect(clock.pending()).toBe(1));
    }
    expect(await other.acquire('x', 900)).toBeNull();
    expect(lease?.lost.aborted).toBe(false);
    await lease?.release();
    expect(clock.pending()).toBe(0);
    expect(store.all('SELECT * FROM leases')).toEqual([]);
  });

  it('K45 is taken over only when it has expired, and its holder learns that', async () => {
    const clock = manualClock();
    const store = temporaryStore(undefined, clock);
    await store.write(() => undefined);
    createLeases(sqliteLeaseRows(store, clock), clock, 'a');
    await store.write((statement) => void statement('INSERT INTO leases VALUES (?, ?, ?)', 'x', 'dead', clock.now() + 500));
    const other = createLeases(sqliteLeaseRows(store, clock), clock, 'b');
    await clock.advance(499);
    expect(await other.acquire('x', 1_000)).toBeNull();
    await clock.advance(1);
    const lease = await other.acquire('x', 900);
    expect(lease).not.toBeNull();
    await store.write((statement) => void statement(`UPDATE leases SET owner = 'thief'`));
    await clock.advance(300);
    await vi.waitFor(() => expect(lease?.lost.aborted).toBe(true));
  });

  it('K45 who lives keeps a lease when the clock goes back a day', async () => {
    let back = 0;
    const time = manualClock();
    const clock = { ...time, now: () => time.now() - back };
    const store = temporaryStore(undefined, clock);
    const lease = await createLeases(sqliteLeaseRows(store, clock), clock, 'alive').acquire('x', 3_000);
    const other = createLeases(sqliteLeaseRows(store, clock), clock, 'other');
    back = DAY_MS;
    for (let round = 0; round < 10; round += 1) {
      expect(await other.acquire('x', 3_000)).toBeNull();
      time.advance(1_000);
      await vi.waitFor(() => expect(store.get('SELECT until FROM leases')).toEqual({ until: clock.now() + 3_000 }));
    }
    expect(lease?.lost.aborted).toBe(false);
  });

  it('K45 two processes never hold a lease together', async () => {
    const folder = folderWith();
    const program = await bundleProgram('child-lease', folder);
    const children = [1, 2].map(() => startProgram(program, join(folder, 'pith.db'), join(folder, 'mark'), '40'));
    const outputs = children.map((child) => {
      let text = '';
      child.stdout?.on('data', (data) => (text += String(data)));
      return exitOf(child).then((code) => ({ code, text }));
    });
    for (const { code, text } of await Promise.all(outputs)) {
      expect(code).toBe(0);
      expect(JSON.parse(text)).toEqual({ taken: 40, shared: 0 });
    }
  });

  it('names an owner by its process and by chance', () => {
    expect(createOwner()).toMatch(new RegExp(`^${process.pid}-[0-9a-f]{12}$`));
    expect(createOwner()).not.toBe(createOwner());
  });
});
