import path from 'node:path';
import { fakeClock } from 'pith/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openKernel } from '../../../core/cli/index.ts';
import { newJob, takenFrom } from '../durable/jobs/new-job.ts';
import { createJobStore, type JobStore, type NewJob } from '../../../core/durable/index.ts';
import { openStore } from '../../../core/store/index.ts';
import { writeFiles, folderWith } from '../../places.ts';
import { cli } from './fakes.ts';

const NOW = Date.UTC(2026, 0, 1);
const MAIN = `export default class {
  constructor({ jobs }) { for (const name of ['send', 'wipe']) jobs.define(name, async () => null); }
}\n`;
const POST = JSON.stringify({ id: 'post', entrypoint: 'main.js', jobs: [{ name: 'send' }, { name: 'wipe', retry_with: 'post again' }] });

let folder: string;
let store: JobStore;
let made: number;
beforeEach(async () => {
  folder = folderWith();
  await cli(['init'], { cwd: folder });
  writeFiles(path.join(folder, 'sandbox/extensions/post'), { 'manifest.yaml': POST, 'main.js': MAIN });
  await run('jobs', 'list');
  const database = openStore(path.join(folder, 'sandbox/data/pith.db'), fakeClock(NOW));
  onTestFinished(() => database.close());
  made = 0;
  store = createJobStore(database, fakeClock(NOW), () => `E${(made += 1)}`);
});

const run = (...argv: string[]) => cli(argv, { cwd: folder, openKernel });
const json = async (...argv: string[]) => JSON.parse((await run(...argv, '--json')).out);

const add = (id: string, more: Partial<NewJob> = {}) =>
  store.insert(newJob('post.send', { id, payload: '{"to":"ada"}', mostAttempts: 1, ...more }), null);

const claim = () => takenFrom(store, 'post.send', 'post.wipe', 'gone.work');

/** Runs what is due, and lets it fail. */
async function fail(message = 'no such\u001b[31m street'): Promise<void> {
  const failed = { kind: 'failed', error: { code: 'tool_failed', message }, retryAt: NOW } as const;
  for (const { id, fence } of await claim()) await store.settle({ id, fence }, failed, true);
}

const ids = (listed: readonly { readonly id: string }[]) => listed.map(({ id }) => id);

