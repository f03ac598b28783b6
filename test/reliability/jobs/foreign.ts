/** Two extensions that did not come with Pith, which do a thousand things later: inside the kernel with tables, and in a process of their own. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { extensionFiles } from '../../journeys/sandbox-files.ts';
import { callUntil, toldTo } from './careful-model.ts';
import type { User } from './harness.ts';

/** Rows and jobs are one commit; every tenth one tells others by an event, too. */
const COUNTER = `
import { defineTool, toolResult, z, type ExtensionContext } from 'pith';
import { counted } from './contract.ts';
const TABLES = ['items (item INTEGER PRIMARY KEY, done INTEGER NOT NULL)', 'effects (item INTEGER, fence INTEGER)', 'heard (item INTEGER PRIMARY KEY)'];

export default class {
  constructor(private readonly context: ExtensionContext) {
    const { jobs, database, events } = context;
    jobs.define<{ item: number }>('count', async (job) => {
      const { item } = job.payload;
      if ((await database.get('SELECT done FROM counter__items WHERE item = ?', item))?.['done'] !== 0) return;
      await context.clock.sleep(20); // so that a kill may hit it
      if (item % 10 === 0) await events.publish(counted, { v: 1, item }, { key: String(item % 70) });
      await database.write([
        jobs.guard(job),
        { sql: 'UPDATE counter__items SET done = 1 WHERE item = ?', values: [item] },
        { sql: 'INSERT INTO counter__effects VALUES (?, ?)', values: [item, job.fence] },
      ]);
    });
  }
  async heard({ item }: { item: number }) {
    await this.context.database.write([{ sql: 'INSERT OR IGNORE INTO counter__heard VALUES (?)', values: [item] }]);
  }
  getTools() {
    const { database, jobs } = this.context;
    return [defineTool({
      name: 'count_later', description: 'Counts items later.', effect: 'idempotent', needsApproval: false,
      input: z.object({ from: z.coerce.number(), to: z.coerce.number() }),
      execute: async ({ from, to }) => {
        await database.write(TABLES.map((table) => ({ sql: 'CREATE TABLE IF NOT EXISTS counter__' + table })));
        const rows = await database.all('SELECT item FROM counter__items WHERE item >= ?', from);
        const known = new Set(rows.map(({ item }) => item));
        for (let item = from; item < to; item += 1)
          if (!known.has(item)) await database.write([
            { sql: 'INSERT INTO counter__items VALUES (?, 0)', values: [item] },
            jobs.statement('count', { item }),
          ]);
        return toolResult('queued');
      },
    })];
  }
}
`;

const TOPIC =
  "import { defineTopic } from 'pith';\nexport const counted = defineTopic<{ v: 1; item: number }>('counter.counted', { durable: true });\n";

const STAMPER = `
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defineTool, toolResult, z, type ExtensionContext } from 'pith';

export default class {
  constructor(private readonly context: ExtensionContext) {
    context.jobs.define<{ item: number }>('stamp', async ({ payload: { item } }) => {
      const file = path.join(context.dataDirectory, 'item-' + item);
      if (existsSync(file)) return;
      await context.clock.sleep(20);
      writeFileSync(file, '', { flag: 'wx' });
    });
  }
  getTools() {
    const { jobs } = this.context;
    return [defineTool({
      name: 'stamp_later', description: 'Stamps items later.', effect: 'idempotent', needsApproval: false,
      input: z.object({ from: z.coerce.number(), to: z.coerce.number() }),
      execute: async ({ from, to }) => {
        for (let item = from; item < to; item += 1) await jobs.add('stamp', { item }, { unique: String(item) });
        return toolResult('queued');
      },
    })];
  }
}
`;

interface Seen {
  readonly asked: number;
  /** How often each was counted. */
  readonly effects: readonly number[];
  readonly heard: number;
  readonly stamped: number;
}

export function foreign(each: number): User<Seen> {
  let asked = 0;
  return {
    files: {
      ...extensionFiles('counter', {
        provides: ['tool'],
        main: COUNTER,
        manifest: {
          jobs: [{ name: 'count' }],
          defines: { topics: { 'counter.counted': { durable: true } } },
          events: { handles: [{ topic: 'counter.counted', handler: 'heard' }] },
        },
      }),
      'extensions/counter/contract.ts': TOPIC,
      ...extensionFiles('stamper', { provides: ['tool'], main: STAMPER, manifest: { jobs: [{ name: 'stamp' }] } }),
    },
    settings: { counter: { isolation: 'in_process' } },
    allow: ['counter'],
    reply(body) {
      const [, what = '', from = '', to = ''] = /please (count|stamp) (\d+) to (\d+)/.exec(toldTo(body)) ?? [];
      return what === '' ? undefined : callUntil(body, /queued/, { name: `${what}_later`, input: { from, to } });
    },
    async begin(world) {
      const from = asked;
      asked += each;
      await Promise.all(['count', 'stamp'].map((what) => world.say(`please ${what} ${from} to ${from + each}`)));
    },
    async see({ rows, sandbox }) {
      const effects = rows<{ n: number }>(
        'SELECT count(effects.item) AS n FROM counter__items LEFT JOIN counter__effects AS effects USING (item) GROUP BY item',
      );
      const [heard] = rows<{ n: number }>('SELECT count(*) AS n FROM counter__heard');
      const stamped = readdirSync(path.join(sandbox, 'data', 'extensions', 'stamper')).filter((name) => name.startsWith('item-'));
      return { asked, effects: effects.map(({ n }) => n), heard: heard?.n ?? 0, stamped: stamped.length };
    },
    isOver: ({ asked: all, effects, heard, stamped }) =>
      effects.length === all && effects.every((n) => n > 0) && heard === Math.ceil(all / 10) && stamped === all,
    wrong: ({ effects }) => effects.flatMap((n, item) => (n === 1 ? [] : [`item ${item} was counted ${n} times`])),
  };
}
