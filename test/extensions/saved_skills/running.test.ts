import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fakeClock, scriptedModel, type ModelRequest, type ScriptedReply } from 'pith/testing';
import { main, manifest } from '../../core/process/extension.ts';
import { kernelOf } from '../../places.ts';
import { passed } from '../../waiting.ts';
import { editAs, HELPER, lanes, saveAs, savedKernel, type SavedKernel } from './saved-kernel.ts';

const DAY = 86_400_000;
const PLAIN = { system_prompt: 'You help.' };
const EXPOSED = { ...PLAIN, expose_as_chatbot_tool: true };
/** Ada's skills `inner`, and `outer`, which runs others by these tools. */
async function saveBoth(kernel: SavedKernel, ...tools: readonly string[]): Promise<void> {
  await saveAs(kernel, 'ada', 'inner', EXPOSED);
  await saveAs(kernel, 'ada', 'outer', { ...PLAIN, tools: tools.length === 0 ? ['skill_invoke'] : tools });
}
const invoke = (skill: string, times = 1) => ({
  calls: Array.from({ length: times }, () => ({ name: 'skill_invoke', input: { skill, inputs: {} } })),
});
const invokeParallel = (...skills: readonly string[]) => ({
  calls: [{ name: 'skill_invoke_parallel', input: { calls: skills.map((skill) => ({ skill })) } }],
});
/** Answers by what the model is sent, for runs whose order does not matter. */
const byPrompt =
  (answers: Readonly<Record<string, ScriptedReply | string>>) =>
  (request: ModelRequest): ScriptedReply => {
    const [, answer = 'nothing fits'] = Object.entries(answers).find(([word]) => request.system.includes(word)) ?? [];
    return typeof answer === 'string' ? { text: answer } : answer;
  };

