import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@pith/promises';
import { fakeClock } from 'pith/testing';
import { expect, it, onTestFinished } from 'vitest';
import type { NewJob } from '../../../core/durable/index.ts';
import { openStore } from '../../../core/store/index.ts';
import { extensionFiles } from '../../journeys/sandbox-files.ts';
import { newJob, takenFrom } from '../durable/jobs/new-job.ts';
import { kernelOf } from '../../places.ts';

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const MAIN = "export default class { constructor({ jobs }) { jobs.define('send', async () => null); } }\n";
const BROKEN = 'export default class { constructor() { throw new Error("no"); } }\n';

const extension = (id: string, main: string, manifest: object = {}) =>
  extensionFiles(id, { provides: [], main, manifest: { jobs: [{ name: 'send' }], ...manifest } });

async function world() {
  const clock = fakeClock();
  const files = { ...extension('post', MAIN), ...extension('broken', BROKEN), ...extension('quiet', MAIN, { enabled: false }) };
  const { kernel } = await kernelOf({ clock, only: [], files });
  const { store } = kernel.jobs;
  const add = (id: string, more: Partial<NewJob> = {}) => store.insert(newJob('post.send', { id, mostAttempts: 1, ...more }), null);
  const claim = () => takenFrom(store, 'post.send');
  const found = async () =>
    (await kernel.doctor()).notes
      .filter(({ message }) => /jobs?\b/u.test(message))
      .map(({ severity, message, cure }) => `${severity}: ${message}; ${cure}`);
  return { clock, store, add, claim, found };
}

it('J4 J14 doctor says which extension is missing, off or broken of jobs that nobody begins, and where no process works', async () => {
  const { clock, add, found } = await world();
  for (const [id, name] of ['post', 'broken', 'quiet', 'gone'].entries()) await add(`J${id}`, { name: `${name}.send` });
  await add('old', { name: 'post.sent' });
  await add('later', { at: clock.now() + 10 * MINUTE });
  expect(await found()).toEqual([]);
  await clock.advance(2 * MINUTE);
  const due = 'due since 2026-01-01 00:00 and not begun: ';
  const cancel = (name: string) => `or cancel them: pith jobs cancel --name ${name}`;
  expect((await found()).map((line) => line.replace(/since \S+( \S+)? and/u, 'since 2026-01-01 00:00 and'))).toEqual([
    `warning: a job 'post.sent' is ${due}'post' has no such job any more; bring it back, ${cancel('post.sent')}`,
    `warning: a job 'gone.send' is ${due}there is no extension 'gone'; bring it back, ${cancel('gone.send')}`,
    `warning: a job 'quiet.send' is ${due}the extension 'quiet' is off; switch it on, ${cancel('quiet.send')}`,
    `warning: a job 'broken.send' is ${due}the extension 'broken' does not run; fix the problems that are listed above`,
    `warning: a job 'post.send' is ${due}no process works on them; run: pith serve`,
  ]);
});

it('J4 J14 doctor says nothing of jobs that wait behind others of a process that works', async () => {
  const { clock, store, add, claim, found } = await world();
  await add('first', { sequence: 's' });
  await add('second', { sequence: 's' });
  const [{ fence } = { fence: 0 }] = await claim();
  await add('third');
  for (let n = 0; n < 120; n += 1) {
    await clock.advance(1000);
    await store.renew([{ id: 'first', fence }]);
  }
  expect(await found()).toEqual([]);
  await clock.advance(2 * MINUTE); // its process is gone
  expect(await found()).toEqual([
    expect.stringMatching(/^warning: 2 jobs 'post.send' are due .* no process works on them; run: pith serve$/u),
  ]);
});

it('J4 doctor says that a newer extension made a job', async () => {
  const { clock, add, found } = await world();
  await add('A', { version: 2 });
  await clock.advance(2 * MINUTE);
  expect(await found()).toEqual([expect.stringContaining("and not begun: a newer 'post' made them; bring that back, or cancel them: ")]);
});

it('J11 doctor shows what is paused, and does not call what waits for that overdue', async () => {
  const { clock, store, add, found } = await world();
  await add('A', { lane: 'night', owner: 'ada' });
  await store.hold({ kind: 'name', value: 'post.send', until: clock.now() + DAY, reason: 'strike' });
  await clock.advance(2 * MINUTE);
  expect(await found()).toEqual([
    expect.stringMatching(/^info: jobs: 'post.send' is paused until \S+ \S+: strike; start it again with: pith jobs resume post.send$/u),
  ]);
  await store.release('name', 'post.send');
  for (const [kind, value] of [
    ['lane', 'post.night'],
    ['owner', 'ada'],
  ] as const) {
    await store.hold({ kind, value, until: null, reason: 'strike' });
    expect(await found()).toEqual([
      `warning: jobs: ${kind} '${value}' is paused: strike; start it again with: pith jobs resume --${kind} ${value}`,
    ]);
    await store.release(kind, value);
  }
});

it('J3 J14 doctor tells of dead jobs until a person was shown them', async () => {
  const { clock, store, add, claim, found } = await world();
  await add('A');
  await add('B');
  for (const { id, fence } of await claim())
    await store.settle(
      { id, fence },
      { kind: 'failed', error: { code: 'tool_failed', message: `no ${id}\n${'x'.repeat(4_000)}` }, retryAt: clock.now() },
      true,
    );
  const cure = 'see: pith jobs list --name post.send --state dead; try again with: pith jobs retry --name post.send';
  const shown = (message: string): unknown => `${message}\\n`.padEnd(199, 'x') + '…';
  expect(await found()).toEqual([`warning: 2 jobs 'post.send' are dead: ${shown('no B')}; ${cure}`]);
  await store.markSeen(['B']);
  expect(await found()).toEqual([`warning: a job 'post.send' is dead: ${shown('no A')}; ${cure}`]);
  await store.markSeen(['A']);
  expect(await found()).toEqual([]);
});

it('J14 doctor tells of jobs that wait for more than a day', async () => {
  const { clock, store, add, claim, found } = await world();
  await add('A');
  const [{ fence } = { fence: 0 }] = await claim();
  await store.settle({ id: 'A', fence }, { kind: 'wait', wait: { resume: true } }, true);
  await clock.advance(DAY - MINUTE);
  expect(await found()).toEqual([]);
  await clock.advance(2 * MINUTE);
  expect(await found()).toEqual([
    expect.stringMatching(
      /^info: a job 'post.send' is waiting for more than a day, since .*; see: pith jobs show A; end it with: pith jobs cancel A$/u,
    ),
  ]);
});

it('J4 doctor says once that neither jobs nor deliveries can be read, and nothing of it is left unhandled', async () => {
  const unhandled: unknown[] = [];
  const handle = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', handle);
  onTestFinished(() => void process.off('unhandledRejection', handle));
  const { kernel, sandbox } = await kernelOf({ only: [] });
  await kernel.start();
  await kernel.jobs.store.insert(newJob('post.send', { id: 'one' }), null);
  const store = openStore(`${sandbox}/data/pith.db`, systemClock);
  await store.write((statement) => {
    for (const table of ['deliveries', 'job_holds', 'jobs']) statement(`ALTER TABLE ${table} RENAME TO ${table}_gone`);
  });
  const { notes } = await kernel.doctor();
  await nextTurn();
  expect(notes.filter(({ code }) => code === 'database_failed')).toHaveLength(1);
  expect(unhandled).toEqual([]);
  await store.write((statement) => {
    for (const table of ['deliveries', 'job_holds', 'jobs']) statement(`ALTER TABLE ${table}_gone RENAME TO ${table}`);
  });
  await store.close();
});
