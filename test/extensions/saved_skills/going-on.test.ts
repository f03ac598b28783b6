import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ChannelMessage, PithError } from 'pith';
import { fakeClock, scriptedModel } from 'pith/testing';
import { folderWith, kernelOf } from '../../places.ts';
import { deliver } from '../../../sandbox/extensions/saved_skills/runs/deliveries.ts';
import { passed, passing, until } from '../../waiting.ts';
import { lanes, ONLY, saveAs, savedKernel, type SavedKernel } from './saved-kernel.ts';
import { newRun, openRuns, rowsIn } from './shared-store.ts';

const PLAIN = { system_prompt: 'You help.' };
const invoke = (skill: string) => ({ calls: [{ name: 'skill_invoke', input: { skill, inputs: {} } }] });

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly skill: string;
  readonly output: string | null;
  readonly delivery: string;
}
const listed = async (kernel: SavedKernel) => (await kernel.as('admin', 'runs list')).json as unknown as readonly Shown[];
const shown = async (kernel: SavedKernel, id: string) => (await kernel.as('admin', `runs show ${id}`)).json as unknown as Shown;
const begun = async (kernel: SavedKernel, line: string) => ((await kernel.as('ada', `${line} --background`)).json as unknown as Shown).id;

const BY = { id: 'job', fence: 1 };

/** Runs of a store of its own that have ended, with results that are to be delivered. */
async function ended(count: number) {
  const file = path.join(folderWith(), 'pith.db');
  const { runs, close } = await openRuns(file);
  onTestFinished(() => close());
  for (let number = 1; number <= count; number += 1) {
    await runs.arrive(newRun(number));
    await runs.begin(newRun(number).id, BY);
    await runs.finish(newRun(number).id, BY, { state: 'ok', output: 'x', error: null }, true);
  }
  return { file, runs };
}

/** One attempt at the delivery of a run, by a pager. */
function deliverOne(
  runs: Awaited<ReturnType<typeof ended>>['runs'],
  run: string,
  page: (message: ChannelMessage, target: string) => Promise<string>,
  summaryTarget = '',
) {
  const context = {
    logger: { warn: () => undefined },
    find: () => [{ extensionId: 'pager', kinds: ['pager'], deliver: page }],
    events: { publish: async () => undefined },
    config: { summary_channel_id: summaryTarget },
  };
  const output_target = { kind: summaryTarget === '' ? 'channel' : 'channel_with_summary', target: 'pager:ada' };
  const skills = { version: async () => ({ snapshot: { output_target } }) };
  const deliverer = { context, skills, runs, summarise: async () => 'In short.' };
  return deliver(
    deliverer as unknown as Parameters<typeof deliver>[0],
    {
      ...BY,
      attempt: 1,
      payload: { run },
    } as Parameters<typeof deliver>[1],
  );
}