describe('runs that run others', () => {
  it('M56 a run inside another is in its slot and has its result; a chat agent runs one in its lane', async () => {
    const kernel = await savedKernel(
      [invoke('inner'), { text: 'inner says hi' }, { text: 'outer heard it' }, invoke('inner'), { text: 'again' }, { text: 'told' }],
      { files: HELPER },
    );
    await saveBoth(kernel);
    expect((await kernel.as('ada', 'run outer')).json).toMatchObject({ state: 'ok', output: 'outer heard it' });
    expect(JSON.stringify(kernel.model.requests[2]?.messages)).toContain('inner says hi');
    const runs = (await kernel.as('ada', 'runs list')).json as readonly { id: string; cause: string; parent: string | null }[];
    const of = (cause: string) => runs.find((run) => run.cause === cause);
    expect(of('composed')).toMatchObject({ parent: of('manual')?.id });
    const { text } = await kernel.pith.run('use it', { agent: 'helper', userId: 'ada' });
    expect(text).toBe('told');
    expect((await kernel.as('ada', 'runs list --limit 1')).json).toMatchObject([{ cause: 'tool', state: 'ok', output: 'again' }]);
  });

  it('M56 is executed by the process of a chat of one message, in which no service runs', async () => {
    const model = scriptedModel([]);
    const pith = await kernelOf({ model, files: HELPER });
    await pith.kernel.start('used');
    for (const skill of ['review-changes', 'daily-brief']) await pith.command(`saved expose ${skill} on`, { userId: 'local' });
    model.add(
      {
        calls: ['review-changes', 'daily-brief'].map((skill) => ({
          name: 'skill_invoke',
          input: { skill, inputs: skill === 'daily-brief' ? {} : { file: 'sandbox/agents/helper/manifest.yaml' } },
        })),
      },
      byPrompt({ '': 'done' }),
      byPrompt({ '': 'done' }),
      { text: 'both are done' },
    );
    const { text, results } = await pith.run('run them', { agent: 'helper', userId: 'ada' });
    expect(results.map(({ ok, output }) => [ok, output])).toEqual([
      [true, 'done'],
      [true, 'done'],
    ]);
    expect(text).toBe('both are done');
    model.add(invoke('daily-brief'), { text: 'once more' }, { text: 'heard' });
    expect((await pith.run('again', { agent: 'helper', userId: 'ada' })).text).toBe('heard');
  });

  it('M56 M58 calls of one step run one after the other, and so many in one run at most', async () => {
    let now = 0;
    let most = 0;
    const inner = async () => {
      most = Math.max(most, (now += 1));
      for (let turn = 0; turn < 50; turn += 1) await setImmediate();
      now -= 1;
      return { text: 'in' };
    };
    const kernel = await savedKernel([invoke('inner', 10), ...Array.from({ length: 8 }, () => inner), { text: 'out' }]);
    await saveBoth(kernel);
    expect((await kernel.as('ada', 'run outer')).json).toMatchObject({ state: 'ok', output: 'out' });
    expect(most).toBe(1);
    expect(JSON.stringify(kernel.model.requests.at(-1)?.messages).match(/limit_reached/g)).toHaveLength(2);
  });

  it('M58 calls side by side count with all others of their run', async () => {
    const inner = Array.from({ length: 7 }, () => ({ text: 'in' }));
    const two = invokeParallel('inner', 'inner');
    const kernel = await savedKernel([invoke('inner', 7), ...inner, two, invokeParallel('inner'), { text: 'in' }, { text: 'out' }]);
    await saveBoth(kernel, 'skill_invoke', 'skill_invoke_parallel');
    await kernel.as('admin', 'saved grant-parallel ada/outer');
    expect((await kernel.as('ada', 'run outer')).json).toMatchObject({ state: 'ok', output: 'out' });
    const all = (await kernel.as('ada', 'runs list --limit 100')).json as readonly { readonly cause: string }[];
    expect(all.filter(({ cause }) => cause === 'composed')).toHaveLength(8);
  });

  it('M56 M60 what has not begun when the run above is cancelled does not begin', async () => {
    const kernel = await savedKernel([invoke('inner', 3), { hang: true }]);
    await saveBoth(kernel);
    const { id } = (await kernel.as('ada', 'run outer --background')).json as { readonly id: string };
    await expect.poll(() => kernel.model.requests.length).toBe(2);
    await kernel.as('ada', `runs cancel ${id}`);
    const states = async () =>
      ((await kernel.as('ada', 'runs list')).json as readonly { readonly state: string }[]).map(({ state }) => state);
    await expect.poll(states).toEqual(['cancelled', 'cancelled']);
  });

  it('M60 calls count one by one where a server gives them the same id in each step', async () => {
    const call = { calls: [{ name: 'list_saved_skills', input: {}, id: 'call_0' }] };
    const kernel = await savedKernel([call, call, call, { text: 'done' }]);
    await saveAs(kernel, 'ada', 'one', { ...PLAIN, tools: ['saved_skills/list_saved_skills'] });
    const { json } = await kernel.as('ada', 'run one');
    expect(json).toMatchObject({ state: 'ok', tool_calls: 3 });
  });

  it('M56 M57 M58 side by side only where it was granted, looked at with each call; results in order, one failure alone', async () => {
    const parallel = invokeParallel('one', 'missing', 'two');
    const either = byPrompt({ One: 'first', Two: 'second' });
    const kernel = await savedKernel([parallel, { text: 'not allowed then' }, parallel, either, either, { text: 'all' }]);
    await saveAs(kernel, 'ada', 'one', { system_prompt: 'One.' });
    await saveAs(kernel, 'ada', 'two', { system_prompt: 'Two.' });
    await saveAs(kernel, 'ada', 'outer', { system_prompt: 'Out.', tools: ['skill_invoke_parallel'] });
    await kernel.as('ada', 'run outer');
    expect(JSON.stringify(kernel.model.requests[1]?.messages)).toContain('not_allowed');
    expect(await kernel.as('ada', 'saved grant-parallel outer')).toMatchObject({ error: 'not_allowed' });
    await kernel.as('admin', 'saved grant-parallel ada/outer');
    expect((await kernel.as('ada', 'run outer')).json).toMatchObject({ state: 'ok', output: 'all' });
    const sent = JSON.stringify(kernel.model.requests.at(-1)?.messages);
    expect(sent).toMatch(/first.*not_found.*second/u);
  });

  it('M63 M64 an agent says how urgent a run is, within what its user may', async () => {
    const call = (priority: number) => ({ calls: [{ name: 'skill_invoke', input: { skill: 'inner', inputs: {}, priority } }] });
    const kernel = await savedKernel([call(3), { text: 'in' }, { text: 'out' }, call(9), { text: 'in' }, { text: 'out' }], {
      files: HELPER,
    });
    await saveAs(kernel, 'ada', 'inner', { ...EXPOSED, default_priority: 1 });
    for (const threadId of ['one', 'two']) await kernel.pith.run('go', { agent: 'helper', userId: 'ada', threadId });
    const runs = (await kernel.as('ada', 'runs list')).json as readonly { priority: number }[];
    expect(runs.map(({ priority }) => priority)).toEqual([5, 3]);
  });

  it('M23 a turn in a conversation with the name of a run is not that run: it reads nothing that the skill keeps, and runs nothing in it', async () => {
    const set = { calls: [{ name: 'skill_data_set', input: { name: 'k', content: 'ADAS-SECRET' } }] };
    const get = { calls: [{ name: 'skill_data_get', input: { name: 'k' } }] };
    const kernel = await savedKernel([set, { text: 'kept' }, get, invoke('own'), { text: 'told' }, get, { text: 'known' }], {
      only: ['skill_vault'],
      files: { 'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [skill_vault, saved_skills] }\n' },
    });
    await saveAs(kernel, 'ada', 'memo', { ...PLAIN, tools: ['skill_data_set', 'skill_data_get'] });
    await saveAs(kernel, 'eve', 'own', PLAIN);
    const { id } = (await kernel.as('ada', 'run memo')).json as { id: string };
    expect((await kernel.pith.run('tell me', { agent: 'helper', userId: 'eve', threadId: `runs/${id}` })).text).toBe('told');
    const sent = JSON.stringify(kernel.model.requests.at(-1)?.messages);
    expect(sent.match(/no_run/gu)).toHaveLength(2);
    expect((await kernel.as('eve', 'runs list')).json).toEqual([]);
    expect((await kernel.as('ada', 'run memo')).json).toMatchObject({ output: 'known' });
    expect(JSON.stringify(kernel.model.requests.at(-1)?.messages)).toContain('ADAS-SECRET');
  });

  it('M58 are so deep at most', async () => {
    const kernel = await savedKernel([invoke('self'), invoke('self'), { text: 'too deep' }, { text: 'back' }], {
      files: { 'pith.yaml': 'admins: [admin]\nextensions: { saved_skills: { max_depth: 1 } }\n' },
    });
    await saveAs(kernel, 'ada', 'self', { ...PLAIN, tools: ['skill_invoke'] });
    expect((await kernel.as('ada', 'run self')).json).toMatchObject({ state: 'ok', output: 'back' });
    expect(JSON.stringify(kernel.model.requests[2]?.messages)).toContain('1 deep at most');
  });
});

