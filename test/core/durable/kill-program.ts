/** Publishes without end and works on the deliveries, until it is killed. Prints `published <id>` after each commit and `handled <id>` at each delivery. */
import { createDeliveries, createSqliteJournal } from '../../../core/durable/index.ts';
import { systemClock } from '@pith/promises';
import { createLeases, createOwner, openStore, sqliteLeaseRows } from '../../../core/store/index.ts';

const [file = '', name = ''] = process.argv.slice(2);
const clock = systemClock;
const store = openStore(file, clock);
const handlers = new Set(['a/one', 'b/two']);
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const quiet = () => undefined;

const journal = createSqliteJournal({ store, clock, handlers: () => [...handlers], written: ({ handlers }) => deliveries.wake(handlers) });
const deliveries = createDeliveries({
  journal,
  leases: createLeases(sqliteLeaseRows(store, clock), clock, createOwner()),
  clock,
  logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  declared: () => handlers,
  callable: () => handlers,
  sideBySide: undefined,
  call: async (handler, _payload, { id }) => say(`handled ${handler} ${id}`),
});
deliveries.start();

async function write(writer: number): Promise<never> {
  for (let index = 0; ; index++) {
    const taskId = `${name} ${writer} ${index}`;
    say(
      `published ${await journal.publish('task.changed', { v: 1, taskId, state: 'running', goal: '', threadId: null, note: null }, { key: `${writer}` })} ${taskId}`,
    );
  }
}
await Promise.all([0, 1, 2, 3].map(write));