describe('runs whose process ends or stalls', () => {
  it('M56 M60 a restart in the middle of a run inside another ends that one, and the one above goes on', async () => {
    const kernel = await savedKernel([invoke('inner'), { hang: true }]);
    await saveAs(kernel, 'ada', 'inner', PLAIN);
    await saveAs(kernel, 'ada', 'outer', { ...PLAIN, tools: ['skill_invoke'] });
    const id = await begun(kernel, 'run outer');
    await expect.poll(() => kernel.model.requests.length).toBe(2);
    kernel.model.add({ text: 'went on' });
    await kernel.restart();
    await expect.poll(() => shown(kernel, id)).toMatchObject({ state: 'ok', output: 'went on', attempt: 2 });
    expect((await listed(kernel)).map(({ skill, state }) => [skill, state]).sort()).toEqual([
      ['ada/inner', 'cancelled'],
      ['ada/outer', 'ok'],
    ]);
  });

  it('M46 a record that cannot be read is a failed delivery, and keeps no other from its target', async () => {
    const { file, runs } = await ended(2);
    const [damaged, whole] = [newRun(1).id, newRun(2).id];
    rowsIn(file, `UPDATE saved_skills__runs SET inputs = '{' WHERE id = ? RETURNING id`, damaged);
    const delivered: string[] = [];
    for (const id of [damaged, whole]) await deliverOne(runs, id, async ({ text }) => (delivered.push(text), 'p1'));
    expect(delivered).toEqual(['ada/skill: x']);
    expect(await runs.byId(damaged)).toMatchObject({ delivery: 'failed', deliveryError: expect.stringContaining('cannot be read') });
    expect(await runs.byId(whole)).toMatchObject({ delivery: 'delivered' });
  });

  it('M44 M46 a part of a result that has arrived is not sent again, and each has a key', async () => {
    const { runs } = await ended(1);
    const { id } = newRun(1);
    const sent: (readonly [string | undefined, string])[] = [];
    let isBroken = true;
    const page = async ({ key }: ChannelMessage, target: string) => {
      if (isBroken && target === 'pager:ada') throw new Error('no signal');
      sent.push([key, target]);
      return 'p1';
    };
    await expect(deliverOne(runs, id, page, 'pager:all')).rejects.toThrow('no signal');
    expect(await runs.byId(id)).toMatchObject({ delivery: 'waiting', deliveryError: 'no signal', partsDelivered: 1 });
    isBroken = false;
    for (let again = 0; again < 2; again += 1) await deliverOne(runs, id, page, 'pager:all');
    expect(sent).toEqual([
      [id, 'pager:all'],
      [`${id}/1`, 'pager:ada'],
    ]);
  });

  it('J14 M46 a delivery that has failed is made by the next attempt at its job, without the parts that have arrived', async () => {
    const { runs } = await ended(1);
    const { id } = newRun(1);
    await runs.delivering(id, BY, { parts_delivered: 1 });
    await runs.undelivered(id, 'no signal');
    const sent: string[] = [];
    for (let again = 0; again < 2; again += 1) await deliverOne(runs, id, async (_, target) => (sent.push(target), 'p1'), 'pager:all');
    expect([sent, await runs.byId(id)]).toMatchObject([['pager:ada'], { delivery: 'delivered', deliveryError: null }]);
  });

  it('M60 a damaged record ends as an error, and keeps no other run from its slot', async () => {
    let answer = (): void => undefined;
    const answered = new Promise<{ text: string }>((resolve) => (answer = () => resolve({ text: 'zero' })));
    const kernel = await savedKernel([() => answered, { text: 'three' }], { files: lanes(1) });
    await saveAs(kernel, 'ada', 'plain', PLAIN);
    await saveAs(kernel, 'ada', 'torn', PLAIN);
    const file = path.join(kernel.pith.sandbox, 'data/pith.db');
    const ids: string[] = [];
    for (const name of ['plain', 'plain', 'torn', 'plain']) ids.push(await begun(kernel, `run ${name}`));
    const torn =
      "UPDATE saved_skills__versions SET snapshot = '{' WHERE skill_id = (SELECT id FROM saved_skills__skills WHERE name = ?) RETURNING id";
    rowsIn(file, torn, 'torn');
    rowsIn(file, "UPDATE saved_skills__runs SET inputs = '{' WHERE id = ? RETURNING id", ids[1] as string);
    answer();
    await expect
      .poll(async () => (await listed(kernel)).map(({ state }) => state).reverse(), { timeout: 5000 })
      .toEqual(['ok', 'error', 'error', 'ok']);
  });

  it('M30 M60 a restart in the final turn goes on with it', async () => {
    const list = { calls: [{ name: 'list_saved_skills', input: {} }] };
    const kernel = await savedKernel([list, list, { hang: true }]);
    await saveAs(kernel, 'ada', 'calls', { ...PLAIN, tools: ['list_saved_skills'], max_tool_calls: 1 });
    const id = await begun(kernel, 'run calls');
    await until(() => kernel.model.requests.length === 3);
    kernel.model.add({ text: 'with what I have' });
    await kernel.restart();
    await expect.poll(() => shown(kernel, id)).toMatchObject({ state: 'ok', output: 'with what I have', attempt: 2 });
  });

  it('M60 J9 a run that goes on has made as many calls as its row says, however few of them are noted', async () => {
    const list = { calls: [{ name: 'list_saved_skills', input: {} }] };
    const kernel = await savedKernel([list, { hang: true }]);
    await saveAs(kernel, 'ada', 'calls', { ...PLAIN, tools: ['list_saved_skills'] });
    const id = await begun(kernel, 'run calls');
    await until(() => kernel.model.requests.length === 2);
    kernel.model.add(list, { text: 'done' });
    await kernel.pith.kernel.stop();
    rowsIn(path.join(kernel.pith.sandbox, 'data/pith.db'), 'UPDATE saved_skills__runs SET tool_calls = 300 WHERE id = ? RETURNING id', id);
    await kernel.restart();
    await expect.poll(() => shown(kernel, id)).toMatchObject({ state: 'ok', tool_calls: 301 });
  });

  it('J11 a run whose provider takes no requests waits until it does, and goes on', async () => {
    const clock = fakeClock();
    const limited = { error: new PithError('model_rate_limited', 'too many requests', { retryAfterMs: 60_000 }) };
    const kernel = await savedKernel([limited, limited, { text: 'at last' }], { clock });
    await saveAs(kernel, 'ada', 'plain', PLAIN);
    const from = clock.now();
    const id = await begun(kernel, 'run plain');
    const run = await passing(clock, async () => (await shown(kernel, id)).state === 'ok' && shown(kernel, id), 2_000);
    const waited = { what: expect.stringContaining('too many requests') };
    expect(run).toMatchObject({ output: 'at last', error: null, history: [waited, waited] });
    expect(clock.now() - from).toBeGreaterThanOrEqual(120_000);
  });

  it('K91 a run whose progress the database does not take waits until it does, and goes on', async () => {
    const clock = fakeClock();
    const kernel = await savedKernel([{ calls: [{ name: 'list_saved_skills', input: {} }] }, { text: 'done' }], { clock });
    await saveAs(kernel, 'ada', 'calls', { ...PLAIN, tools: ['list_saved_skills'] });
    const change = (sql: string) => rowsIn(path.join(kernel.pith.sandbox, 'data/pith.db'), sql);
    change(
      `CREATE TRIGGER full BEFORE UPDATE ON saved_skills__runs WHEN NEW.steps > OLD.steps BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`,
    );
    const id = await begun(kernel, 'run calls');
    const { store } = kernel.pith.kernel.jobs;
    await until(async () => (await store.list({ names: ['saved_skills.run'], limit: 1 }))[0]!.at > clock.now());
    expect(await shown(kernel, id)).toMatchObject({ state: 'running' });
    change('DROP TRIGGER full');
    const run = await passing(
      clock,
      async () => !['queued', 'running'].includes((await shown(kernel, id)).state) && shown(kernel, id),
      2_000,
    );
    expect(run).toMatchObject({ state: 'ok', output: 'done', error: null });
  });

  it('M62 runs of one millisecond are begun in the order in which they were asked for', async () => {
    const clock = fakeClock();
    const kernel = await savedKernel(
      Array.from({ length: 12 }, (_, at) => ({ text: `${at}` })),
      { clock, files: lanes(1) },
    );
    await saveAs(kernel, 'ada', 'plain', PLAIN);
    const ids: string[] = [];
    for (let at = 0; at < 12; at += 1) ids.push(await begun(kernel, 'run plain'));
    expect(ids.toSorted()).toEqual(ids);
    await passing(clock, async () => (await listed(kernel)).every(({ state }) => state === 'ok'), 500);
    expect((await listed(kernel)).map(({ output }) => output).reverse()).toEqual(ids.map((_, at) => `${at}`));
  });
});

