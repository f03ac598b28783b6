import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ChannelMessage } from 'pith';
import { fakeClock } from 'pith/testing';
import { main, manifest } from '../../core/process/extension.ts';
import { folderWith } from '../../places.ts';
import { deliverDue } from '../../../sandbox/extensions/saved_skills/runs/deliveries.ts';
import { passed, passing, until } from '../../waiting.ts';
import { lanes, saveAs, savedKernel, type SavedKernel } from './saved-kernel.ts';
import { newRun, openRuns, rowsIn } from './shared-store.ts';

const HOUR = 3_600_000;
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

/** A store of its own with so many slots, and one process that takes runs of it. Both end with the test. */
async function taking(slots: number, clock?: Parameters<typeof openRuns>[1], leaseMs = 60_000) {
  const file = path.join(folderWith(), 'pith.db');
  const { runs, close } = await openRuns(file, clock);
  onTestFinished(() => close());
  const rules = { slots, preemptionMs: 0 };
  const arrive = (number: number, more: Parameters<typeof newRun>[1] = {}) => runs.arrive(newRun(number, more), rules);
  const claim = () => runs.claim('skill-default', rules, { holder: 'x', leaseMs });
  return {
    file,
    runs,
    arrive,
    claim,
    /** A run that has ended, with a result that is to be delivered. */
    async ended(number: number) {
      await arrive(number);
      const { run } = (await claim())!;
      await runs.finish(run, { state: 'ok', output: 'x', error: null }, true);
      return run.id;
    },
  };
}

