import { describe, expect, it } from 'vitest';
import type { ExtensionContext, Job } from 'pith';
import { fakeClock, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { newJob } from '../durable/jobs/new-job.ts';
import { kernelOf } from '../../places.ts';
import { passed, passing, until } from '../../waiting.ts';

/** An extension `id` with this manifest and constructor; `api` has its context for the test. */
function extension(id: string, jobs: string, constructor: string, more = ''): Record<string, string> {
  return {
    [`extensions/${id}/manifest.yaml`]: `id: ${id}\nentrypoint: main.ts\njobs:\n${jobs}\n${more}`,
    [`extensions/${id}/main.ts`]: `export default class {
  constructor(context) {
    const { jobs, database, kv, clock } = context;
    (globalThis.contexts ??= {}).${id} = context;
    ${constructor}
  }
}
`,
  };
}

/** The context that an extension was constructed with last. */
function contextOf(id: string): ExtensionContext {
  return (globalThis as unknown as { contexts: Record<string, ExtensionContext> }).contexts[id]!;
}

async function started(options: TestKernelOptions): Promise<TestKernel> {
  const pith = await kernelOf({ only: [], ...options });
  await pith.kernel.start();
  return pith;
}

async function loaded(options: TestKernelOptions, id = 'worker'): Promise<TestKernel> {
  const pith = await started(options);
  const status = await pith.kernel.host.extensions.activate(id);
  expect(status).toMatchObject({ state: 'active' });
  return pith;
}

/** Whatever is read of it throws. */
function hostile(): object {
  const no = (): never => {
    throw new Error('trap');
  };
  return new Proxy({}, { get: no, getPrototypeOf: no, has: no });
}

const WORK = `jobs.define('work', async ({ payload }) => payload);`;

describe('jobs in the commits of an extension', () => {
  it('J2: a row and its job are one commit, and of a second open one nothing is added', async () => {
    await loaded({ files: extension('worker', '  - name: work', WORK) });
    const { database, jobs } = contextOf('worker');
    await database.write([{ sql: 'CREATE TABLE worker__rows (job TEXT NOT NULL)' }]);
    await jobs.pause({ name: 'work' }, { reason: 'so that they stay' });
    const insert = (job: string | null) => ({ sql: 'INSERT INTO worker__rows VALUES (?)', values: [job] });

    const failing = jobs.statement('work', 1, { unique: 'a' });
    await expect(database.write([failing, insert(null)])).rejects.toThrow(/NOT NULL/);
    expect(await jobs.get(failing.job)).toBeNull();

    const made = jobs.statement('work', 2, { unique: 'a' });
    expect(await database.write([insert(made.job), made])).toEqual([1, 1]);
    expect(await jobs.get(made.job)).toMatchObject({ state: 'waiting', payload: 2 });
    expect(await database.write([jobs.statement('work', 3, { unique: 'a' }), made])).toEqual([0, 0]);
    expect(await jobs.list()).toMatchObject([{ id: made.job }]);
    expect(await database.all('SELECT * FROM worker__rows')).toEqual([{ job: made.job }]);

    await jobs.pause({ name: 'work' }, null);
    expect(await jobs.finished(made.job)).toMatchObject({ state: 'done', result: 2 });
    await expect(database.write([{ ...made }])).rejects.toMatchObject({ code: 'parameter_invalid' }); // only the kernel makes one
  });

  it('J7: a job that was added in a commit begins at once', async () => {
    await loaded({ files: extension('worker', '  - name: work', WORK), clock: fakeClock() }); // which stands still: nothing looks by itself
    const { database, jobs } = contextOf('worker');
    const { id } = await jobs.add('work', 1);
    await until(async () => expect(await jobs.get(id)).toMatchObject({ state: 'done' }));
    const made = jobs.statement('work', 2);
    await database.write([made]);
    await until(async () => expect(await jobs.get(made.job)).toMatchObject({ state: 'done' }));
  });

  it('J2, J6: a guard and a note of an attempt that was taken over change nothing', async () => {
    const pith = await loaded({
      files: extension(
        'worker',
        '  - name: work',
        `jobs.define('work', async (job, signal) => {
        context.attempts = [...(context.attempts ?? []), job];
        if (context.attempts.length > 1) return job.fence;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      });`,
      ),
    });
    const context = contextOf('worker') as ReturnType<typeof contextOf> & { attempts?: Job[] };
    const { database, jobs } = context;
    await database.write([{ sql: 'CREATE TABLE worker__rows (text TEXT)' }]);
    const { id } = await jobs.add('work', null);
    await until(() => expect(context.attempts).toHaveLength(1));
    const [first] = context.attempts!;
    const insert = (text: string) => ({ sql: 'INSERT INTO worker__rows VALUES (?)', values: [text] });
    expect(await database.write([insert('held'), jobs.guard(first!)])).toEqual([1, 0]);

    // As another process, to which the lease of this one is over.
    const { store } = pith.kernel.jobs;
    expect(await store.settle(first!, { kind: 'returned', at: null }, true)).toBe(true);
    pith.kernel.jobs.wake();
    expect(await jobs.finished(id)).toMatchObject({ state: 'done', result: 2, attempts: 0 });
    await expect(database.write([insert('late'), jobs.guard(first!)])).rejects.toMatchObject({ code: 'lease_lost' });
    await expect(first!.note('late')).rejects.toMatchObject({ code: 'lease_lost' });
    expect(await database.all('SELECT * FROM worker__rows')).toEqual([{ text: 'held' }]);
  });

  it.each(['in_process', 'process'] as const)(
    'J7 J17: a job whose handler waits for its own end fails at once, and says why (%s)',
    async (isolation) => {
      const code = `jobs.define('work', async ({ id }) => (await jobs.finished(id)).id);`;
      const pith = await loaded({ files: extension('worker', '  - { name: work, attempts: 1 }', code), isolation });
      const { store } = pith.kernel.jobs;
      const { id } = await store.insert(newJob('worker.work', { mostAttempts: 1 }), null);
      pith.kernel.jobs.wake();
      const message = `job ${id}: its handler would wait for its own end`;
      await until(async () => expect(await store.get(id)).toMatchObject({ state: 'dead', error: { code: 'not_allowed', message } }));
    },
  );

  it('J16: an extension finds what an earlier version has left under another name, and takes it over', async () => {
    const pith = await loaded({ files: extension('worker', '  - name: work', WORK) });
    const { jobs } = contextOf('worker');
    const { id } = await pith.kernel.jobs.store.insert(newJob('worker.former', { payload: '7', tells: true }), null);
    const [left] = await jobs.list({ state: 'waiting' });
    expect(left).toMatchObject({ id, name: 'worker.former', payload: 7 });
    expect((await jobs.get(id))?.whyWaiting).toBe(`no extension that is on has jobs 'worker.former'`);
    expect(await jobs.cancel(id)).toBe(true);
    expect(await jobs.finished((await jobs.add('work', left!.payload)).id)).toMatchObject({ result: 7 });
    expect((await jobs.list()).map(({ name }) => name)).toEqual(['worker.work', 'worker.former']); // not what tells of its end
  });

  it('J7: who waits is told that crashes have stopped the extension, here and in another process, with the cure', async () => {
    const clock = fakeClock();
    const broken = extension(
      'worker',
      '  - name: work',
      `${WORK} this.runBackground = async () => { throw new Error('astray'); };`,
      'provides: [service]\n',
    );
    const serving = await kernelOf({ clock, only: [], files: broken });
    const other = await kernelOf({ clock, only: [], sandbox: serving.sandbox });
    await serving.kernel.start();
    for (let round = 0; round < 6 && serving.kernel.host.extensions.state('worker') !== 'failed'; round += 1) await clock.advance(5000);
    const { id } = await serving.kernel.jobs.store.insert(newJob('worker.work'), null);
    const why = async ({ kernel: { jobs } }: TestKernel) => (await jobs.info((await jobs.store.get(id))!)).whyWaiting;
    const stopped =
      /^the extension 'worker' failed: stopped after 3 crashes in five minutes, the last: .*astray.*; .*pith extensions reload worker$/u;
    expect(await why(serving)).toMatch(stopped);
    await expect.poll(() => why(other)).toMatch(stopped);
  });

  it('J1: an extension sees and changes no jobs of another', async () => {
    const files = { ...extension('worker', '  - name: work', WORK), ...extension('other', '  - name: work', WORK) };
    const pith = await loaded({ files });
    await pith.kernel.host.extensions.activate('other');
    const [mine, other] = [contextOf('worker').jobs, contextOf('other').jobs];
    await mine.pause({ name: 'work' }, { reason: 'so that it stays' });
    await other.pause({ lane: 'night' }, { reason: 'its own lane' });
    const { id } = await mine.add('work', 1, { unique: 'a' });
    const { id: theirs, added } = await other.add('work', 2, { unique: 'a' });
    expect(added).toBe(true);
    expect(await other.finished(theirs)).toMatchObject({ state: 'done' });
    expect(await other.get(id)).toBeNull();
    expect(await other.cancel(id)).toBe(false);
    expect(await other.resume(id)).toBe(false);
    expect(await other.list()).toMatchObject([{ id: theirs }]);
    await expect(other.finished(id)).rejects.toMatchObject({ code: 'job_unknown' });
    await expect(other.add('work', 3, { inside: id })).rejects.toMatchObject({ code: 'job_unknown' });
    await mine.pause({ name: 'work' }, null);
    expect(await mine.finished((await mine.add('work', 4, { lane: 'night' })).id)).toMatchObject({ result: 4 });
    const held = await other.add('work', 5, { lane: 'night' });
    expect(await other.finished((await other.add('work', 6)).id)).toMatchObject({ result: 6 });
    expect(await other.get(held.id)).toMatchObject({ state: 'waiting' });
  });
});

describe('jobs through the life of an extension', () => {
  it.each([
    ['goes on with the new code, and no failure is counted', 8, { state: 'done', attempts: 0, result: ['new', 1, 2] }],
    ['is not repeated where it may run only once', 1, { state: 'dead', error: { code: 'lost' } }],
  ])('J1, J9: a job that runs while its extension is replaced %s', async (_, attempts, end) => {
    const waits = extension(
      'worker',
      '  - name: work',
      `jobs.define('work', async (job, signal) => {
      await job.note('old');
      await new Promise(() => undefined); // hears no signal
    });`,
    );
    const clock = fakeClock();
    const pith = await loaded({ files: waits, clock });
    const { id } = await contextOf('worker').jobs.add('work', null, { attempts });
    await until(async () => expect((await contextOf('worker').jobs.get(id))?.notes).toMatchObject([{ data: 'old' }]));
    const next = extension('worker', '  - name: work', `jobs.define('work', async ({ attempt, fence }) => ['new', attempt, fence]);`);
    await pith.write('extensions/worker/main.ts', next['extensions/worker/main.ts']!);
    await passed(clock, pith.kernel.host.extensions.refresh());
    expect(await passed(clock, contextOf('worker').jobs.finished(id))).toMatchObject(end);
  });

  it('J9: a payload of an older version is migrated, or its job is dead and never given to code that cannot read it', async () => {
    const files = extension('worker', '  - name: work\n  - name: other', `${WORK} jobs.define('other', async () => 1);`);
    const pith = await loaded({ files });
    const { jobs } = contextOf('worker');
    for (const name of ['work', 'other']) await jobs.pause({ name }, { reason: 'until the update' });
    const { id } = await jobs.add('work', 'Ada');
    const { id: unread } = await jobs.add('other', 'Ada');
    const next = extension(
      'worker',
      '  - { name: work, version: 3 }\n  - { name: other, version: 2 }',
      `
      jobs.define('work', async ({ payload }) => payload, { migrate: (payload, version) => ({ name: payload, version }) });
      jobs.define('other', async () => { throw new Error('called'); }, { ended: async ({ state }) => kv.set('ended', state) });`,
    );
    for (const [file, text] of Object.entries(next)) await pith.write(file, text);
    await pith.kernel.host.extensions.refresh();
    await pith.kernel.host.extensions.activate('worker');
    const now = contextOf('worker').jobs;
    for (const name of ['work', 'other']) await now.pause({ name }, null);
    expect(await now.finished(id)).toMatchObject({ state: 'done', result: { name: 'Ada', version: 1 } });
    expect(await now.finished(unread)).toMatchObject({ state: 'dead', attempts: 1, error: { code: 'job_outdated' } });
    await until(async () => expect(await contextOf('worker').kv.get('ended')).toBe('dead'));
  });

  it('J4: jobs of an extension that is switched off, or gone, wait for it', async () => {
    const pith = await loaded({ files: { ...extension('worker', '  - name: work', WORK), ...extension('other', '  - name: work', WORK) } });
    await contextOf('worker').jobs.pause({ name: 'work' }, { reason: 'so that it stays' });
    const { id } = await contextOf('worker').jobs.add('work', 'late');
    await pith.write('pith.yaml', 'extensions: { worker: { enabled: false } }\n');
    await pith.restart();
    await pith.kernel.jobs.store.release('name', 'worker.work');
    await pith.kernel.start();
    await pith.kernel.host.extensions.activate('other');
    const { jobs } = contextOf('other');
    expect(await jobs.finished((await jobs.add('work', 1)).id)).toMatchObject({ state: 'done' });
    expect(await pith.kernel.jobs.store.get(id)).toMatchObject({ state: 'waiting' });
    await pith.write('pith.yaml', '{}\n');
    await pith.restart();
    await pith.kernel.start();
    await until(async () => expect(await pith.kernel.jobs.store.get(id)).toMatchObject({ state: 'done', result: '"late"' }));
  });

  it('J5: lanes are given out by the policy of their extension, which can be wrong without harm to others', async () => {
    const lanes = `jobs.define('work', async ({ payload }) => void (context.order = [...(context.order ?? []), payload]), { lanes: {
      rules: (lane) => ({ slots: lane === 'one' ? 1 : 2 }),
      pick: ({ heads, running, rules, arrived }) => {
        if (context.broken === 'throws') throw new Error('no policy today');
        if (context.broken === 'throws it') throw context.answer;
        if (context.broken === 'answers') return context.answer;
        if (context.broken) return {};
        const free = rules.slots - running.length;
        return { start: arrived ? [] : [...heads].sort((a, b) => b.priority - a.priority).slice(0, free).map(({ id }) => id), preempt: [], promised: new Map() };
      },
    } });`;
    const files = { ...extension('worker', '  - { name: work, lanes: true }', lanes), ...extension('other', '  - name: work', WORK) };
    const pith = await loaded({ files });
    await pith.kernel.host.extensions.activate('other');
    const context = contextOf('worker') as ReturnType<typeof contextOf> & { order?: unknown[]; broken?: string; answer?: unknown };
    context.broken = 'throws';
    const ids = [];
    for (const priority of [1, 3, 2]) ids.push((await context.jobs.add('work', priority, { lane: 'one', priority })).id);
    const { jobs: others } = contextOf('other');
    expect(await others.finished((await others.add('work', 1)).id)).toMatchObject({ state: 'done' });
    expect(context.order).toBeUndefined();
    expect(pith.kernel.host.extensions.show('worker')).toMatchObject({ message: expect.stringContaining('no policy today') });
    context.broken = 'answers something else';
    expect(await others.finished((await others.add('work', 2)).id)).toMatchObject({ state: 'done' });
    expect(context.order).toBeUndefined();
    const refused = 'did not answer { start, preempt, promised } with ids of jobs';
    expect(pith.kernel.host.extensions.show('worker')).toMatchObject({ message: expect.stringContaining(refused) });
    for (const wrong of [undefined, 5, { start: ['nope', null, 5, {}], preempt: [], promised: new Map([[null, 5]]) }, hostile()]) {
      context.broken = 'answers';
      context.answer = wrong;
      ids.push((await context.jobs.add('work', 0, { lane: 'one' })).id);
      context.broken = 'throws it';
      ids.push((await context.jobs.add('work', 0, { lane: 'one' })).id);
      expect(await others.finished((await others.add('work', 2)).id)).toMatchObject({ state: 'done' });
    }
    delete context.broken;
    pith.kernel.jobs.wake();
    for (const id of ids) await context.jobs.finished(id);
    expect(context.order).toEqual([3, 2, 1, ...Array.from({ length: 8 }, () => 0)]);
  });

  it('nothing is opened by an extension whose jobs nobody uses, in a process that serves nothing', async () => {
    const pith = await kernelOf({ only: [], files: extension('worker', '  - name: work', WORK) });
    await pith.kernel.start('used');
    await pith.kernel.host.extensions.activate('worker');
    const { existsSync } = await import('node:fs');
    expect(existsSync(`${pith.sandbox}/data/pith.db`)).toBe(false);
    const { id } = await contextOf('worker').jobs.add('work', 1);
    expect(await contextOf('worker').jobs.get(id)).toMatchObject({ state: 'waiting' }); // nothing serves it
    expect(await contextOf('worker').jobs.finished(id)).toMatchObject({ state: 'done', result: 1 }); // but who waits for it
  });
});

describe.each(['in_process', 'process'] as const)('what a handler throws (%s)', (isolation) => {
  it.each([
    [
      'an object whose traps throw',
      `new Proxy({}, { get() { throw new Error('trap'); }, getPrototypeOf() { throw 2; }, has() { throw 3; } })`,
    ],
    ['an error that cannot be read', `Object.defineProperty(new Error(), 'message', { get() { throw new Error('trap'); } })`],
    [
      'an error whose message is no text',
      `Object.assign(new Error(), { message: { a: 1 }, code: 5, cause: { get message() { throw 1; } } })`,
    ],
    ['nothing', 'undefined'],
  ])('J9: is a failure, also %s', async (_, thrown) => {
    const files = extension(
      'worker',
      '  - { name: work, attempts: 2, backoff: { first_ms: 1 } }',
      `jobs.define('work', async () => { throw ${thrown}; });`,
    );
    const pith = await loaded({ files, isolation });
    const { store } = pith.kernel.jobs;
    const { id } = await store.insert(newJob('worker.work', { mostAttempts: 2 }), null);
    pith.kernel.jobs.wake();
    const dead = { state: 'dead', attempts: 2, error: { message: expect.any(String) } };
    await until(async () => expect(await store.get(id)).toMatchObject(dead));
  });
});

describe('timetables', () => {
  it.each([
    ['the manifest', 'schedules: [{ name: hourly, cron: "30 * * * *", job: work }]', ''],
    ['code', '', `void jobs.schedule('hourly', { cron: '30 * * * *', zone: 'UTC', name: 'work', payload: {} });`],
  ])('J10: each tick of one from %s is a job, and those that were missed are one', async (_, more, code) => {
    const clock = fakeClock(Date.UTC(2026, 0, 1, 8));
    const pith = await loaded({ files: extension('worker', '  - name: work', WORK + code, more), clock });
    const store = () => pith.kernel.jobs.store; // of the kernel that runs then
    await until(async () => expect(await store().schedules()).toHaveLength(1));
    const ticks = async () => (await store().list({ limit: 9 })).map(({ payload, state }) => [JSON.parse(payload).at, state]);
    await passing(clock, async () => expect(await ticks()).toEqual([[Date.UTC(2026, 0, 1, 8, 30), 'done']]), 600_000);
    await pith.kernel.stop();
    await clock.advance(Date.UTC(2026, 0, 1, 12) - clock.now());
    await pith.restart();
    await pith.kernel.start();
    await passing(clock, async () => expect((await ticks())[0]).toEqual([Date.UTC(2026, 0, 1, 11, 30), 'done']));
    expect(await ticks()).toHaveLength(2);
    await pith.write('extensions/worker/manifest.yaml', 'id: worker\nentrypoint: main.ts\njobs: [{ name: work }]\n');
    await passed(clock, pith.kernel.host.extensions.refresh());
    await until(async () => expect(await store().schedules()).toHaveLength(more === '' ? 1 : 0));
  });
});

it.each([
  ['cannot be read', 'id: worker\nentrypoint: [main.ts\n'],
  [
    'has a wrong job',
    'id: worker\nentrypoint: main.ts\njobs: [{ name: Not a Name }]\nschedules: [{ name: hourly, cron: "30 * * * *", job: work }]\n',
  ],
])('J10: a timetable of a manifest that %s at a start stays, and what it misses is one job', async (_, broken) => {
  const clock = fakeClock(Date.UTC(2026, 0, 1, 8));
  const files = extension('worker', '  - name: work', WORK, 'schedules: [{ name: hourly, cron: "30 * * * *", job: work }]');
  const pith = await loaded({ files, clock });
  const store = () => pith.kernel.jobs.store; // of the kernel that runs then
  await until(async () => expect(await store().schedules()).toHaveLength(1));
  await pith.kernel.stop();
  await pith.write('extensions/worker/manifest.yaml', broken);
  await pith.restart();
  await pith.kernel.start();
  await clock.advance(3_600_000);
  expect(await store().schedules()).toMatchObject([{ id: 'worker/hourly', next: Date.UTC(2026, 0, 1, 8, 30) }]);
  await pith.write('extensions/worker/manifest.yaml', files['extensions/worker/manifest.yaml']!);
  await passed(clock, pith.kernel.host.extensions.refresh());
  await passing(clock, async () => expect(await store().list({ limit: 9 })).toMatchObject([{ state: 'done' }]));
});

describe('what a manifest and a constructor say of jobs', () => {
  it.each([
    [
      'defined and not declared',
      '  - name: work',
      `${WORK} jobs.define('wrok', async () => 1);`,
      /defines the job 'wrok', which its manifest does not declare \(did you mean 'work'\?\)/,
    ],
    [
      'declared beside what is wrong',
      '  - name: work\n  - name: Not a Name\nprovides: [service]',
      WORK,
      /defines the job 'work', and its manifest has no jobs that could be read/,
    ],
    [
      'declared and not defined',
      '  - name: work\n  - name: rest',
      WORK,
      /declares the job 'rest', which the constructor of the class does not define/,
    ],
    ['defined twice', '  - name: work', WORK + WORK, /defines the job 'work', which it has defined already/],
    ['no function', '  - name: work', `jobs.define('work');`, /defines the job 'work', with no function/],
    [
      'lanes without a policy',
      '  - { name: work, lanes: true }',
      WORK,
      /the job 'work', with lanes, for which the constructor of the class gives no policy/,
    ],
    [
      'a policy without lanes',
      '  - name: work',
      `jobs.define('work', async () => 1, { lanes: {} });`,
      /'work', with lanes, which its manifest does not say/,
    ],
    [
      'a schedule of nothing',
      '  - name: work\nschedules: [{ name: a, cron: "* * * * *" }]',
      WORK,
      /the schedule 'a' must have either a handler or a job/,
    ],
    [
      'a schedule of no job',
      '  - name: work\nschedules: [{ name: a, cron: "* * * * *", job: wrok }]',
      WORK,
      /there is no job 'wrok' \(did you mean 'work'\?\)/,
    ],
    ['two of one name', '  - name: work\n  - name: work', WORK, /there are two jobs 'work'/],
    ['a name of other letters', '  - name: Work', WORK, /must be snake_case/],
    ['an unknown key', '  - { name: work, atempts: 3 }', WORK, /atempts/],
    ['a wait of more than a day', '  - { name: work, backoff: { most_ms: 9007199254740991 } }', WORK, /most_ms/],
    ['a first wait beyond the longest', '  - { name: work, backoff: { first_ms: 300001 } }', WORK, /must not be less than first_ms/],
    ['too many attempts', '  - { name: work, attempts: 1001 }', WORK, /attempts/],
    ['an attempt of more than a week', '  - { name: work, timeout_ms: 604800001 }', WORK, /timeout_ms/],
    ['no object beside the handler', '  - name: work', WORK.replace(/\);\s*$/, ', null);'), /'work', with something that is not an object/],
    [
      'an `ended` that is no function',
      '  - name: work',
      WORK.replace(/\);\s*$/, ', { ended: 5 });'),
      /with an 'ended' that is not a function/,
    ],
    [
      'a `migrate` that is no function',
      '  - name: work',
      WORK.replace(/\);\s*$/, ", { migrate: 'x' });"),
      /with a 'migrate' that is not a function/,
    ],
  ])('J1: refuses %s', async (_, declared, constructor, message) => {
    const pith = await kernelOf({ only: [], files: extension('worker', declared, constructor) });
    const status = await pith.kernel.host.extensions.activate('worker');
    expect([status.state, status.message]).toEqual(['failed', expect.stringMatching(message)]);
  });

  it('J1: refuses one without an entrypoint, and one that is defined after the constructor', async () => {
    const late = extension(
      'worker',
      '  - name: work',
      `${WORK} setTimeout(() => { try { ${WORK} } catch (error) { context.refused = error; } });`,
    );
    const pith = await loaded({ files: { ...late, 'extensions/bare/manifest.yaml': 'id: bare\njobs: [{ name: work }]\n' } });
    await until(() =>
      expect(contextOf('worker')).toMatchObject({
        refused: { code: 'not_allowed', message: expect.stringContaining('only its constructor may') },
      }),
    );
    expect(pith.kernel.host.extensions.show('bare')).toMatchObject({
      state: 'failed',
      message: expect.stringContaining("'jobs' needs an entrypoint"),
    });
  });
});