describe('a run that is more urgent than those in a full lane', () => {
  const urgent = async (kernel: SavedKernel, name: string, preemptible: boolean) => {
    await saveAs(kernel, 'ada', name, PLAIN);
    if (preemptible) await kernel.as('ada', `saved set-priority ${name} 0 --preemptible on --yes`);
  };

  it('M65 M68 takes the slot of a preemptible one that is 30 s old, which ends preempted and is not tried again', async () => {
    const clock = fakeClock();
    const kernel = await savedKernel([{ text: 'so far', hang: true }, { text: 'urgent is done' }], { clock, files: lanes(1) });
    await urgent(kernel, 'slow', true);
    const slow = await begun(kernel, 'run slow');
    await passing(clock, () => kernel.model.requests.length === 1, 100);
    await passed(clock, clock.sleep(30_000), 2000);
    const fast = await begun(kernel, 'run slow --priority 5');
    await passing(clock, async () => (await shown(kernel, fast)).state === 'ok', 500);
    expect(await shown(kernel, slow)).toMatchObject({ state: 'preempted', attempt: 1, error: { code: 'preempted' } });
    await passed(clock, clock.sleep(10_000), 2000);
    expect(await shown(kernel, slow)).toMatchObject({ state: 'preempted', attempt: 1 });
    expect(await shown(kernel, fast)).toMatchObject({ state: 'ok', output: 'urgent is done', attempt: 1 });
  });

  it.each([
    ['one that is younger', 25_000, true],
    ['one that is not preemptible', 40_000, false],
  ])('M65 M66 waits for %s', async (_, age, preemptible) => {
    const clock = fakeClock();
    let answer = (): void => undefined;
    const answered = new Promise<{ text: string }>((resolve) => (answer = () => resolve({ text: 'whole' })));
    const kernel = await savedKernel([() => answered, { text: 'urgent is done' }], { clock, files: lanes(1) });
    await urgent(kernel, 'slow', preemptible);
    const slow = await begun(kernel, 'run slow');
    await passing(clock, () => kernel.model.requests.length === 1, 100);
    await passed(clock, clock.sleep(age), 2000);
    const fast = await begun(kernel, 'run slow --priority 5');
    await passed(clock, clock.sleep(10_000), 2000);
    expect([(await shown(kernel, slow)).state, (await shown(kernel, fast)).state]).toEqual(['running', 'queued']);
    answer();
    await passing(clock, async () => (await shown(kernel, fast)).state === 'ok', 500);
    expect(await shown(kernel, slow)).toMatchObject({ state: 'ok', output: 'whole', attempt: 1 });
  });
});

