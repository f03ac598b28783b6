// Run in a separate process: takes one lease again and again, and checks that it never shares it.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { systemClock } from '@pith/promises';
import { createLeases, createOwner, openStore, sqliteLeaseRows } from '../../../core/store/index.ts';

const [file = '', mark = '', rounds = '10'] = process.argv.slice(2);
const clock = systemClock;
const store = openStore(file, clock);
const leases = createLeases(sqliteLeaseRows(store, clock), clock, createOwner());
let taken = 0;
let shared = 0;
while (taken < Number(rounds)) {
  const lease = await leases.acquire('one', 30_000);
  if (lease === null) {
    await new Promise(setImmediate);
    continue;
  }
  taken += 1;
  if (existsSync(mark)) shared += 1;
  writeFileSync(mark, String(process.pid));
  await new Promise(setImmediate);
  rmSync(mark);
  await lease.release();
}
await store.close();
process.stdout.write(JSON.stringify({ taken, shared }));
