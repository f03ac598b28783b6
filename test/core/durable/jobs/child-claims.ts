// Run in a separate process: works on all jobs of a store, and leaves a file for each.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { createJobStore } from '../../../../core/durable/index.ts';
import { openStore } from '../../../../core/store/index.ts';
import { declared } from './new-job.ts';

const [file = '', folder = ''] = process.argv.slice(2);
const database = openStore(file, systemClock);
const store = createJobStore(database, systemClock);
const claim = {
  holder: `${process.pid}`,
  jobs: new Map([['x.a', declared('x.a', { concurrency: 4 })]]),
  policies: new Map(),
  only: null,
  most: 2,
};
let worked = 0;
while ((await store.count({ states: ['waiting', 'running'] })) > 0) {
  const { taken } = await store.claim(claim);
  for (const { id } of taken) writeFileSync(path.join(folder, id), claim.holder, { flag: 'wx' }); // fails where another had it
  await Promise.all(taken.map((row) => store.settle(row, { kind: 'done', result: 'null' }, true)));
  worked += taken.length;
  if (taken.length === 0) await new Promise(setImmediate);
}
await database.close();
process.stdout.write(`${worked}`);
