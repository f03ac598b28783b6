import path from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '@pith/promises';
import { openStore } from '../../core/store/index.ts';
import { openNode } from '../core/durable/world.ts';
import { folderWith } from '../places.ts';
import { until } from '../waiting.ts';
import { bundleProgram, exitOf, startProgram } from '../core/store/child-process.ts';

/** 3, in the long form 200; before a release `PITH_TEST_ROUNDS=2000 npm run test:soak`. */
const ROUNDS = Number(process.env['PITH_TEST_ROUNDS'] ?? (process.env['PITH_TEST_LONG'] === '1' ? 200 : 3));

it(
  'K31 kill -9 at random points: every event that was acknowledged is there and reaches every handler',
  async () => {
    const folder = folderWith();
    const file = path.join(folder, 'pith.db');
    const program = await bundleProgram('../durable/kill-program', folder);
    const acknowledged = new Map<string, string>();
    const handled = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const child = startProgram(program, file, `round${round}`);
      let out = '';
      const wanted = 1 + Math.floor(Math.random() * 60);
      await new Promise<void>((resolve) => {
        child.stdout?.on('data', (data: Buffer) => {
          out += String(data);
          if (out.split('published').length > wanted) resolve();
        });
      });
      child.kill('SIGKILL');
      await exitOf(child);
      for (const [, id = '', task = ''] of out.matchAll(/^published (\d+) (.+)\n/gm)) acknowledged.set(id, task);
      for (const [, delivery = ''] of out.matchAll(/^handled (.+)\n/gm)) handled.add(delivery);
    }
    expect(acknowledged.size).toBeGreaterThan(0);
    const store = openStore(file, systemClock);
    expect(store.get('PRAGMA integrity_check')).toMatchObject({ integrity_check: 'ok' });
    const stored = new Map(
      store.all('SELECT id, payload FROM events').map(({ id, payload }) => [String(id), JSON.parse(String(payload)).taskId]),
    );
    for (const [id, task] of acknowledged) expect(stored.get(id)).toBe(task);
    await store.write((statement) => void statement('DELETE FROM leases')); // as when their time is over

    const heir = openNode(folder, systemClock, {
      'a/one': (_payload, { id }) => void handled.add(`a/one ${id}`),
      'b/two': (_payload, { id }) => void handled.add(`b/two ${id}`),
    });
    heir.start();
    await until(() => expect(heir.store.all('SELECT event FROM deliveries')).toEqual([]));
    const missing = [...acknowledged.keys()].flatMap((id) => [`a/one ${id}`, `b/two ${id}`]).filter((delivery) => !handled.has(delivery));
    expect(missing).toEqual([]);
    await store.close();
  },
  60_000 + ROUNDS * 3000,
);
