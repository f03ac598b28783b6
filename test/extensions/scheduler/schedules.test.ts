import { localTime } from '@pith/command-line';
import path from 'node:path';
import { type JsonValue, PithError } from 'pith';
import { describe, expect, it, onTestFinished } from 'vitest';
import { answerFirst } from '../../answers.ts';
import { openStore } from '../../../core/store/index.ts';
import { passing, until } from '../../waiting.ts';
import { approved, idOf, listed, MINUTE, world } from './schedule-world.ts';

describe('schedules', () => {
  it('K95 schedule_once runs its agent at that time, in a separate thread, and says what came of it', async () => {
    const { pith, model, clock, notices, told } = await world([
      { calls: [{ name: 'schedule_once', input: { message: 'Remind me of the soup.', in: '10m' } }] },
      { text: 'I will.' },
    ]);
    const { results } = await pith.run('later', { threadId: 'kitchen' });
    const title = `Scheduled for ${localTime(Date.parse('2026-01-01T00:10:00.000Z'), Date.parse('2026-01-01T00:00:00.000Z'))}`; // U23: in the person's zone
    expect(results).toMatchObject([{ ok: true, title, output: { agent_id: 'boss', next: '2026-01-01T00:10:00.000Z' } }]);
    await pith.kernel.start();
    await clock.advance(9 * MINUTE);
    expect(model.requests).toHaveLength(2);
    model.add({ text: 'The soup!' });
    await told(1);
    expect(model.requests[2]).toMatchObject({ system: expect.stringContaining('I AM boss.') });
    expect(model.requests[2]?.messages).toHaveLength(1);
    expect(JSON.stringify(model.requests[2]?.messages)).toContain('Remind me of the soup.');
    expect(notices).toMatchObject([
      {
        kind: 'schedule',
        about: { kind: 'thread', id: expect.stringMatching(/^schedules\/.*\/1767226200000$/) },
        threadId: 'kitchen',
        userId: 'local',
        text: expect.stringMatching(/^boss .*: The soup!$/),
      },
    ]);
    const left = () => pith.kernel.agents.callTool('boss', 'list_schedules', {});
    await until(async () => JSON.stringify(await left()).includes('"schedules":[]')); // it goes once its run is over
    const threads = (await pith.kernel.threads.list(5)).map(({ id }) => id);
    expect(threads.find((id) => id.startsWith('schedules/'))).toMatch(/\/1767226200000$/);
  });

  it('K95 missed runs collapse to one, also over a restart; then it goes on', async () => {
    const { pith, model, clock, notices, listen } = await world();
    await approved(pith, model, '*/10 * * * *');
    await pith.restart();
    listen();
    await clock.advance(51 * MINUTE);
    model.add({ text: 'one' }, { text: 'two' });
    await pith.kernel.start();
    await passing(clock, () => notices.length === 1, MINUTE / 6);
    expect(await listed(pith)).toMatchObject([{ next: '2026-01-01T01:00:00.000Z' }]);
    await clock.advance(9 * MINUTE);
    await passing(clock, () => notices.length === 2, MINUTE / 6);
    expect(notices.map(({ text }) => text.split(': ')[1])).toEqual(['one', 'two']);
  });

  it("J10 J13 K95 what is to run once is a job of its user; cancelled, it does not run; nobody cancels what is another person's", async () => {
    const { pith, model, clock, store, jobs, call } = await world();
    const id = idOf(await call('schedule_once', { message: 'x', in: '1m' }));
    expect(await store.list({ limit: 9 })).toMatchObject([{ name: 'scheduler.run', state: 'scheduled', owner: 'local' }]);
    const cancel = { name: 'cancel_schedule', input: { schedule_id: id } };
    model.add({ calls: [cancel, { name: 'list_schedules', input: {} }] }, { text: 'ok' });
    const { results } = await pith.run('cancel it', { userId: 'eve' });
    const named = Object.fromEntries(results.map(({ name, output, error }) => [name, output ?? error]));
    expect(named).toMatchObject({ cancel_schedule: { code: 'not_found' }, list_schedules: { schedules: [] } });
    expect(await call('cancel_schedule', { schedule_id: id })).toMatchObject({ ok: true });
    expect(await jobs()).toEqual(['scheduler.run cancelled']);
    await pith.kernel.start();
    await clock.advance(2 * MINUTE);
    expect(model.requests).toHaveLength(2);
  });

  it('K95 has at most the tools of the turn that made it, and makes no schedules itself', async () => {
    const { pith, model, told } = await world([{ calls: [{ name: 'schedule_once', input: { message: 'x', in: '1m' } }] }, { text: 'ok' }]);
    await pith.run('later', { policy: { denyTools: ['kv/kv_delete', 'kv/kv_set'] } });
    await pith.kernel.start();
    model.add({ text: 'done' });
    await told(1);
    expect(model.requests[2]?.tools.map(({ name }) => name)).toEqual(['list_schedules', 'cancel_schedule', 'kv_get', 'kv_list']);
  });

  it('T14 a run of a schedule that a stranger let an agent make has at most the tools of the stranger, whichever agent runs', async () => {
    const { pith, model, told } = await world([
      { calls: [{ name: 'schedule_once', input: { message: 'x', in: '1m', agent_id: 'clerk' } }] },
      { text: 'ok' },
    ]);
    await pith.run('later', { policy: { startedBy: [{ extensionId: 'scheduler', ownOnly: true }] } }); // as if that were the stranger
    await pith.kernel.start();
    model.add({ text: 'done' });
    await told(1);
    expect(model.requests[2]?.tools.map(({ name }) => name)).toEqual([]);
  });

  it('K95 a run that fails says so, and is over', async () => {
    const { pith, model, notices, call, told } = await world();
    await call('schedule_once', { message: 'x', in: '1m', agent_id: 'clerk' });
    await pith.kernel.start();
    model.add({ text: 'I began', breakWith: new Error('lost') });
    await told(1);
    expect(notices).toMatchObject([{ text: expect.stringMatching(/^clerk .* failed: .*/) }]);
    await until(async () => (await listed(pith)).length === 0);
  });

  it('W14 one that comes again and again says in its list why it failed last, and where', async () => {
    const { pith, model, told } = await world();
    await pith.kernel.start();
    await approved(pith, model, '0 * * * *');
    model.add(async () => {
      throw new PithError('model_refused', 'the model had enough');
    });
    await told(1);
    const shown = async () =>
      (await pith.command('tasks schedules list', { json: true })).values[0] as readonly {
        readonly schedule_id: string;
        readonly last?: object;
      }[];
    await until(async () => (await shown())[0]?.last !== undefined);
    const [schedule] = await shown();
    const last_thread = `schedules/${schedule?.schedule_id}/${Date.UTC(2026, 0, 1, 1)}`;
    expect(schedule).toMatchObject({ last: { reason: 'error', error: 'the model had enough' }, last_thread, user: 'local' });
  });

  it('K50 K95 a run that waits for a person says so; one that another process goes on with has not failed: what came of it is told when it is known', async () => {
    const { pith, model, clock, notices, call } = await world();
    await call('schedule_once', { message: 'x', in: '1m', agent_id: 'clerk' });
    model.add({ calls: [{ name: 'kv_delete', input: { key: 'a' } }] });
    await pith.kernel.start();
    await passing(clock, async () => (await pith.kernel.approvals.list()).length > 0 && notices.length > 0, MINUTE / 6);
    const [question] = await pith.kernel.approvals.list();
    expect(question).toMatchObject({ tool: 'kv/kv_delete', path: [{ agentId: 'clerk' }] });
    const other = openStore(path.join(pith.kernel.settings.data_dir, 'pith.db'), clock);
    onTestFinished(() => other.close());
    const held = `INSERT INTO leases VALUES (?, 'other', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until`;
    const work = () => other.write((statement) => void statement(held, `thread:${question?.rootThreadId}`, clock.now() + 3_000));
    await work();
    await answerFirst(pith, 'once');
    for (let second = 0; second < 60; second += 1) {
      await work();
      await clock.advance(1000);
    }
    expect(notices.map(({ text }) => text)).toEqual([expect.stringContaining('waits for an answer')]);
    expect(await listed(pith)).toHaveLength(1);
    model.add({ text: 'deleted' });
    await passing(clock, () => notices.length > 1); // its lease runs out
    expect(notices[1]?.text).toMatch(/^clerk .*: deleted$/);
    await until(async () => (await listed(pith)).length === 0);
  });
});

