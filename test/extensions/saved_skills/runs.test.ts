import path from 'node:path';
import { fakeClock, type ScriptedReply } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { passing } from '../../waiting.ts';
import { editAs, saveAs, savedKernel } from './saved-kernel.ts';
import { rowsIn } from './shared-store.ts';

const GREET = {
  description: 'Greets',
  system_prompt: 'You greet people.',
  initial_message: 'Greet {{ who }} {{ times }} times.',
  input_schema: [
    { name: 'who', required: true },
    { name: 'times', type: 'int', default: 1 },
  ],
};

describe('a saved skill', () => {
  it('M89 M38 runs with its inputs, positional, as flags and by --input: the model is sent its text and message', async () => {
    const kernel = await savedKernel([{ text: 'Hello Ada.' }, { text: 'Hello Bob.' }, { text: 'Hello Cyd.' }]);
    expect(await saveAs(kernel, 'ada', 'greet', GREET)).toMatchObject({
      code: 0,
      json: { name: 'greet', owner_id: 'ada', version: '1.0.0' },
    });
    const first = await kernel.as('ada', 'run greet Ada 2');
    expect(first).toMatchObject({ code: 0, json: { state: 'ok', output: 'Hello Ada.', inputs: { who: 'Ada', times: 2 }, steps: 1 } });
    expect(kernel.model.requests[0]?.system).toContain('You greet people.');
    expect(JSON.stringify(kernel.model.requests[0]?.messages)).toContain('Greet Ada 2 times.');
    expect((await kernel.as('ada', 'run greet --who Bob')).json).toMatchObject({ inputs: { who: 'Bob', times: 1 } });
    expect((await kernel.as('ada', 'run greet --input who=Cyd')).json).toMatchObject({ inputs: { who: 'Cyd', times: 1 } });
  });

  it('M36 M39 wrong inputs, options and names of files are refused before anything is queued', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'greet', { ...GREET, input_schema: [...GREET.input_schema, { name: 'why', required: true }] });
    expect(await kernel.as('ada', 'run greet')).toMatchObject({ error: 'input_invalid', message: "'who', 'why' are missing" });
    expect(await kernel.as('ada', 'run greet --whom Bob')).toMatchObject({
      error: 'usage',
      message: "unknown option '--whom' (did you mean '--who' or '--why'?)",
    });
    expect(await kernel.as('ada', 'run greet --input whom=Bob')).toMatchObject({
      error: 'input_invalid',
      message: expect.stringContaining("there is no input 'whom' (did you mean 'who' or 'why'?)"),
    });
    await saveAs(kernel, 'ada', 'review', { system_prompt: 'x', input_schema: [{ name: 'file', type: 'file', required: true }] });
    for (const file of ['sandbox/files/gone.yml', 'sandbox/files', '../x', '/etc/hostname'])
      expect(await kernel.as('ada', ['run', 'review', file])).toMatchObject({
        error: 'input_invalid',
        message: `input 'file': there is no file '${file}' in the project`,
      });
    for (const [line, message] of [
      ['run greet Ada --who Bob', "the input 'who' is given twice"],
      ['run greet --input who=Ada --input who=Bob', "the input 'who' is given twice"],
      ['run greet --input who', "wrong use of --input: 'who' has no name"],
    ] as const)
      expect(await kernel.as('ada', line)).toMatchObject({ error: 'usage', message });
    expect((await kernel.as('ada', 'runs list')).json).toEqual([]);
  });

  it('M9 M10 M11 M12 others run the pinned version, the owner the draft; without a pin nobody else', async () => {
    const kernel = await savedKernel([{ text: 'one' }, { text: 'two' }, { text: 'three' }]);
    await saveAs(kernel, 'ada', 'greet', { system_prompt: 'First text.' });
    expect(await kernel.as('bob', 'run ada/greet')).toMatchObject({ error: 'not_found' });
    await kernel.as('ada', 'saved share greet public');
    expect(await kernel.as('bob', 'run ada/greet')).toMatchObject({ error: 'not_pinned' });
    expect(await kernel.as('ada', 'saved pin greet')).toMatchObject({ error: 'not_allowed' });
    expect(await kernel.as('admin', 'saved pin ada/greet')).toMatchObject({ code: 0, json: { pinned_by: 'admin' } });
    expect(await editAs(kernel, 'ada', 'greet', { system_prompt: 'Second text.' })).toMatchObject({ code: 0, json: { version: '1.0.1' } });
    expect((await kernel.as('bob', 'run ada/greet')).json).toMatchObject({ state: 'ok', version: '1.0.0' });
    expect((await kernel.as('ada', 'run greet')).json).toMatchObject({ state: 'ok', version: '1.0.1' });
    expect((await kernel.as('admin', 'run ada/greet')).json).toMatchObject({ state: 'ok', version: '1.0.0' });
    const texts = kernel.model.requests.map((request) => JSON.stringify(request));
    expect(texts.map((text) => text.includes('First text.'))).toEqual([true, false, true]);
    expect(await kernel.as('admin', 'saved unpin ada/greet')).toMatchObject({
      json: { pinned_version_id: null, pinned_at: null, pinned_by: null },
    });
    expect(await kernel.as('bob', 'run ada/greet')).toMatchObject({ error: 'not_pinned' });
    expect(await kernel.as('admin', ['saved', 'pin', 'ada/greet', '9.9.9'])).toMatchObject({ error: 'version_unknown' });
    await saveAs(kernel, 'ada', 'other', { system_prompt: 'Other.' });
    const [foreign] = (await kernel.as('ada', 'saved versions other')).json as readonly { id: string }[];
    expect(await kernel.as('admin', ['saved', 'pin', 'ada/greet', foreign?.id ?? ''])).toMatchObject({ error: 'version_unknown' });
  });

  it('M10 a pinned version whose row is gone runs for nobody: no draft takes its place', async () => {
    const kernel = await savedKernel([{ text: 'the draft' }]);
    await saveAs(kernel, 'ada', 'greet', { system_prompt: 'First text.', visibility: 'public' });
    await kernel.as('admin', 'saved pin ada/greet');
    await editAs(kernel, 'ada', 'greet', { system_prompt: 'Second text.' });
    rowsIn(
      path.join(kernel.pith.sandbox, 'data/pith.db'),
      "DELETE FROM saved_skills__versions WHERE version = '1.0.0' AND authored_by = 'ada' RETURNING id",
    );
    for (const user of ['bob', 'admin'])
      expect(await kernel.as(user, 'run ada/greet')).toMatchObject({
        error: 'version_unknown',
        message: "'ada/greet' has lost the version that is pinned",
      });
    expect((await kernel.as('ada', 'run greet')).json).toMatchObject({ state: 'ok', version: '1.0.1' });
  });

  it("M23 runs list shows a user's newest runs, however many others have since", async () => {
    const kernel = await savedKernel(Array.from({ length: 4 }, () => ({ text: 'x' })));
    await saveAs(kernel, 'ada', 'a', { system_prompt: 'A.' });
    await saveAs(kernel, 'bob', 'b', { system_prompt: 'B.' });
    await kernel.as('bob', 'run b');
    for (let count = 0; count < 3; count += 1) await kernel.as('ada', 'run a');
    const skills = async (user: string) =>
      ((await kernel.as(user, 'runs list --limit 2')).json as readonly { skill: string }[]).map(({ skill }) => skill);
    expect(await skills('bob')).toEqual(['bob/b']);
    expect(await skills('ada')).toEqual(['ada/a', 'ada/a']);
    const none = { error: 'usage', message: '--limit must be a whole number from 1, not 0' };
    expect(await kernel.as('ada', 'runs list --limit 0')).toMatchObject(none);
    expect(await skills('admin')).toEqual(['ada/a', 'ada/a']);
  });

  it('M10 P8 others run the pinned version with the skills as they were then, also after a restart; the owner has the present ones', async () => {
    const kernel = await savedKernel([{ text: 'one' }, { text: 'two' }, { text: 'three' }]);
    const text = (mark: string) => `---\nname: house-style\ndescription: How we write.\n---\nSTYLE ${mark}\n`;
    const STYLE = 'skills/house-style/SKILL.md';
    const WRITE = { system_prompt: 'Write.', uses_skills: ['house-style'] };
    expect(await saveAs(kernel, 'ada', 'write', WRITE)).toMatchObject({ error: 'skill_not_found' });
    await kernel.pith.write(STYLE, text('then'));
    await kernel.restart();
    expect(await saveAs(kernel, 'ada', 'write', WRITE)).toMatchObject({ code: 0 });
    await kernel.as('ada', 'saved share write public');
    expect(await kernel.as('admin', 'saved pin ada/write')).toMatchObject({ code: 0 });
    await kernel.pith.write(STYLE, text('now'));
    await kernel.restart();
    expect((await kernel.as('bob', 'run ada/write')).json).toMatchObject({ state: 'ok', version: '1.0.0', pinned: true });
    expect((await kernel.as('ada', 'run write')).json).toMatchObject({ state: 'ok', version: '1.0.0', pinned: false });
    expect((await kernel.as('admin', 'run ada/write --draft')).json).toMatchObject({ state: 'ok', pinned: false });
    expect(kernel.model.requests.map(({ system }) => /STYLE (\w+)/.exec(system ?? '')?.[1])).toEqual(['then', 'now', 'now']);
  });

  it('M30 ends at its time, in which its final turn is, too', async () => {
    const clock = fakeClock();
    const list = { calls: [{ name: 'list_saved_skills', input: {} }] };
    const after = (seconds: number, step: ScriptedReply) => async () => {
      await clock.sleep(seconds * 1000);
      return step;
    };
    const kernel = await savedKernel([after(100, { text: 'late' }), list, after(50, list), after(50, { text: 'late' })], { clock });
    await saveAs(kernel, 'ada', 'slow', { system_prompt: 'x' });
    await saveAs(kernel, 'ada', 'calls', { system_prompt: 'x', tools: ['list_saved_skills'], max_tool_calls: 1 });
    for (const name of ['slow', 'calls']) {
      const { id } = (await kernel.as('ada', `run ${name} --background`)).json as { readonly id: string };
      const run = async () => (await kernel.as('ada', `runs show ${id}`)).json as { readonly state: string; readonly started_at: number };
      await passing(clock, async () => (await run()).state === 'timeout', 5000);
      expect(clock.now() - (await run()).started_at).toBeLessThan(75_000);
      expect(await run()).toMatchObject({ error: { message: expect.stringContaining('stopped at max_runtime (60s) of') } });
    }
  });

  it('M30 ends at its iterations with the last text, and at its tool calls with one final turn', async () => {
    const list = { calls: [{ name: 'list_saved_skills', input: {} }] };
    const kernel = await savedKernel([{ ...list, text: 'so far' }, list, list, { text: 'with what I have' }]);
    await saveAs(kernel, 'ada', 'loop', { system_prompt: 'x', tools: ['list_saved_skills'], max_iterations: 1 });
    expect((await kernel.as('ada', 'run loop')).json).toMatchObject({
      state: 'max_iterations',
      output: 'so far',
      error: { message: "stopped at max_iterations (1) of 'ada/loop'; raise it, or ask for less" },
    });
    await saveAs(kernel, 'ada', 'calls', { system_prompt: 'x', tools: ['saved_skills/list_saved_skills'], max_tool_calls: 1 });
    expect((await kernel.as('ada', 'run calls')).json).toMatchObject({ state: 'ok', output: 'with what I have' });
    expect(JSON.stringify(kernel.model.requests.at(-1))).toContain('tool_budget_exhausted');
  });
});