describe('pith jobs', () => {
  it('J14 lists jobs newest first, by name, extension, state, lane and owner', async () => {
    await add('A', { owner: 'ada' });
    await fail();
    await add('B', { name: 'post.wipe', lane: 'night' });
    await add('C', { name: 'gone.work' });
    for (const [options, found] of [
      [[], 'C B A'],
      [['--name', 'post.send'], 'A'],
      [['--name', 'post'], 'B A'],
      [['--name', 'gone'], 'C'],
      [['--without', 'post', '--without', 'nobody'], 'C'],
      [['--state', 'dead'], 'A'],
      [['--state', 'dead', '--state', 'waiting'], 'C B A'],
      [['--open'], 'C B'],
      [['--open', '--state', 'dead', '--state', 'waiting'], 'C B'],
      [['--lane', 'night'], 'B'],
      [['--owner', 'ada'], 'A'],
      [['--limit', '1'], 'C'],
      [['--lane', 'day'], ''],
    ] as const)
      expect([options, ids(await json('jobs', 'list', ...options)).join(' ')]).toEqual([options, found]);
    const { out } = await run('jobs', 'list');
    expect(out).toMatch(/^ID +STATE +JOB +FOR +WHEN +ABOUT\n/u);
    expect(out).toMatch(/^A +dead +post\.send +ada +\S.* no such\\x1b\[31m street$/mu);
    expect((await run('jobs', 'list', '--lane', 'day')).out).toBe('There are no such jobs\n');
  });

  it.each([
    [
      ['list', '--name', 'post.sent'],
      1,
      "no jobs 'post.sent': no extension declares them (did you mean 'post.send' or 'post.wipe'?); use one of ",
    ],
    [['list', '--state', 'deed'], 2, "--state 'deed': there is no such state (did you mean 'dead'?); use one of waiting, "],
    [['list', '--limit', '0'], 2, '--limit must be a whole number from 1, not 0; write: --limit 20'],
    [['show', 'AAAB'], 1, "no job 'AAAB' (did you mean 'AAAA'?); see: pith jobs list"],
    [['cancel'], 2, 'jobs cancel needs either ids or what the jobs have in common; write: pith jobs cancel <id>, or: '],
    [['cancel', 'AAAA', '--lane', 'x'], 2, 'jobs cancel needs either ids or what the jobs have in common'],
    [['cancel', '--name', 'post'], 2, 'Pith cannot ask here, because this is not a terminal; add --yes to cancel 1 job'],
    [['pause', 'post.sent'], 1, "no jobs 'post.sent'"],
    [['pause', 'post.send', '--lane', 'x'], 2, 'only one of a name, --lane and --owner can be given'],
    [['pause', 'post.send', '--for', 'ever'], 2, "--for 'ever' is not a span of time; write one such as 90s, 10m, 2h or 3d"],
    [['pause', 'post.send', '--for', '99999999999999d'], 2, "--for '99999999999999d' is longer than 36500d; leave it out to pause until "],
    [['pause', '--owner='], 2, '--owner is empty; give an owner, or leave it out'],
    [['pause', '--lane='], 2, '--lane is empty; give a lane, or leave it out'],
    [['pause', ''], 1, "no jobs ''"],
    [['resume', '--owner='], 2, '--owner is empty'],
    [['list', '--owner='], 2, '--owner is empty'],
    [['list', '--name='], 1, "no jobs ''"],
    [['cancel', '--lane=', '--yes'], 2, '--lane is empty'],
    [['cancel', ''], 1, "no job ''"],
    [['retry', '--owner=', '--yes'], 2, '--owner is empty'],
    [['pause', '--for', '5m'], 2, 'jobs pause needs a name, --lane or --owner; write: '],
    [['resume', 'post.send'], 2, 'post.send is not paused; nothing is paused'],
    [['resume', 'AAAA'], 2, 'AAAA is one job, and jobs are paused and resumed by their name, --lane or --owner; see: pith jobs show AAAA'],
    [['resume'], 2, 'jobs resume needs a name, --lane or --owner; nothing is paused'],
  ])('J14 says what is wrong with jobs %j, and the cure', async (argv, code, said) => {
    await add('AAAA');
    const ran = await run('jobs', ...argv);
    expect(ran).toMatchObject({ code, out: '' });
    expect(ran.err).toContain(`pith: ${said}`);
    expect(await store.get('AAAA')).toMatchObject({ state: 'waiting' });
  });

  it('J14 counts attempts as their handler does: a wait is none', async () => {
    await add('A', { mostAttempts: 9 });
    const [first] = await claim();
    await store.settle({ id: 'A', fence: first!.fence }, { kind: 'again', at: NOW }, true);
    await claim();
    expect((await run('jobs', 'show', 'A')).out).toMatch(/^Begun +[^,]*$/mu);
    await add('B', { mostAttempts: 9 });
    await fail();
    await claim();
    expect((await run('jobs', 'show', 'B')).out).toMatch(/^Attempt +2, since /mu);
  });

  it.each([
    [{ jobs: ['B'] }, 'until B ended'],
    [{ resume: true }, 'until it is resumed'],
  ] as const)('J1 J14 says what a job waits for: %j', async (wait, until) => {
    await add('A');
    const [taken] = await claim();
    await add('B');
    await store.settle({ id: 'A', fence: taken!.fence }, { kind: 'wait', wait }, true);
    expect((await run('jobs', 'show', 'A')).out).toMatch(new RegExp(`^State +suspended, ${until}$`, 'mu'));
  });

  it('J3 J14 shows a job with its error, notes and children, and has shown who is dead', async () => {
    await add('A');
    await add('B', { parent: 'A', name: 'post.wipe', at: NOW + 1000 });
    const taken = await claim();
    const attempt = { id: 'A', fence: taken[0]!.fence };
    await store.note(attempt, '{"page":3}');
    await store.settle(attempt, { kind: 'failed', error: { code: 'tool_failed', message: 'no street' }, retryAt: NOW }, true);
    await run('jobs', 'list');
    await json('jobs', 'list', '--state', 'dead'); // a program
    await json('jobs', 'show', 'A');
    expect(await store.get('A')).toMatchObject({ state: 'dead', seen: false });
    const { out } = await run('jobs', 'show', 'A');
    for (const line of [
      /^State +dead, /mu,
      /^Error +tool_failed: no street$/mu,
      /^Payload +\{"to":"ada"\}$/mu,
      /^Failures +1 of at most 1$/mu,
    ])
      expect(out).toMatch(line);
    expect(out).toMatch(/^Jobs +B post\.wipe \(scheduled\)$/mu);
    expect(out).toMatch(/^Notes +\S.* \{"page":3\}$/mu);
    expect(out).toMatch(/^Try it again now: pith jobs retry A$/mu);
    expect(await store.get('A')).toMatchObject({ seen: true });
    expect(await json('jobs', 'show', 'A')).toMatchObject({
      id: 'A',
      children: ['B'],
      notes: [{ data: { page: 3 } }],
      payload: { to: 'ada' },
    });
  });

  it('J3 a list of those that are dead has shown them', async () => {
    await add('A');
    await fail();
    await run('jobs', 'list', '--state', 'dead');
    expect(await store.get('A')).toMatchObject({ seen: true });
  });

  it('J14 retries and cancels by id, and by what jobs have in common once a person agrees to their count', async () => {
    for (let n = 0; n < 12; n += 1) await add(`A${n}`, { sequence: 's', mostAttempts: 1 });
    await add('L', { name: 'post.wipe', at: NOW + 1000 });
    for (let n = 0; n < 12; n += 1) await fail();
    expect(await run('jobs', 'retry', 'A3', 'A3')).toEqual({ code: 0, out: 'Retried 1 job\n', err: '' });
    const asked = await cli(['jobs', 'retry', '--name', 'post.send'], { cwd: folder, openKernel, terminal: true, input: 'no\n' });
    expect(asked).toMatchObject({ code: 1, out: expect.stringContaining('Nothing was changed') });
    expect(asked.out + asked.err).toContain('Retry 11 jobs?');
    expect(await json('jobs', 'retry', '--name', 'post', '--yes')).toEqual({
      retried: [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11].map((n) => `A${n}`),
      refused: {},
    });
    expect(await store.list({ states: ['waiting'], limit: 99 })).toHaveLength(12);
    expect(await run('jobs', 'cancel', 'A3', 'A4')).toEqual({ code: 0, out: 'Cancelled 2 jobs\n', err: '' });
    expect((await run('jobs', 'cancel', '--state', 'scheduled', '--yes')).out).toBe('Cancelled 1 job\n');
    expect(await store.get('L')).toMatchObject({ state: 'cancelled', error: { message: 'cancelled by a person' } });
    expect(await store.count({ states: ['waiting'] })).toBe(10);
  });

  it('J14 names the command that tries again where the manifest has one, in place of its own retry', async () => {
    await add('A', { name: 'post.wipe' });
    await add('E', { name: 'post.wipe ended' });
    const failed = { kind: 'failed', error: { code: 'tool_failed', message: 'no' }, retryAt: NOW } as const;
    for (const { id, fence } of await takenFrom(store, 'post.wipe', 'post.wipe ended')) await store.settle({ id, fence }, failed, true);
    expect((await run('doctor')).out).toContain("a job 'post.wipe' is dead: no");
    expect((await run('doctor')).out).toContain('--name post.wipe --state dead; try again with: pith post again');
    expect((await run('jobs', 'show', 'A')).out).toMatch(/^Try it again now: pith post again$/mu);
    const why = "Not retried, because its extension tries it again with 'pith post again': A\n";
    expect(await run('jobs', 'retry', '--name', 'post.wipe', '--yes')).toEqual({ code: 1, out: `Retried 0 jobs\n${why}`, err: '' });
    expect(await run('jobs', 'retry', 'A', 'E')).toEqual({ code: 1, out: `Retried 1 job\n${why}`, err: '' });
    expect(await store.get('A')).toMatchObject({ state: 'dead' });
    expect(await store.get('E')).toMatchObject({ state: 'waiting' });
  });

  it('J14 says which could not be changed and why, with one exit code', async () => {
    await add('A', { unique: 'u' });
    await fail();
    await add('B', { unique: 'u' });
    const same = 'Not retried, because an open job has the same `unique`, or it has changed meanwhile: A\n';
    const said = `Retried 0 jobs\nNot retried, because it is waiting: B\n${same}`;
    expect(await run('jobs', 'retry', 'A', 'B')).toEqual({ code: 1, out: said, err: '' });
    const ended = 'Cancelled 1 job\nNot cancelled, because it is dead: A\n';
    expect(await run('jobs', 'cancel', 'A', 'B')).toEqual({ code: 1, out: ended, err: '' });
    expect((await run('jobs', 'show', 'B')).out).toMatch(/^Begun +never$/mu);
  });

  it('J11 pauses a name, an extension, a lane or an owner, lists what is paused, and resumes it', async () => {
    expect((await run('jobs', 'pause')).out).toBe('Nothing is paused\n');
    expect((await run('jobs', 'pause', 'post', '--reason', 'the post is on strike')).out).toBe(
      'Paused post.send, post.wipe; what runs goes on. Start it again with: pith jobs resume post\n',
    );
    const [paused] = await json('jobs', 'pause', '--lane', 'night', '--for', '10m');
    expect(paused).toMatchObject({ kind: 'lane', value: 'night', reason: 'paused by a person', until: expect.any(Number) });
    await run('jobs', 'pause', '--owner', 'ada');
    expect((await store.holds()).map(({ kind, value }) => `${kind} ${value}`)).toEqual([
      'lane night',
      'name post.send',
      'name post.wipe',
      'owner ada',
    ]);
    expect((await run('jobs', 'pause')).out).toMatch(/^post\.send +it is resumed +the post is on strike$/mu);
    expect((await run('jobs', 'resume', '--lane', 'nigth')).err).toContain("lane nigth is not paused (did you mean 'night'?)");
    expect((await run('jobs', 'resume', 'post')).out).toBe('Resumed post.send, post.wipe\n');
    await run('jobs', 'resume', '--lane', 'night');
    expect((await run('jobs', 'resume', '--owner', 'ada')).out).toBe('Resumed owner ada\n');
    expect(await store.holds()).toEqual([]);
  });

  it('J11 J12 pauses what waits for a handler of events, and resumes it also where nothing waits any more', async () => {
    await add('A', { name: 'deliver post/hear' });
    const said = "Paused deliver post/hear; what runs goes on. Start it again with: pith jobs resume 'deliver post/hear'\n";
    expect((await run('jobs', 'pause', 'deliver post/hear')).out).toBe(said);
    await store.hold({ kind: 'name', value: 'deliver post/see', until: null, reason: 'a while ago' });
    expect((await run('jobs', 'resume', 'deliver post/see')).out).toBe('Resumed deliver post/see\n');
  });
});
