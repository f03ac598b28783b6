import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { scriptedModel } from 'pith/testing';
import { answerFirst } from '../../answers.ts';
import { main, manifest } from '../../core/process/extension.ts';
import { kernelOf } from '../../places.ts';
import { until } from '../../waiting.ts';
import { saveAs, savedKernel } from './saved-kernel.ts';
import { rowsIn } from './shared-store.ts';

const PAY = `getTools() { return [defineTool({ name: 'pay', description: 'd', input: z.object({}), effect: 'write', permission: { authoring: 'anyone' }, needsApproval: true, execute: () => { globalThis.paid += 1; return 'paid'; } })]; }`;
const paying = (body: string) => ({ ...manifest('asks', { provides: ['tool'], isolation: 'in_process' }), ...main('asks', body) });

describe('runs that ask a person', () => {
  it.each([
    ['once', 'done', 1],
    ['no', 'I may not', 0],
  ] as const)(
    'M60 U13 a run waits without a slot until a person answers (%s), also over a restart, then goes on',
    async (answer, text, times) => {
      const paid = globalThis as { paid?: number };
      paid.paid = 0;
      const slots = 'admins: [admin]\nextensions: { saved_skills: { lanes: { skill-default: { slots: 1 } } } }\n';
      const script = [{ calls: [{ name: 'pay', input: {} }] }, { text: 'other' }, { text }];
      const kernel = await savedKernel(script, { files: { ...paying(PAY), 'pith.yaml': slots } });
      expect(await saveAs(kernel, 'ada', 'buy', { system_prompt: 'You buy.', tools: ['asks/pay'] })).toMatchObject({ code: 0 });
      await saveAs(kernel, 'ada', 'talk', { system_prompt: 'You talk.' });
      const { json } = await kernel.as('ada', 'run buy --background');
      const id = (json as { readonly id: string }).id;
      const state = async () => ((await kernel.as('ada', `runs show ${id}`)).json as { readonly state: string }).state;
      await expect.poll(state).toBe('waiting');
      expect((await kernel.as('ada', 'run talk')).json).toMatchObject({ state: 'ok', output: 'other' });
      await kernel.restart();
      expect(await state()).toBe('waiting');
      await answerFirst(kernel.pith, answer);
      await expect.poll(state).toBe('ok');
      expect((await kernel.as('ada', `runs show ${id}`)).json).toMatchObject({ output: text });
      expect(paid.paid).toBe(times);
    },
  );

  it('J1 M60 an answer to another question lets a run wait again for its own', async () => {
    const paid = globalThis as { paid?: number };
    paid.paid = 0;
    const kernel = await savedKernel([{ calls: [{ name: 'pay', input: {} }] }, { text: 'paid' }], { files: paying(PAY) });
    await saveAs(kernel, 'ada', 'buy', { system_prompt: 'You buy.', tools: ['asks/pay'] });
    const { id } = (await kernel.as('ada', 'run buy --background')).json as { readonly id: string };
    const shown = async () => (await kernel.as('ada', `runs show ${id}`)).json as Readonly<Record<string, unknown>>;
    await expect.poll(shown).toMatchObject({ state: 'waiting', attempt: 1 });
    const { approvals, jobs } = kernel.pith.kernel;
    const open = await approvals.list();
    const [job] = await jobs.store.list({ names: ['saved_skills.run'], limit: 1 });
    await jobs.store.resume(job!.id, 'null');
    jobs.wake();
    await expect.poll(shown).toMatchObject({ state: 'waiting', attempt: 2 });
    expect([await approvals.list(), paid.paid]).toEqual([open, 0]);
    await answerFirst(kernel.pith, 'once');
    await expect.poll(shown).toMatchObject({ state: 'ok', output: 'paid' });
    expect(paid.paid).toBe(1);
  });

  it('M60 C5 an answer to its second question, while what the first one allowed is under way, is not lost', async () => {
    const state = globalThis as { payBegan?: number; payEnd?: () => void };
    state.payBegan = 0;
    const pay = `getTools() { return [defineTool({ name: 'pay', description: 'd', input: z.object({ n: z.number() }), effect: 'read', needsApproval: true, execute: async ({ n }) => { globalThis.payBegan += 1; if (n === 1) await new Promise((resolve) => (globalThis.payEnd = resolve)); return 'paid'; } })]; }`;
    const two = [1, 2].map((n) => ({ name: 'pay', input: { n } }));
    const kernel = await savedKernel([{ calls: two }, { text: 'both paid' }], { files: paying(pay) });
    await saveAs(kernel, 'ada', 'buy', { system_prompt: 'You buy.', tools: ['asks/pay'] });
    const { id } = (await kernel.as('ada', 'run buy --background')).json as { readonly id: string };
    const shown = async () => (await kernel.as('ada', `runs show ${id}`)).json as Readonly<Record<string, unknown>>;
    await expect.poll(shown).toMatchObject({ state: 'waiting' });
    const { approvals } = kernel.pith.kernel;
    const open = await approvals.list();
    const first = open.find(({ input }) => JSON.stringify(input).includes('1'))!;
    await approvals.answer(first.id, { answer: 'once', by: 'ada' });
    await until(() => state.payBegan === 1);
    await approvals.answer(open.find(({ id: other }) => other !== first.id)!.id, { answer: 'once', by: 'ada' });
    const file = path.join(kernel.pith.sandbox, 'data/pith.db');
    await until(() => rowsIn(file, "SELECT 1 FROM jobs WHERE name = 'saved_skills.run' AND early IS NOT NULL").length === 1);
    state.payEnd!();
    await expect.poll(shown).toMatchObject({ state: 'ok', output: 'both paid', tool_calls: 2 });
    expect(state.payBegan).toBe(2);
  });
});

describe('the off switch', () => {
  const chat = async (settings: string) => {
    const model = scriptedModel([{ text: 'hello' }]);
    const files = { 'pith.yaml': settings, 'skills/plain/SKILL.md': '---\nname: plain\ndescription: Plain.\n---\nText.\n' };
    const pith = await kernelOf({ model, files });
    await pith.kernel.start();
    const { text, reason } = await pith.run('hi');
    const { messages, tools, ...request } = model.requests[0]!;
    const system = request.system.replaceAll(path.dirname(pith.sandbox), ''); // each has a folder of its own
    const commands = pith.kernel.host.providers.commands.declared().map(({ path }) => path);
    const own = /^(?:list_saved_skills|skill_invoke(?:_parallel)?|find_tools)$/; // what can be found names those
    return { answer: { text, reason, system, messages, tools: tools.filter(({ name }) => !own.test(name)) }, commands };
  };

  it('without the extension nothing else changes: the same request to the model but for its tools, and all other commands', async () => {
    const without = await chat('extensions: { saved_skills: { enabled: false } }\n');
    const usual = await chat('');
    expect(without.answer).toEqual(usual.answer);
    const own = /^(?:saved|run|runs)(?: |$)/;
    const others = (paths: readonly string[]) => paths.filter((path) => !own.test(path)).sort();
    expect(others(without.commands)).toEqual(others(usual.commands));
    expect(without.commands.some((path) => own.test(path))).toBe(false);
    expect(usual.commands.some((path) => own.test(path))).toBe(true);
  });
});
