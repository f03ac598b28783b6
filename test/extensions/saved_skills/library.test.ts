import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { manifest, main } from '../../core/process/extension.ts';
import { kernelOf } from '../../places.ts';
import { editAs, saveAs, savedKernel, WITH_BUILTINS, WITH_WEBHOOKS } from './saved-kernel.ts';
import { rowsIn } from './shared-store.ts';

const PLAIN = { system_prompt: 'You help.' };

/** Tools that ask something of the skills that name them. */
const GUARDED = {
  ...manifest('guarded', { provides: ['tool'] }),
  ...main(
    'guarded',
    `getTools() { const tool = (name, permission, effect = 'read') => defineTool({ name, description: 'd', input: z.object({}), effect, permission, execute: () => name });
       return [tool('for_admins', { authoring: 'admin' }), tool('keeps_private'), tool('may_write', undefined, 'write'),
         tool('for_one', { onlyForSkills: ['ada/chosen'] })]; }`,
  ),
};

describe('saving', () => {
  it('M2 a name is unique per owner; M3 a builtin has no owner, what people save has one', async () => {
    const kernel = await savedKernel();
    expect((await saveAs(kernel, 'ada', 'greet', PLAIN)).json).toMatchObject({ owner_id: 'ada', source: 'manual', authored_by: 'ada' });
    expect(await saveAs(kernel, 'ada', 'greet', PLAIN)).toMatchObject({ error: 'name_taken' });
    expect((await saveAs(kernel, 'bob', 'greet', PLAIN)).json).toMatchObject({ owner_id: 'bob' });
    const all = (await kernel.as('admin', 'saved list')).json as readonly { source: string; owner_id: string | null }[];
    expect(all.filter(({ source, owner_id }) => (source === 'builtin') !== (owner_id === null))).toEqual([]);
  });

  it('M4 M8 an edit by another sets the author, not the owner; each save is a version with its own id', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'greet', PLAIN);
    expect((await editAs(kernel, 'admin', 'ada/greet', { system_prompt: 'Other.' })).json).toMatchObject({
      owner_id: 'ada',
      authored_by: 'admin',
      version: '1.0.1',
    });
    const versions = (await kernel.as('ada', 'saved versions greet')).json as readonly { id: string; number: number }[];
    expect(versions.map(({ number }) => number)).toEqual([2, 1]);
    expect(new Set(versions.map(({ id }) => id)).size).toBe(2);
    expect(await editAs(kernel, 'bob', 'ada/greet', PLAIN)).toMatchObject({ error: 'not_found' });
  });

  it('M5 M23 a bare name is the own skill, then what ships, then the only other one; what one may not see is missing', async () => {
    const kernel = await savedKernel([], WITH_BUILTINS);
    for (const owner of ['ada', 'bob']) {
      await saveAs(kernel, owner, 'brief', PLAIN);
      await kernel.as(owner, 'saved share brief public');
    }
    await saveAs(kernel, 'ada', 'daily-brief', PLAIN);
    expect((await kernel.as('ada', 'saved show brief')).json).toMatchObject({ owner_id: 'ada' });
    expect((await kernel.as('ada', 'saved show daily-brief')).json).toMatchObject({ owner_id: 'ada' });
    expect((await kernel.as('bob', 'saved show daily-brief')).json).toMatchObject({ owner_id: null });
    expect(await kernel.as('cyd', 'saved show brief')).toMatchObject({
      error: 'ambiguous',
      message: expect.stringContaining('ada/brief, bob/brief'),
    });
    await kernel.as('bob', 'saved share brief private');
    expect((await kernel.as('cyd', 'saved show brief')).json).toMatchObject({ owner_id: 'ada' });
    const missing = await kernel.as('cyd', 'saved show bob/nothing');
    const hidden = await kernel.as('cyd', 'saved show bob/brief');
    expect({ ...hidden, message: hidden.message.replace(/ \(.*/, '') }).toEqual({
      ...missing,
      message: missing.message.replace('bob/nothing', 'bob/brief').replace(/ \(.*/, ''),
    });
  });

  it('M15 M16 M17 names all tools that the author may not name, by their own words or because they write, and those that are not there; administrators pass', async () => {
    const kernel = await savedKernel([], { ...WITH_BUILTINS, files: GUARDED });
    const tools = ['guarded/for_admins', 'list_saved_skills'];
    const refused = { ...PLAIN, tools: ['guarded/may_write', ...tools, 'shell'], visibility: 'public' };
    expect(await saveAs(kernel, 'ada', 'a', refused)).toMatchObject({
      error: 'tool_not_allowed',
      message: 'only administrators save skills with guarded/may_write, guarded/for_admins, project_tools/shell',
    });
    expect(await saveAs(kernel, 'ada', 'a', { ...PLAIN, tools: ['nothing', 'list_saved_skils'] })).toMatchObject({
      error: 'tool_unknown',
      message: "no tool 'nothing'; no tool 'list_saved_skils' (did you mean 'list_saved_skills' or 'list_skills'?)",
    });
    expect(await kernel.as('ada', 'saved show a')).toMatchObject({ error: 'not_found' });
    expect((await saveAs(kernel, 'admin', 'a', { ...PLAIN, tools })).json).toMatchObject({
      tools: ['guarded/for_admins', 'saved_skills/list_saved_skills'],
    });
  });

  it('M18 M19 a tool that does not say that it is safe to share keeps a skill private', async () => {
    const kernel = await savedKernel([], { files: GUARDED });
    await saveAs(kernel, 'ada', 'a', { ...PLAIN, tools: ['keeps_private'] });
    expect(await kernel.as('ada', 'saved share a public')).toMatchObject({ error: 'not_safe_to_share' });
    await saveAs(kernel, 'ada', 'b', PLAIN);
    await kernel.as('ada', 'saved share b shared --with bob');
    expect(await editAs(kernel, 'ada', 'b', { tools: ['keeps_private'] })).toMatchObject({ error: 'not_safe_to_share' });
  });

  it('M20 a tool for other skills is denied to the model, and the run goes on', async () => {
    const call = { calls: [{ name: 'for_one', input: {} }] };
    const kernel = await savedKernel([call, { text: 'done without' }, call, { text: 'done with' }], { files: GUARDED });
    await saveAs(kernel, 'ada', 'other', { ...PLAIN, tools: ['for_one'] });
    await saveAs(kernel, 'ada', 'chosen', { ...PLAIN, tools: ['for_one'] });
    const denied = (await kernel.as('ada', 'run other')).json as { id: string };
    expect(denied).toMatchObject({ state: 'ok', output: 'done without' });
    const { history } = (await kernel.as('ada', `runs show ${denied.id}`)).json as { history: readonly { what: string }[] };
    expect(history.map(({ what }) => what)).toEqual(['for_one {}', expect.stringContaining('for_one denied')]);
    expect((await kernel.as('ada', 'run chosen')).json).toMatchObject({ state: 'ok', output: 'done with' });
    expect(JSON.stringify(kernel.model.requests.at(-1)?.messages)).not.toContain('denied');
  });

  it('M25 M26 M28 extended limits are granted and taken back by administrators', async () => {
    const kernel = await savedKernel();
    expect(await saveAs(kernel, 'ada', 'a', { ...PLAIN, max_iterations: 40 })).toMatchObject({ error: 'limit_exceeded' });
    expect(await saveAs(kernel, 'ada', 'a', { ...PLAIN, extended_bounds: true })).toMatchObject({ error: 'not_allowed' });
    await saveAs(kernel, 'ada', 'a', PLAIN);
    expect(await kernel.as('ada', 'saved grant-extended a')).toMatchObject({ error: 'not_allowed' });
    expect((await kernel.as('admin', 'saved grant-extended ada/a')).json).toMatchObject({ extended_bounds: true });
    expect((await editAs(kernel, 'ada', 'a', { max_iterations: 40, max_runtime: '2m' })).json).toMatchObject({
      max_iterations: 40,
      max_runtime: '120s',
    });
  });

  it('M59 M64 lanes are set by administrators, priorities by owners within five', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'a', PLAIN);
    expect(await kernel.as('ada', 'saved set-priority a 6')).toMatchObject({ error: 'priority_out_of_range' });
    expect((await kernel.as('ada', 'saved set-priority a -- -5')).json).toMatchObject({ default_priority: -5 });
    expect(await kernel.as('ada', 'saved set-lane a skill-default')).toMatchObject({ error: 'not_allowed' });
    for (const lane of ['fast', 'constructor', '__proto__'])
      expect(await kernel.as('admin', `saved set-lane ada/a ${lane}`)).toMatchObject({ error: 'lane_unknown' });
  });

  it('M52 M53 an exposed name is unique, a channel registered', async () => {
    const pager = `kinds = ['pager']; async filters() { return ['on-call']; } async deliver() { return 'p1'; }`;
    const files = { ...manifest('pager', { provides: ['channel'], isolation: 'in_process' }), ...main('pager', pager) };
    const kernel = await savedKernel([], { files });
    await saveAs(kernel, 'ada', 'one', PLAIN);
    await saveAs(kernel, 'bob', 'two', PLAIN);
    expect((await kernel.as('ada', 'saved expose one on --as helper')).json).toMatchObject({ chatbot_tool_name: 'helper' });
    expect(await kernel.as('bob', 'saved expose two on --as helper')).toMatchObject({ error: 'name_taken' });
    expect(await kernel.as('bob', 'saved expose two on --channel nowhere')).toMatchObject({ error: 'channel_unknown' });
    for (const channel of ['cli', 'pager', 'on-call'])
      expect((await kernel.as('bob', `saved expose two on --channel ${channel}`)).code).toBe(0);
  });

  it('M47 W14 lists what runs on a timetable for who governs it, also once it is retired', async () => {
    const kernel = await savedKernel();
    for (const [user, name] of [
      ['ada', 'daily'],
      ['bob', 'weekly'],
    ] as const) {
      await saveAs(kernel, user, name, PLAIN);
      await saveAs(kernel, user, `never-${name}`, PLAIN);
      expect((await kernel.as(user, `saved schedule ${name} @${name}`)).code).toBe(0);
      expect((await kernel.as(user, `saved share ${name} public`)).code).toBe(0);
    }
    expect((await kernel.as('admin', 'saved retire ada/daily --by orchestrator')).code).toBe(0);
    expect((await kernel.as('ada', 'saved list --scheduled')).json).toMatchObject([{ name: 'daily', schedule: '@daily' }]);
    expect((await kernel.as('admin', 'saved list --scheduled')).json).toMatchObject([{ name: 'daily' }, { name: 'weekly' }]);
    expect((await kernel.as('carl', 'saved list --scheduled')).json).toEqual([]);
  });

  it('M54 M55 M84 a retired skill is listed for nobody, runs by its name, and names what took its place', async () => {
    const kernel = await savedKernel([{ text: 'still here' }]);
    await saveAs(kernel, 'ada', 'old', { ...PLAIN, tags: ['Work'] });
    await saveAs(kernel, 'bob', 'other', { ...PLAIN, tags: ['work'] });
    expect((await kernel.as('ada', 'saved list --tag work')).json).toMatchObject([{ name: 'old' }]);
    expect((await kernel.as('admin', 'saved retire ada/old --by orchestrator')).code).toBe(0);
    expect((await kernel.as('ada', 'saved list --tag work')).json).toEqual([]);
    expect((await kernel.as('admin', 'saved list --deprecated')).json).toMatchObject([
      { name: 'old', deprecated_by_agent_id: 'orchestrator' },
    ]);
    expect((await kernel.as('admin', 'saved retire bob/other --by ada/old')).code).toBe(0);
    const shown = async (line: string) => (await kernel.pith.command(line, { userId: 'admin' })).text;
    expect(await shown('saved list --deprecated')).toContain("use the agent 'orchestrator'");
    expect(await shown('saved show bob/other')).toContain("(retired: use the saved skill 'ada/old')");
    expect((await kernel.as('ada', 'run old')).json).toMatchObject({ state: 'ok' });
  });

  it('G11 M14 a skill that others compose, by whatever text they render, is not deleted', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'inner', PLAIN);
    await saveAs(kernel, 'ada', 'outer', { system_prompt: 'Run inner.', tools: ['skill_invoke'] });
    expect(await kernel.as('ada', 'saved delete inner --yes')).toMatchObject({ error: 'in_use' });
    const texts = [
      { initial_message: 'Run inner for {{ city }}.', input_schema: [{ name: 'city', default: 'Rome' }] },
      { initial_message: 'Run {{ which }}.', input_schema: [{ name: 'which', default: 'inner' }] },
    ];
    for (const text of texts) {
      expect((await editAs(kernel, 'ada', 'outer', { system_prompt: 'Run what you are told.', ...text })).error).toBeNull();
      expect(await kernel.as('ada', 'saved delete inner --yes')).toMatchObject({ error: 'in_use' });
    }
    expect((await kernel.as('ada', 'saved delete outer --yes')).code).toBe(0);
    expect((await kernel.as('ada', 'saved delete inner --yes')).code).toBe(0);
    expect(await kernel.as('ada', 'saved show inner')).toMatchObject({ error: 'not_found' });
  });

  it('M14 nor one that another has as a tool, or names in its pinned text; its owner retires it, as the refusal says', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'inner', PLAIN);
    await kernel.as('ada', 'saved expose inner on --as plan');
    await saveAs(kernel, 'ada', 'by-tool', { ...PLAIN, tools: ['saved_skills/plan'] });
    expect(await kernel.as('ada', 'saved delete inner --yes')).toMatchObject({
      error: 'in_use',
      message: "'inner' is composed by ada/by-tool",
    });
    await kernel.as('ada', 'saved delete by-tool --yes');
    await saveAs(kernel, 'ada', 'pinned', { system_prompt: 'Run inner.', tools: ['skill_invoke'] });
    await kernel.as('admin', 'saved pin ada/pinned');
    await editAs(kernel, 'ada', 'pinned', { system_prompt: 'Run nothing.' });
    expect(await kernel.as('ada', 'saved delete inner --yes')).toMatchObject({ error: 'in_use' });
    expect((await kernel.as('ada', 'saved retire inner --by pinned')).json).toMatchObject({ deprecated_by_agent_id: 'pinned' });
    expect(await kernel.as('bob', 'saved retire ada/inner --clear')).toMatchObject({ error: 'not_found' });
    await kernel.as('admin', 'saved unpin ada/pinned');
    expect((await kernel.as('ada', 'saved delete inner --yes')).code).toBe(0);
  });

  it('M14 a skill whose name is a word in the text of another is deleted when its owner says that it means something else', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'report', PLAIN);
    await saveAs(kernel, 'ada', 'outer', { system_prompt: 'Run others, and report.', tools: ['skill_invoke'] });
    await expect(kernel.pith.command('saved delete report --yes', { userId: 'ada' })).rejects.toMatchObject({
      code: 'in_use',
      message: "'report' is named in the text of ada/outer, which may run it",
      cure: expect.stringContaining('pith saved delete ada/report --despite-mentions'),
    });
    expect((await kernel.as('ada', 'saved delete report --yes --despite-mentions')).code).toBe(0);
    await saveAs(kernel, 'ada', 'inner', PLAIN);
    await kernel.as('ada', 'saved expose inner on --as plan');
    await saveAs(kernel, 'ada', 'by-tool', { ...PLAIN, tools: ['saved_skills/plan'] });
    expect(await kernel.as('ada', 'saved delete inner --yes --despite-mentions')).toMatchObject({ error: 'in_use' });
  });

  it('M14 M23 a skill of somebody who cannot run it is no reason, and one that the owner may not see is not named', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'bob', 'inner', PLAIN);
    await saveAs(kernel, 'ada', 'secret-plan', { system_prompt: 'Run inner.', tools: ['skill_invoke'] });
    await kernel.as('bob', 'saved share inner public');
    await kernel.as('admin', 'saved pin bob/inner');
    expect(await kernel.as('bob', 'saved delete inner --yes')).toMatchObject({
      error: 'in_use',
      message: "'inner' is named in the text of skills that you may not see, which may run it",
    });
    await kernel.as('bob', 'saved share inner private');
    expect((await kernel.as('bob', 'saved delete inner --yes')).code).toBe(0);
  });

  it('a skill whose row is damaged is deleted by its owner, as the finding says', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'a', PLAIN);
    rowsIn(path.join(kernel.pith.sandbox, 'data/pith.db'), "UPDATE saved_skills__skills SET tools = '{' WHERE name = 'a' RETURNING id");
    expect(await kernel.as('ada', 'saved show a')).toMatchObject({ error: 'skill_damaged' });
    const found = (await kernel.pith.kernel.problems()).find(({ code }) => code === 'skill_damaged');
    expect(found?.cure).toBe('delete it and save it again: pith saved delete ada/a');
    expect(await kernel.as('bob', 'saved delete ada/a --yes')).toMatchObject({ error: 'not_found' });
    expect((await kernel.as('ada', 'saved delete ada/a --yes')).code).toBe(0);
    expect((await saveAs(kernel, 'ada', 'a', PLAIN)).error).toBeNull();
  });

  it('the address of a webhook is not shown, however it is written', async () => {
    const kernel = await savedKernel([], WITH_WEBHOOKS);
    await saveAs(kernel, 'ada', 'a', { ...PLAIN, output_target: { kind: 'channel', target: 'HTTPS://hooks.example.org/SECRET' } });
    expect((await kernel.as('ada', 'saved show a')).json).toMatchObject({ output_target: { target: 'https://hooks.example.org/…' } });
  });

  it('M13 M22 a pending approval is stored and not looked at; tools that only an administrator may name run for whoever may run the skill', async () => {
    const kernel = await savedKernel([{ calls: [{ name: 'for_admins', input: {} }] }, { text: 'done' }], { files: GUARDED });
    await saveAs(kernel, 'admin', 'a', { ...PLAIN, tools: ['for_admins'], pending_approval: true, visibility: 'public' });
    await kernel.as('admin', 'saved pin a');
    expect((await kernel.as('eve', 'run admin/a')).json).toMatchObject({ state: 'ok', output: 'done' });
    expect(JSON.stringify(kernel.model.requests.at(-1)?.messages)).toContain('for_admins');
    expect((await kernel.as('admin', 'saved show a')).json).toMatchObject({ pending_approval: true });
  });

  it('M73 M91 a file switches neither encryption nor preemption nor signatures: commands check and ask', async () => {
    const kernel = await savedKernel();
    for (const key of ['encryption_enabled', 'preemptible', 'webhook_signature_required', 'webhook_secret', 'pinned_version_id'])
      expect(await saveAs(kernel, 'ada', 'a', { ...PLAIN, [key]: false })).toMatchObject({
        error: 'skill_file_invalid',
        message: expect.stringContaining(`unknown key '${key}'`),
      });
  });

  it('M91 preemption is switched on with its warning by who was asked, or says --yes; off without a question', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'a', PLAIN);
    expect(await kernel.as('ada', 'saved set-priority a 0 --preemptible on')).toMatchObject({ error: 'usage' });
    expect((await kernel.as('ada', 'saved show a')).json).toMatchObject({ preemptible: false });
    const said = await kernel.pith.command('saved set-priority a 0 --preemptible on --yes', { userId: 'ada' });
    expect(said.text).toContain('what it has done stays done, and it is not tried again');
    expect((await kernel.as('ada', 'saved show a')).json).toMatchObject({ preemptible: true });
    expect((await kernel.as('ada', 'saved set-priority a 0 --preemptible off')).json).toMatchObject({ preemptible: false });
  });

  it('names each line of a file that is wrong, and says in words what is wrong with a name that was typed', async () => {
    const kernel = await savedKernel();
    await kernel.pith.write('files/bad.yml', 'system_prompt: x\nmax_itertions: 3\nmax_runtime: soon\n');
    const { error, message } = await kernel.as('ada', ['saved', 'new', 'a', '--file', `${kernel.pith.sandbox}/files/bad.yml`]);
    expect(error).toBe('skill_file_invalid');
    expect(message).toMatch(/line 2: unknown key 'max_itertions' \(did you mean 'max_iterations'/u);
    expect(message).toMatch(/line 3: 'max_runtime'/u);
    expect(await saveAs(kernel, 'ada', 'Bad Name', PLAIN)).toMatchObject({
      error: 'skill_invalid',
      message: "'name' must be 1 to 64 lower-case letters, digits, - and _",
    });
  });
});