describe('runs and their jobs', () => {
  it('M56 a process that waits for one run only leaves other lanes and deliveries to services', async () => {
    const model = scriptedModel([{ text: 'mine' }]);
    const settings = 'admins: [admin]\nextensions: { saved_skills: { lanes: { skill-default: { slots: 1 }, nightly: { slots: 1 } } } }\n';
    const pith = await kernelOf({ model, only: ONLY, files: { 'pith.yaml': settings } });
    const as = async (userId: string, line: string | readonly string[]) =>
      (await pith.command(line, { json: true, userId })).values.at(-1) as unknown as Shown;
    for (const name of ['mine', 'other']) {
      await pith.write(`files/${name}.yml`, JSON.stringify(PLAIN));
      await as('ada', ['saved', 'new', name, '--file', `${pith.sandbox}/files/${name}.yml`]);
    }
    await as('admin', 'saved set-lane ada/other nightly');
    const other = await as('ada', 'run other --background');
    expect(await as('ada', 'run mine')).toMatchObject({ state: 'ok', output: 'mine' });
    expect(await as('ada', `runs show ${other.id}`)).toMatchObject({ state: 'queued', attempt: 0 });
  });

  it('J9 M60 a run whose job died is an error, and says why', async () => {
    const kernel = await savedKernel([{ hang: true }]);
    await saveAs(kernel, 'ada', 'plain', PLAIN);
    const id = await begun(kernel, 'run plain');
    await until(() => kernel.model.requests.length === 1);
    const file = path.join(kernel.pith.sandbox, 'data/pith.db');
    // As after two losses, and a third: its process is gone.
    rowsIn(file, "UPDATE jobs SET lost = 2, holder = 'gone', until = 1 WHERE name = 'saved_skills.run' RETURNING id");
    await expect.poll(() => shown(kernel, id), { timeout: 10_000 }).toMatchObject({ state: 'error', error: { code: 'lost' } });
  });

  it('J16 leaves a run or a delivery that an older Pith has taken meanwhile', async () => {
    const { file, runs } = await ended(1);
    const { id } = newRun(2);
    await runs.arrive(newRun(2));
    rowsIn(file, "UPDATE saved_skills__runs SET job = NULL, state = 'running', attempt = 1 WHERE id = ? RETURNING id", id);
    await expect(runs.adopt({ id, state: 'queued', attempt: 0 })).rejects.toMatchObject({ code: 'write_conflict' });
    expect(await runs.byId(id)).toMatchObject({ job: null, state: 'running' });
    await runs.adopt({ id, state: 'running', attempt: 1 });
    expect(await runs.byId(id)).toMatchObject({ job: 'job', state: 'queued' });
    rowsIn(file, 'UPDATE saved_skills__runs SET deliver_at = 20 WHERE id = ? RETURNING id', newRun(1).id);
    await expect(runs.adoptDelivery(newRun(1).id, 10)).rejects.toMatchObject({ code: 'write_conflict' });
    await runs.adoptDelivery(newRun(1).id, 20);
  });

  it('J16 M60 runs that an older Pith works on get their jobs once its leases are over', async () => {
    const clock = fakeClock();
    const kernel = await savedKernel([{ text: 'taken over' }], { clock });
    await saveAs(kernel, 'ada', 'plain', PLAIN);
    const file = path.join(kernel.pith.sandbox, 'data/pith.db');
    await kernel.pith.kernel.stop();
    const [kept] = rowsIn<{ skill_id: string; id: string }>(file, 'SELECT skill_id, id FROM saved_skills__versions');
    const { runs, close } = await openRuns(file);
    await runs.arrive(newRun(1, { skill_id: kept!.skill_id, version_id: kept!.id }));
    await close();
    const older = "UPDATE saved_skills__runs SET job = NULL, state = 'running', attempt = 1, holder = 'old', lease_until = ? RETURNING id";
    rowsIn(file, older, clock.now() + 2_000);
    await kernel.restart();
    await passed(clock, clock.sleep(1_500), 100);
    expect(await shown(kernel, newRun(1).id)).toMatchObject({ state: 'running', attempt: 1 });
    await passing(clock, async () => (await shown(kernel, newRun(1).id)).state === 'ok', 500);
    expect(await shown(kernel, newRun(1).id)).toMatchObject({ output: 'taken over', attempt: 2 });
  });
});