describe('exposed skills', () => {
  it('M52 M53 are tools with their inputs, for those who may run them, where their channel is', async () => {
    const call = { calls: [{ name: 'weather', input: { city: 'Rome' } }] };
    const kernel = await savedKernel([call, { text: 'sunny' }, { text: 'It is sunny.' }, { text: 'none' }, { text: 'none' }], {
      files: HELPER,
    });
    const input_schema = [{ name: 'city', required: true, description: 'Where' }];
    await saveAs(kernel, 'ada', 'weather', {
      ...PLAIN,
      description: 'Says the weather',
      input_schema,
      initial_message: 'Weather of {{ city }}',
    });
    await kernel.as('ada', 'saved expose weather on --channel cli');
    const turn = (userId: string, channelId: string) =>
      kernel.pith.run('weather?', { agent: 'helper', userId, channelId, threadId: `${userId}-${channelId}` });
    expect((await turn('ada', 'cli')).text).toBe('It is sunny.');
    const tool = kernel.model.requests[0]?.tools.find(({ name }) => name === 'weather');
    expect(tool).toMatchObject({
      description: 'Says the weather',
      inputSchema: { properties: { city: { type: 'string' } }, required: ['city'] },
    });
    expect(JSON.stringify(kernel.model.requests[1]?.messages)).toContain('Weather of Rome');
    await turn('bob', 'cli');
    await turn('ada', 'web');
    for (const request of kernel.model.requests.slice(-2)) expect(request.tools.map(({ name }) => name)).not.toContain('weather');
  });
});

