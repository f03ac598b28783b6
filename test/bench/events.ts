import { monitorEventLoopDelay } from 'node:perf_hooks';
import path from 'node:path';
import { createJournal, type Journal } from '../../core/durable/index.ts';
import { systemClock } from '@pith/promises';
import { openDatabase, openStore } from '../../core/store/index.ts';
import { interleaved, scaled, timed, type Bench, type Row } from './measure.ts';
import { inFolder } from './places.ts';

const WRITERS = 100;
const PAYLOAD = {
  v: 1,
  taskId: 'task-000012',
  state: 'running',
  goal: 'write the report of the week',
  threadId: null,
  note: null,
} as const;

/** Durable events, each with a delivery for one handler, acknowledged after their commit; beside single inserts of the same row at FULL. */
export const durableEvents: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => {
    const clock = systemClock;
    const store = openStore(path.join(folder, 'pith.db'), clock);
    const journal = createJournal({ store, clock, handlers: () => ['bench/none'], written: () => undefined });
    const plain = openDatabase(path.join(folder, 'plain.db'));
    plain.exec('CREATE TABLE events (id INTEGER PRIMARY KEY, topic TEXT, key TEXT, payload TEXT, correlation TEXT, at INTEGER)');
    const text = JSON.stringify(PAYLOAD);
    const inserts = (count: number): void => {
      for (let index = 0; index < count; index++)
        plain.run('INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?)', 'task.changed', null, text, null, clock.now());
    };
    const alone = quick ? 200 : 1000;
    const each = quick ? 50 : 200;
    await publishAll(journal, WRITERS, each); // warm
    const found = await interleaved(runs, {
      floor: () => timed(() => inserts(alone)),
      one: () => timed(() => publishAll(journal, 1, alone)),
      hundred: () => timed(() => publishAll(journal, WRITERS, each)),
    });
    const floor = scaled(found.floor, 1000 / alone);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const sustained = await timed(() => publishAll(journal, WRITERS, quick ? 400 : 2000));
    delay.disable();
    const perEvent = (sustained * 1000) / (WRITERS * (quick ? 400 : 2000));
    const p99 = delay.percentile(99) / 1e6;
    await store.close();
    plain.close();
    const bounded = { floor, bounds: 'ratio', unit: 'µs' } as const;
    const single = (value: number) => ({ median: value, min: value, max: value });
    const rows: readonly Row[] = [
      { ...bounded, figure: 'durable event acknowledged after commit, 1 writer', measured: scaled(found.one, 1000 / alone), must: 1.5 },
      {
        ...bounded,
        figure: 'durable event acknowledged after commit, 100 writers',
        measured: scaled(found.hundred, 1000 / (WRITERS * each)),
        must: 0.2,
        aim: 0.1,
      },
      {
        figure: 'durable event, sustained by 100 writers',
        note: `${Math.round(1e6 / perEvent).toLocaleString('en')} a second`,
        unit: 'µs',
        measured: single(perEvent),
        floor: null,
        must: 50,
      },
      { figure: 'event loop meanwhile, p99', unit: 'ms', measured: single(p99), floor: null, must: 10 },
    ];
    return rows;
  });

/** Each writer waits for one event before it publishes the next. */
async function publishAll(journal: Journal, writers: number, each: number): Promise<void> {
  const write = async (): Promise<void> => {
    for (let index = 0; index < each; index++) await journal.publish('task.changed', PAYLOAD);
  };
  await Promise.all(Array.from({ length: writers }, write));
}