/** One round of deliveries of a store, by a pager. */
function deliver(
  runs: Awaited<ReturnType<typeof taking>>['runs'],
  page: (message: ChannelMessage, target: string) => Promise<string>,
  summaryTarget = '',
) {
  const kind = summaryTarget === '' ? 'channel' : 'channel_with_summary';
  return deliverDue({
    runs,
    logger: { warn: () => undefined },
    channels: async () => [{ extensionId: 'pager', kinds: ['pager'], deliver: page }],
    events: { publish: async () => undefined },
    summaryTarget,
    targetOf: async () => ({ kind, target: 'pager:ada' }),
  } as unknown as Parameters<typeof deliverDue>[0]);
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

  it('M60 a slow delivery keeps no other run from its slot and its lease', async () => {
    const channel = {
      ...manifest('pager', { provides: ['channel'], isolation: 'in_process' }),
      ...main('pager', `kinds = ['pager']; deliver() { return new Promise((resolve) => (globalThis.answerPage = resolve)); }`),
    };
    const clock = fakeClock();
    const kernel = await savedKernel([{ text: 'the report' }, { hang: true }], { files: channel, clock });
    await saveAs(kernel, 'ada', 'report', { ...PLAIN, output_target: { kind: 'channel', target: 'pager:ada' } });
    await saveAs(kernel, 'ada', 'slow', PLAIN);
    await begun(kernel, 'run report');
    const pages = globalThis as { answerPage?: (id: string) => void };
    await passing(clock, () => pages.answerPage !== undefined, 500);
    const asked = clock.now();
    const slow = await begun(kernel, 'run slow');
    await passing(clock, () => kernel.model.requests.length === 2, 500);
    await passed(clock, clock.sleep(5_000), 500);
    const file = path.join(kernel.pith.sandbox, 'data/pith.db');
    const [row] = rowsIn<{ until: number }>(file, 'SELECT lease_until AS until FROM saved_skills__runs WHERE id = ?', slow);
    expect(row?.until).toBeGreaterThan(clock.now());
    expect(clock.now() - asked).toBeLessThan(10_000); // a delivery is given up much later
    await passing(
      clock,
      async () => {
        pages.answerPage?.('p1');
        return (await listed(kernel)).some(({ skill, delivery }) => skill === 'ada/report' && delivery === 'delivered');
      },
      500,
    );
  });

  it('M46 C2 who took a delivery and stalled changes nothing once another has taken it', async () => {
    const { runs, ended } = await taking(1);
    await ended(1);
    const [due] = await runs.deliverable(HOUR);
    const stalled = await runs.takeDelivery(due!, 0);
    const [again] = await runs.deliverable(HOUR);
    const other = await runs.takeDelivery(again!, 60_000);
    const before = await runs.byId(due!.id);
    await runs.notDelivered(stalled!, 'too late', null);
    await runs.delivered(stalled!);
    expect(await runs.byId(due!.id)).toEqual(before);
    await runs.delivered(other!);
    expect(await runs.byId(due!.id)).toMatchObject({ delivery: 'delivered', deliveryAttempts: 2 });
  });

  it('M46 a record that cannot be read is a failed delivery, and keeps no other from its target', async () => {
    const { file, runs, ended } = await taking(2);
    for (const at of [1, 2]) await ended(at);
    const [damaged, whole] = await runs.deliverable(HOUR);
    rowsIn(file, `UPDATE saved_skills__runs SET inputs = '{' WHERE id = ? RETURNING id`, damaged!.id);
    const delivered: string[] = [];
    await deliver(runs, async ({ text }) => (delivered.push(text), 'p1'));
    expect(delivered).toEqual(['ada/skill: x']);
    expect(await runs.byId(damaged!.id)).toMatchObject({ delivery: 'failed', deliveryError: expect.stringContaining('cannot be read') });
    expect(await runs.byId(whole!.id)).toMatchObject({ delivery: 'delivered' });
  });

  it('M44 M46 a part of a result that has arrived is not sent again, and each has a key', async () => {
    const clock = fakeClock();
    const { runs, ended } = await taking(1, clock);
    const id = await ended(1);
    const sent: (readonly [string | undefined, string])[] = [];
    let isBroken = true;
    const page = async ({ key }: ChannelMessage, target: string) => {
      if (isBroken && target === 'pager:ada') throw new Error('no signal');
      sent.push([key, target]);
      return 'p1';
    };
    const round = () => deliver(runs, page, 'pager:all');
    await round();
    isBroken = false;
    await passing(clock, async () => {
      await round();
      return (await runs.byId(id))?.delivery === 'delivered';
    });
    expect(sent).toEqual([
      [id, 'pager:all'],
      [`${id}/1`, 'pager:ada'],
    ]);
  });

  it('M60 a damaged record ends as an error, and keeps no other run from its slot', async () => {
    const kernel = await savedKernel([{ text: 'one' }], { files: lanes(1) });
    await saveAs(kernel, 'ada', 'plain', PLAIN);
    await saveAs(kernel, 'ada', 'torn', PLAIN);
    const file = path.join(kernel.pith.sandbox, 'data/pith.db');
    const sql = `SELECT s.id AS skill, v.id AS version FROM saved_skills__skills s JOIN saved_skills__versions v ON v.skill_id = s.id WHERE s.name = ?`;
    const of = (name: string) => rowsIn<{ readonly skill: string; readonly version: string }>(file, sql, name)[0]!;
    rowsIn(file, "UPDATE saved_skills__versions SET snapshot = '{' WHERE id = ? RETURNING id", of('torn').version);
    const { runs, close } = await openRuns(file);
    const run = (number: number, { skill, version }: ReturnType<typeof of>, more: object = {}) =>
      runs.arrive(newRun(number, { skill_id: skill, version_id: version, user_id: 'ada', ...more }), { slots: 1, preemptionMs: 0 });
    await run(1, of('plain'), { inputs: '{' });
    await run(2, of('torn'));
    await run(3, of('plain'));
    await close();
    await expect
      .poll(async () => (await listed(kernel)).map(({ id, state }) => [id.slice(-1), state]).sort())
      .toEqual([
        ['1', 'error'],
        ['2', 'error'],
        ['3', 'ok'],
      ]);
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

  it('M60 M65 a run that was asked to end and begins to wait has given its slot: after the answer it goes on', async () => {
    const clock = fakeClock();
    const { runs, arrive, claim } = await taking(1, clock);
    await arrive(1, { preemptible: 1 });
    const first = await claim();
    await arrive(2, { priority: 5 });
    await runs.giveBack(first!.run, 'waiting');
    const second = await claim();
    await runs.finish(second!.run, { state: 'ok', output: 'x', error: null }, false);
    await clock.advance(10_000);
    await runs.resume(first!.run.id);
    expect(await claim()).toMatchObject({ isOver: false, run: { id: first!.run.id, state: 'running' } });
  });

  it('M60 what was asked of a run while it ran counts when it begins to wait: to end, or that its answer is there', async () => {
    const { runs, arrive, claim } = await taking(2);
    const states: string[] = [];
    for (const ask of ['cancel', 'resume'] as const) {
      await arrive(states.length + 1);
      const { run } = (await claim())!;
      await runs[ask](run.id);
      await runs.giveBack(run, 'waiting');
      states.push((await runs.byId(run.id))!.state);
    }
    expect(states).toEqual(['cancelled', 'queued']);
  });

  it('M60 C4 a clock that is set back by an hour keeps no lost run for an hour', async () => {
    const clock = fakeClock();
    let behind = 0;
    const { arrive, claim } = await taking(1, { now: () => clock.now() - behind }, 2_000);
    await arrive(1);
    await claim();
    behind = 3_600_000;
    expect(await claim()).toBeNull();
    await clock.advance(2_000);
    expect(await claim()).toMatchObject({ run: { id: newRun(1).id, attempt: 2 } });
  });

  it('J10 M46 a clock that was ahead for a day holds up no result', async () => {
    const clock = fakeClock();
    let ahead = 24 * HOUR;
    const { runs, ended } = await taking(1, { now: () => clock.now() + ahead }, 2_000);
    await ended(1);
    ahead = 0;
    expect(await runs.deliverable(HOUR)).toHaveLength(1);
    expect(await runs.deliverable(25 * HOUR)).toEqual([]); // so long it may have to wait
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