describe('what is switched off', () => {
  const settings = (more: string) => ({ 'pith.yaml': `admins: [admin]\nextensions: { ${more} }\n` });

  it('M15 M71 nobody is refused to stop, hide or govern a skill whose tool is gone; its text is checked when it is edited', async () => {
    const safe = main(
      'guarded',
      `getTools() { return [defineTool({ name: 'gone', description: 'd', input: z.object({}), effect: 'read', execute: () => 1 })]; }`,
    );
    const kernel = await savedKernel([], { ...WITH_WEBHOOKS, files: { ...manifest('guarded', { provides: ['tool'] }), ...safe } });
    await saveAs(kernel, 'ada', 'a', { ...PLAIN, tools: ['gone'] });
    await kernel.as('ada', 'saved webhook enable a');
    await kernel.as('ada', ['saved', 'schedule', 'a', '0 9 * * *']);
    await kernel.as('ada', 'saved share a public');
    await kernel.as('admin', 'saved pin ada/a');
    await kernel.as('admin', 'saved grant-extended ada/a');
    await kernel.pith.write('pith.yaml', settings('guarded: { enabled: false }')['pith.yaml']);
    await kernel.restart();
    for (const line of ['schedule a off', 'webhook regenerate a', 'webhook disable a', 'share a private'])
      expect([line, (await kernel.as('ada', `saved ${line}`)).error]).toEqual([line, null]);
    for (const line of ['unpin ada/a', 'retire ada/a --by orchestrator', 'revoke-extended ada/a'])
      expect([line, (await kernel.as('admin', `saved ${line}`)).error]).toEqual([line, null]);
    expect((await kernel.as('ada', 'saved show a')).json).toMatchObject({
      schedule: null,
      webhook_enabled: false,
      visibility: 'private',
      pinned_version_id: null,
      deprecated_by_agent_id: 'orchestrator',
    });
    expect(await editAs(kernel, 'ada', 'a', { system_prompt: 'Other.' })).toMatchObject({ error: 'tool_unknown' });
    expect(await kernel.as('ada', 'saved share a public')).toMatchObject({ error: 'tool_unknown' });
  });

  it('M28 M29 after extended limits were taken back the owner switches off what there is, and is refused to save the same limits', async () => {
    const kernel = await savedKernel([], WITH_WEBHOOKS);
    await saveAs(kernel, 'ada', 'a', PLAIN);
    await kernel.as('admin', 'saved grant-extended ada/a');
    await editAs(kernel, 'ada', 'a', { max_iterations: 40 });
    await kernel.as('ada', 'saved webhook enable a');
    await kernel.as('ada', ['saved', 'schedule', 'a', '0 9 * * *']);
    await kernel.as('ada', 'saved expose a on');
    await kernel.as('admin', 'saved set-priority ada/a 9');
    await kernel.as('admin', 'saved revoke-extended ada/a');
    for (const line of ['schedule a off', 'webhook disable a', 'expose a off'])
      expect([line, (await kernel.as('ada', `saved ${line}`)).error]).toEqual([line, null]);
    expect(await editAs(kernel, 'ada', 'a', { max_iterations: 41 })).toMatchObject({ error: 'limit_exceeded' });
    expect((await editAs(kernel, 'ada', 'a', { max_iterations: 12, tags: ['x'] })).error).toBeNull();
    expect(await kernel.as('ada', 'saved set-priority a 8')).toMatchObject({ error: 'priority_out_of_range' });
  });

  it('M59 a lane that the settings lost is no reason to refuse a priority, and a run says that it is in the default one', async () => {
    const kernel = await savedKernel([{ text: 'x' }], { files: settings('saved_skills: { lanes: { fast: { slots: 1 } } }') });
    await saveAs(kernel, 'ada', 'a', PLAIN);
    await kernel.as('admin', 'saved set-lane ada/a fast');
    await kernel.pith.write('pith.yaml', 'admins: [admin]\n');
    await kernel.restart();
    expect((await kernel.as('ada', 'saved set-priority a 1')).json).toMatchObject({ default_priority: 1, execution_lane: 'fast' });
    expect((await kernel.as('ada', 'run a')).json).toMatchObject({ state: 'ok', lane: 'skill-default' });
    await kernel.pith.kernel.stop(); // writes what it has buffered
    const log = await readFile(`${kernel.pith.sandbox}/data/logs/pith.log`, 'utf8');
    expect(log).toMatch(/ada\/a[^\n]*fast[^\n]*waits in the default lane/u);
  });

  it("M15 M17 an author gives no other text to a skill that has an administrator's tools", async () => {
    const kernel = await savedKernel([], { files: GUARDED });
    await saveAs(kernel, 'ada', 'a', PLAIN);
    expect((await editAs(kernel, 'admin', 'ada/a', { tools: ['for_admins'] })).error).toBeNull();
    expect(await editAs(kernel, 'ada', 'a', { system_prompt: 'Other.' })).toMatchObject({ error: 'tool_not_allowed' });
    expect((await kernel.as('ada', 'saved share a public')).error).toBe('tool_not_allowed');
    expect((await kernel.as('ada', ['saved', 'schedule', 'a', '@daily'])).error).toBeNull();
  });
});