describe('what cannot be scheduled', () => {
  it.each<[string, Record<string, JsonValue>, string]>([
    ['no time at all', {}, "tool_input_invalid: .*either 'at' or 'in'"],
    ['two times', { in: '1m', at: '2026-02-01T00:00:00Z' }, "tool_input_invalid: .*either 'at' or 'in'"],
    ['the past', { at: '2025-12-31T23:59:59Z' }, 'tool_input_invalid: .*is over'],
    ['a time without a zone', { at: '2026-02-01T09:00:00' }, 'tool_input_invalid: .*with its zone'],
    ['years from now', { in: '400d' }, 'tool_input_invalid: .*more than a year'],
    ['an odd span', { in: 'soon' }, 'tool_input_invalid: .*not a span'],
    ['an agent that it may not call', { in: '1m', agent_id: 'clark' }, "agent_unknown: .*did you mean 'clerk'"],
    ['an agent that nobody named', { in: '1m', agent_id: 'other' }, "agent_unknown: .*'boss' may call"],
  ])('K95 K44 %s', async (_what, when, why) => {
    const { call } = await world();
    const { error } = (await call('schedule_once', { message: 'x', ...when })) as { error?: { code: string; message: string } };
    expect(`${error?.code}: ${error?.message}`).toMatch(new RegExp(why, 'su'));
  });

  it('K95 more than fifty for one person', async () => {
    const { call } = await world();
    const made = await Promise.all(Array.from({ length: 51 }, (_, n) => call('schedule_once', { message: `n${n}`, in: '1h' })));
    expect(made.filter(({ ok }) => !ok)).toMatchObject([{ error: { code: 'limit_reached' } }]);
  });

  it('K50 K95 what comes again and again, without a person', async () => {
    const { call } = await world();
    const asked = await call('schedule_recurring', { message: 'x', cron: '0 9 * * *' });
    expect(asked).toMatchObject({ ok: false, error: { code: 'approval_needed' } });
  });
});
