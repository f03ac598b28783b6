import { readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { main, manifest } from '../../core/process/extension.ts';
import { until } from '../../waiting.ts';
import { HELPER, saveAs, savedKernel } from './saved-kernel.ts';

/** Reactions by the message that has them. */
const shown: [message: string, emoji: string][] = [];
beforeEach(() => void shown.splice(0));
(globalThis as { reacted?: unknown }).reacted = shown;

const FILES = {
  ...manifest('pager', { provides: ['channel'], isolation: 'in_process' }),
  ...main(
    'pager',
    `kinds = ['pager'];
     async deliver() { return 'p1'; }
     async react(message, emoji) {
       if (emoji === 'broken') throw new Error('the pager knows no such emoji');
       globalThis.reacted.push([message, emoji]);
     }`,
  ),
  ...manifest('asks', { provides: ['tool'], isolation: 'in_process' }),
  ...main(
    'asks',
    `getTools() { return [defineTool({ name: 'pay', description: 'd', input: z.object({}), effect: 'write', permission: { authoring: 'anyone' }, needsApproval: true, execute: () => 'paid' })]; }`,
  ),
  ...HELPER,
  'agents/buyer/manifest.yaml': 'id: buyer\nagent: { uses_tools: [asks, saved_skills] }\n',
};
const EXPOSED = { expose_as_chatbot_tool: true };
const FROM_PAGER = { agent: 'helper', userId: 'ada', channelId: 'pager', messageId: 'm1' };
const invoke = (skill: string) => ({ calls: [{ name: 'skill_invoke', input: { skill, inputs: {} } }] });
const status = { calls: [{ name: 'update_status', input: { text: 'reading' } }] };
const states = (prefix: string) => ({
  __start__: `${prefix} start`,
  __end__: `${prefix} end`,
  __error__: `${prefix} error`,
  update_status: `${prefix} tool`,
  skill_invoke: `${prefix} calls`,
});

describe('reactions', () => {
  it('M85 start, tools and end are on the message of the turn that called the skill, the same one once', async () => {
    const kernel = await savedKernel([invoke('report'), status, status, { text: 'the report' }, { text: 'heard it' }], { files: FILES });
    await saveAs(kernel, 'ada', 'report', { ...EXPOSED, system_prompt: 'You report.', state_react_emoji: states('report') });
    expect((await kernel.pith.run('report!', FROM_PAGER)).text).toBe('heard it');
    const all = [
      ['m1', 'report start'],
      ['m1', 'report tool'],
      ['m1', 'report end'],
    ];
    await until(() => shown.length >= all.length);
    expect(shown).toEqual(all);
  });

  it('M85 a run that waited for a person shows and counts nothing again', async () => {
    const pay = { calls: [{ name: 'pay', input: {} }] };
    const kernel = await savedKernel([invoke('buy'), pay, { text: 'asked' }, { text: 'bought' }], { files: FILES });
    await saveAs(kernel, 'ada', 'buy', {
      ...EXPOSED,
      system_prompt: 'You buy.',
      tools: ['asks/pay'],
      state_react_emoji: { __start__: 'sun', pay: 'coin' },
    });
    await kernel.pith.run('buy', FROM_PAGER);
    const [open] = await kernel.pith.kernel.approvals.list();
    await kernel.pith.kernel.approvals.answer(open!.id, { answer: 'once', by: 'ada' });
    const runs = async () => (await kernel.as('ada', 'runs list')).json as unknown as readonly { readonly id: string }[];
    await expect.poll(runs).toMatchObject([{ state: 'ok', tool_calls: 1 }]);
    const { json } = await kernel.as('ada', `runs show ${(await runs())[0]!.id}`);
    expect(json).toMatchObject({ history: [{ what: expect.stringContaining('pay') }] });
    await until(() => shown.length >= 2);
    expect(shown).toEqual([
      ['m1', 'sun'],
      ['m1', 'coin'],
    ]);
  });

  it('M85 M86 a failed run has the emoji of errors, and the default emoji is that of the start alone', async () => {
    const failing = { error: { code: 'model_failed', message: 'no answer' } };
    const kernel = await savedKernel(
      [invoke('report'), failing, { text: 'it failed' }, invoke('plain'), status, { text: 'one' }, { text: 'two' }],
      { files: FILES },
    );
    await saveAs(kernel, 'ada', 'report', {
      ...EXPOSED,
      system_prompt: 'You report.',
      default_emoji: 'hello',
      state_react_emoji: { __error__: 'oops' },
    });
    await saveAs(kernel, 'ada', 'plain', { ...EXPOSED, system_prompt: 'You help.', default_emoji: 'hello' });
    await kernel.pith.run('report!', FROM_PAGER);
    await until(() => shown.length >= 2);
    await kernel.pith.run('help!', { ...FROM_PAGER, messageId: 'm2' });
    await until(() => shown.length >= 3);
    expect(shown).toEqual([
      ['m1', 'hello'],
      ['m1', 'oops'],
      ['m2', 'hello'],
    ]);
  });

  it('M86 a reaction that fails is logged and changes nothing, and the next one is shown', async () => {
    const kernel = await savedKernel([invoke('report'), { text: 'the report' }, { text: 'heard it' }], { files: FILES });
    await saveAs(kernel, 'ada', 'report', {
      ...EXPOSED,
      system_prompt: 'You report.',
      state_react_emoji: { __start__: 'broken', __end__: 'done' },
    });
    expect((await kernel.pith.run('report!', FROM_PAGER)).text).toBe('heard it');
    await until(() => shown.length > 0);
    expect(shown).toEqual([['m1', 'done']]);
    expect((await kernel.as('ada', 'runs list')).json).toMatchObject([{ state: 'ok', output: 'the report' }]);
    const log = await until(async () => {
      const text = await readFile(`${kernel.pith.sandbox}/data/logs/pith.log`, 'utf8');
      return text.includes('a reaction was not shown') && text;
    });
    expect(log).toContain('the pager knows no such emoji');
  });

  it('M87 what a run composes reacts to the message of the run above it', async () => {
    const kernel = await savedKernel(
      [invoke('outer'), invoke('inner'), status, { text: 'inner says hi' }, { text: 'outer heard it' }, { text: 'heard both' }],
      { files: FILES },
    );
    await saveAs(kernel, 'ada', 'inner', { system_prompt: 'In.', state_react_emoji: states('inner') });
    await saveAs(kernel, 'ada', 'outer', {
      ...EXPOSED,
      system_prompt: 'Out.',
      tools: ['skill_invoke'],
      state_react_emoji: states('outer'),
    });
    expect((await kernel.pith.run('go', FROM_PAGER)).text).toBe('heard both');
    await until(() => shown.length >= 6);
    expect(shown.map(([message]) => message)).toEqual(Array.from({ length: 6 }, () => 'm1'));
    const of = (prefix: string) => shown.map(([, emoji]) => emoji).filter((emoji) => emoji.startsWith(prefix));
    expect(of('outer')).toEqual(['outer start', 'outer calls', 'outer end']);
    expect(of('inner')).toEqual(['inner start', 'inner tool', 'inner end']);
  });

  it('M85 an exposed skill reacts too, also in a turn that goes on after a question; a message without a name has no reactions', async () => {
    const pay = { calls: [{ name: 'pay', input: {} }] };
    const call = { calls: [{ name: 'weather', input: {} }] };
    const kernel = await savedKernel(
      [pay, call, { text: 'sunny' }, { text: 'paid, and sunny' }, invoke('weather'), { text: 'wet' }, { text: 'none' }],
      { files: FILES },
    );
    await saveAs(kernel, 'ada', 'weather', { system_prompt: 'You say the weather.', default_emoji: 'sun' });
    await kernel.as('ada', 'saved expose weather on');
    expect((await kernel.pith.run('pay, then weather', { ...FROM_PAGER, agent: 'buyer' })).reason).toBe('awaiting_approval');
    await kernel.pith.restart();
    await kernel.pith.kernel.start();
    const [question] = await kernel.pith.kernel.approvals.list();
    await kernel.pith.kernel.approvals.answer(question?.id ?? '', { answer: 'once', by: 'ada' });
    const { text } = await kernel.pith.run('', { agent: 'buyer', userId: 'ada', resume: true });
    expect(text).toBe('paid, and sunny');
    await until(() => shown.length > 0);
    const { messageId: _, ...unnamed } = FROM_PAGER;
    expect((await kernel.pith.run('weather?', unnamed)).text).toBe('none');
    expect(shown).toEqual([['m1', 'sun']]);
  });
});