describe('runs that nobody waits for', () => {
  it('M48 M49 M50 M88 each tick runs once as the owner, missed ones are one; a run by hand leaves the timetable alone', async () => {
    const base = fakeClock(Date.parse('2026-03-01T08:59:50Z'));
    let away = 0;
    const clock = { ...base, now: () => base.now() + away };
    const kernel = await savedKernel([{ text: 'by hand' }, { text: 'scheduled' }], { clock });
    await saveAs(kernel, 'ada', 'report', PLAIN);
    expect((await kernel.as('ada', ['saved', 'schedule', 'report', '0 9 * * *', '--time-zone', 'UTC'])).json).toMatchObject({
      next_run_at: Date.parse('2026-03-01T09:00:00Z'),
    });
    await passed(clock, kernel.as('ada', 'run report'), 100);
    expect((await kernel.as('ada', 'saved show report')).json).toMatchObject({
      next_run_at: Date.parse('2026-03-01T09:00:00Z'),
      last_scheduled_run_at: null,
    });
    away = 3 * DAY; // nothing ran meanwhile
    const scheduled = async () =>
      ((await kernel.as('ada', 'runs list')).json as readonly { cause: string; state: string; user: string }[]).filter(
        ({ cause }) => cause === 'schedule',
      );
    await expect
      .poll(async () => {
        await clock.advance(500);
        return (await scheduled()).map(({ state, user }) => ({ state, user }));
      })
      .toEqual([{ state: 'ok', user: 'ada' }]);
    const { next_run_at: next } = (await kernel.as('ada', 'saved show report')).json as { next_run_at: number };
    expect(next).toBeGreaterThan(clock.now());
    expect((await kernel.as('ada', 'saved schedule report off')).json).toMatchObject({ schedule: null, next_run_at: null });
  });

  it('M46 a failed delivery is an error of the delivery: the run stays ok, and it is tried again', async () => {
    const channel = {
      ...manifest('pager', { provides: ['channel'], isolation: 'in_process' }),
      ...main(
        'pager',
        `kinds = ['pager']; #tries = 0;
         async deliver(message, target) { if ((this.#tries += 1) === 1) throw new Error('nobody answers'); globalThis.paged = { message, target }; return 'p1'; }`,
      ),
    };
    const clock = fakeClock();
    const settings = { 'pith.yaml': 'extensions: { saved_skills: { summary_channel_id: "pigeon:ada" } }\n' };
    const kernel = await savedKernel([{ text: 'the report' }], { files: { ...channel, ...settings }, clock });
    await saveAs(kernel, 'ada', 'report', { ...PLAIN, output_target: { kind: 'channel', target: 'pager:ada' } });
    const state = async () => {
      await clock.advance(500);
      return (
        (await kernel.as('ada', 'runs list')).json as readonly { state: string; delivery: string; delivery_error: string | null }[]
      )[0];
    };
    await kernel.as('ada', 'run report --background');
    await expect.poll(state).toMatchObject({ state: 'ok', delivery: 'waiting', delivery_error: 'nobody answers' });
    await expect.poll(state).toMatchObject({ state: 'ok', delivery: 'delivered' });
    const { paged } = globalThis as { paged?: { message: { text: string }; target: string } };
    expect(paged).toMatchObject({ message: { text: 'ada/report: the report' }, target: 'pager:ada' });
    kernel.model.add({ text: 'lost' });
    await editAs(kernel, 'ada', 'report', { output_target: { kind: 'channel_with_summary', target: 'pager:ada' } });
    await kernel.as('ada', 'run report --background');
    await expect.poll(state).toMatchObject({
      state: 'ok',
      delivery: 'failed',
      delivery_error: expect.stringContaining("no channel here delivers to 'pigeon'; channels deliver to "),
    });
  });

  it('G6 M43 a run tells its result to the conversation that __thread_id__ names, also where somebody waits for it', async () => {
    const told: object[] = [];
    const kernel = await savedKernel([{ text: 'the report' }], {
      onKernel: (events) => void events.handle('notify', (notice) => void told.push(notice)),
    });
    await saveAs(kernel, 'ada', 'report', { ...PLAIN, output_target: { kind: 'thread', target: '' } });
    expect(await kernel.as('ada', 'run report --input __thread_id__=talk')).toMatchObject({ error: null });
    await expect
      .poll(() => told)
      .toMatchObject([{ threadId: 'talk', userId: 'ada', text: 'ada/report: the report', about: { kind: 'run', id: expect.any(String) } }]);
  });

  it('M90 update_status is the line of the run; a cancelled run ends, and one that waits never begins', async () => {
    const status = { calls: [{ name: 'update_status', input: { text: 'reading' } }] };
    const kernel = await savedKernel([status, { text: '', hang: true }], { files: lanes(1) });
    await saveAs(kernel, 'ada', 'slow', PLAIN);
    const first = (await kernel.as('ada', 'run slow --background')).json as { id: string };
    const second = (await kernel.as('ada', 'run slow --background')).json as { id: string };
    await expect
      .poll(async () => (await kernel.as('ada', `runs show ${first.id}`)).json)
      .toMatchObject({ state: 'running', status: 'reading' });
    expect(await kernel.as('bob', `runs cancel ${first.id}`)).toMatchObject({ error: 'not_found' });
    expect((await kernel.as('ada', `runs cancel ${second.id}`)).code).toBe(0);
    expect((await kernel.as('ada', `runs show ${second.id}`)).json).toMatchObject({ state: 'cancelled', started_at: null });
    await kernel.as('ada', `runs cancel ${first.id}`);
    await expect.poll(async () => (await kernel.as('ada', `runs show ${first.id}`)).json).toMatchObject({ state: 'cancelled' });
    expect(await kernel.as('ada', `runs cancel ${first.id}`)).toMatchObject({ error: 'run_ended' });
  });
});
