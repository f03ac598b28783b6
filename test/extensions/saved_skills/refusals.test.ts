import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { firstMessage } from '../../../sandbox/extensions/saved_skills/running/execution.ts';
import { editAs, HELPER, saveAs, savedKernel, WITH_BUILTINS, WITH_WEBHOOKS } from './saved-kernel.ts';
import { rowsIn } from './shared-store.ts';

const PLAIN = { system_prompt: 'You help.' };

describe('what is refused, with a cure', () => {
  it('M47 M50 a timetable for a skill that nobody gives its inputs, one in a zone that is none, or of no five fields', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'standup', { ...PLAIN, input_schema: [{ name: 'who', required: true }] });
    const schedule = (zone = 'Europe/Rome') => kernel.as('ada', ['saved', 'schedule', 'standup', '0 9 * * 1-5', '--time-zone', zone]);
    expect(await schedule()).toMatchObject({ error: 'input_missing', message: expect.stringContaining('who') });
    await editAs(kernel, 'ada', 'standup', { input_schema: [{ name: 'who', default: 'Ada' }] });
    expect(await schedule('Europe/Roma')).toMatchObject({ error: 'schedule_invalid', message: expect.stringContaining('time zone') });
    expect(await kernel.as('ada', ['saved', 'schedule', 'standup', '@reboot'])).toMatchObject({ error: 'schedule_invalid' });
    expect(await schedule()).toMatchObject({ error: null });
  });

  it('M10 the draft for others, M54 retirement in favour of nothing, M20 users of what is not shared', async () => {
    const kernel = await savedKernel();
    await saveAs(kernel, 'ada', 'a', PLAIN);
    await kernel.as('ada', 'saved share a public');
    await kernel.as('admin', 'saved pin ada/a');
    expect(await kernel.as('bob', 'run ada/a --draft')).toMatchObject({ error: 'not_allowed' });
    expect(await kernel.as('ada', 'saved retire a --by nobody')).toMatchObject({ error: 'not_found' });
    expect(await kernel.as('ada', 'saved share a private --with bob')).toMatchObject({ error: 'usage' });
  });

  it('M47 also in a file, and when its inputs change; M54 its own name', async () => {
    const kernel = await savedKernel();
    const who = { name: 'who', required: true };
    const scheduled = { ...PLAIN, schedule: '0 9 * * *' };
    expect(await saveAs(kernel, 'ada', 'a', { ...scheduled, input_schema: [who] })).toMatchObject({ error: 'input_missing' });
    expect(await saveAs(kernel, 'ada', 'a', scheduled)).toMatchObject({ error: null });
    expect(await editAs(kernel, 'ada', 'a', { input_schema: [who] })).toMatchObject({ error: 'input_missing' });
    expect(await kernel.as('ada', 'saved retire a --by a')).toMatchObject({ error: 'usage' });
  });

  it('M7 deleting what ships: it would be there again', async () => {
    const kernel = await savedKernel([], WITH_BUILTINS);
    expect(await kernel.as('admin', 'saved delete daily-brief --yes')).toMatchObject({ error: 'not_allowed' });
    expect(await kernel.as('admin', 'saved show daily-brief')).toMatchObject({ error: null });
  });

  it('M69 M71 a webhook is enabled once and regenerated only where there is one; M74 an empty address admits nobody', async () => {
    const kernel = await savedKernel([], WITH_WEBHOOKS);
    await saveAs(kernel, 'ada', 'a', PLAIN);
    expect(await kernel.as('ada', 'saved webhook regenerate a')).toMatchObject({ error: 'usage' });
    expect(await kernel.as('ada', 'saved webhook enable a')).toMatchObject({ error: null });
    expect(await kernel.as('ada', 'saved webhook enable a')).toMatchObject({ error: 'usage' });
    expect(await kernel.as('ada', ['saved', 'webhook', 'allow', 'a', ''])).toMatchObject({ error: 'allow_list_invalid' });
    expect((await kernel.pith.command('saved show a', { userId: 'ada' })).text).toContain('signed requests');
  });

  it('M5 a version that no semver reads', async () => {
    const kernel = await savedKernel();
    for (const version of ['01.0.0', '1.0.0-.', '99999999999999999999.1.1', '1.0.0+build'])
      expect(await saveAs(kernel, 'ada', 'a', { ...PLAIN, version })).toMatchObject({ code: 1 });
    expect(await saveAs(kernel, 'ada', 'a', { ...PLAIN, version: '1.0.0-beta.1' })).toMatchObject({ code: 0 });
  });
});

it('M52 one damaged version costs itself only, is named, and is cured by an edit', async () => {
  const kernel = await savedKernel([], { files: HELPER });
  for (const name of ['one', 'two']) {
    await saveAs(kernel, 'ada', name, PLAIN);
    await kernel.as('ada', `saved expose ${name} on`);
  }
  const file = path.join(kernel.pith.sandbox, 'data/pith.db');
  const own = `skill_id = (SELECT id FROM saved_skills__skills WHERE name = 'two')`;
  rowsIn(file, `UPDATE saved_skills__versions SET snapshot = '{' WHERE ${own} RETURNING id`);
  const offered = async (threadId: string) => {
    kernel.model.add({ text: 'seen' });
    await kernel.pith.run('hi', { agent: 'helper', userId: 'ada', threadId });
    return kernel.model.requests
      .at(-1)!
      .tools.map(({ name }) => name)
      .filter((name) => ['one', 'two'].includes(name));
  };
  expect(await offered('t1')).toEqual(['one']);
  expect((await kernel.pith.kernel.problems()).find(({ code }) => code === 'skill_damaged')?.message).toContain("'ada/two'");
  expect(await editAs(kernel, 'ada', 'two', { system_prompt: 'Another text.' })).toMatchObject({ error: null });
  expect(await offered('t2')).toEqual(['one', 'two']);
});

describe('skills that ship', () => {
  it('M6 a pipe and a link in the place of a skill.yml cost that one only', async () => {
    const kernel = await savedKernel([], { files: { 'saved_skills/good/skill.yml': JSON.stringify({ ...PLAIN, version: '1.0.0' }) } });
    const folder = path.join(kernel.pith.sandbox, 'saved_skills');
    for (const name of ['pipe', 'link']) mkdirSync(path.join(folder, name));
    execFileSync('mkfifo', [path.join(folder, 'pipe/skill.yml')]);
    symlinkSync('/dev/zero', path.join(folder, 'link/skill.yml'));
    await kernel.restart();
    expect(await kernel.as('admin', 'saved show good')).toMatchObject({ error: null });
    const notes = (await kernel.pith.kernel.problems()).map(({ message, file }) => `${file}: ${message}`).join('\n');
    for (const name of ['pipe', 'link']) expect(notes).toMatch(new RegExp(`saved_skills/${name}/skill.yml: .*not a regular file`));
  });
});

it('M89 an input that was not given is empty, whatever its name', async () => {
  expect(await firstMessage('[{{ constructor }}]', {}, ['constructor'])).toBe('[]');
});