describe('what ships', () => {
  const file = (version: string, prompt: string) => `name: mine\nversion: ${version}\nsystem_prompt: ${prompt}\n`;

  it('M6 M7 M21 is stored anew at a higher version; what people decided stays; one bad file costs itself', async () => {
    const kernel = await savedKernel([], {
      files: { 'saved_skills/mine/skill.yml': file('1.0.0', 'First.'), 'saved_skills/bad/skill.yml': 'name: [' },
    });
    expect((await kernel.as('admin', 'saved show mine')).json).toMatchObject({
      source: 'builtin',
      owner_id: null,
      system_prompt: 'First.',
      version: '1.0.0',
    });
    await kernel.as('admin', 'saved share mine private');
    await kernel.as('admin', 'saved set-priority mine 9');
    await kernel.as('admin', 'saved expose mine on --as ours --channel cli');
    await editAs(kernel, 'admin', 'mine', { tags: ['kept'], chatbot_tool_description: 'Ours' });
    const updated = (await kernel.as('admin', 'saved show mine')).json as { updated_at: number };
    await kernel.pith.restart();
    expect((await kernel.as('admin', 'saved show mine')).json).toMatchObject({ updated_at: updated.updated_at });
    await kernel.pith.write('saved_skills/mine/skill.yml', file('1.1.0', 'Second.'));
    await kernel.pith.restart();
    expect((await kernel.as('admin', 'saved show mine')).json).toMatchObject({
      system_prompt: 'Second.',
      version: '1.1.0',
      visibility: 'private',
      default_priority: 9,
      expose_as_chatbot_tool: true,
      chatbot_tool_name: 'ours',
      chatbot_tool_description: 'Ours',
      chatbot_channel_filter: 'cli',
      tags: ['kept'],
    });
    await kernel.pith.write('saved_skills/mine/skill.yml', file('1.0.5', 'Third.'));
    await kernel.pith.restart();
    expect((await kernel.as('admin', 'saved show mine')).json).toMatchObject({ system_prompt: 'Second.' });
    const notes = JSON.stringify(await kernel.pith.kernel.problems());
    expect(notes).toContain('version 1.0.5 is lower than 1.1.0');
    expect(notes).toContain('saved_skills/bad/skill.yml');
  });

  it('M6 two kernels that begin at once in a new sandbox store each skill once, and neither reports the other', async () => {
    const one = await kernelOf();
    const two = await kernelOf({ sandbox: one.sandbox });
    await Promise.all([one, two].map((pith) => pith.command(['saved', 'list'], { userId: 'ada' })));
    for (const pith of [one, two])
      expect((await pith.kernel.problems()).filter(({ code }) => ['name_taken', 'write_conflict'].includes(code))).toEqual([]);
  });

  it('T1 a file of a sandbox runs nothing by itself: its schedule is not taken', async () => {
    const text = `${file('1.0.0', 'First.')}schedule: "* * * * *"\n`;
    const kernel = await savedKernel([], { files: { 'saved_skills/mine/skill.yml': text } });
    expect((await kernel.as('admin', 'saved show mine')).json).toMatchObject({ schedule: null, next_run_at: null });
  });

  it.each(['daily-brief', 'review-changes'])('%s is valid and says its tools', async (id) => {
    const text = await readFile(new URL(`../../../sandbox/saved_skills/${id}/skill.yml`, import.meta.url), 'utf8');
    expect(text).toContain('tools:');
    const kernel = await savedKernel([], WITH_BUILTINS);
    expect((await kernel.as('eve', `saved show ${id}`)).json).toMatchObject({ name: id, visibility: 'public' });
  });
});
