import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { JsonValue } from 'pith';
import { expect, it } from 'vitest';
import { openDatabase } from '../../../core/store/index.ts';
import {
  agent,
  call,
  crowd,
  LEARNS,
  rankerExtension,
  settings,
  skillKernel as bareKernel,
  skill,
  type SkillKernel,
} from '../skill_registry/skill-kernel.ts';

let world: SkillKernel;

const skillKernel: typeof bareKernel = (files, options) => bareKernel({ ...LEARNS, ...files }, options);

const READS = 'uses_tools: [skill_registry]';
const SAID = 'Plan our paddling trip through the fjords';
const data = () => path.join(world.pith.sandbox, 'data');
const kept = async () => {
  const database = openDatabase(path.join(data(), 'pith.db'));
  try {
    return database.all('select skill, text from skill_search__examples order by id').map(({ skill: id, text }) => [id, text]);
  } catch {
    return []; // there is no such table yet
  } finally {
    database.close();
  }
};
const found = async (query: string) => (await world.command(`skills search ${query}`)) as unknown as { id: string; why: string[] }[];
const read = (skill_id: string) => call('read_skill', { skill_id });
/** What was to be learned has been by then. */
const later = async () => {
  await world.chat('Tell a marker story about lighthouses', [read('marker')]);
  await expect.poll(kept).toContainEqual(['marker', 'Tell a marker story about lighthouses']);
};

it('R5 a skill is found by the words of those for whom it was loaded, at once and after a restart', async () => {
  world = await skillKernel({ ...skill('alpha'), ...skill('beta') });
  expect(await found('paddling')).toEqual([]);
  await world.chat(SAID, [read('alpha')]);
  await expect.poll(kept).toEqual([['alpha', SAID]]);
  await world.chat('go', [call('list_skills', { query: 'paddling' })]);
  expect(JSON.stringify(world.model.requests.at(-1))).toContain('[matches: paddling]');
  expect((await found('paddling in fjords')).map(({ id, why }) => [id, why])).toEqual([['alpha', ['paddling', 'fjords']]]);
  expect(await readFile(path.join(world.pith.sandbox, 'skills/alpha/SKILL.md'), 'utf8')).not.toContain('paddling');
  await world.pith.restart();
  await world.chat('go', [call('list_skills', { query: 'paddling' })]);
  expect(JSON.stringify(world.model.requests.at(-1))).toContain('[matches: paddling]');
  expect(await world.command('skills explain alpha')).toMatchObject({ skill_search: { learned: 1 } });
  expect(await world.print('skills explain alpha')).toContain('1 of the texts that it was loaded for helps to find it');
});

it("R5 nothing is learned from turns that ended badly, looked around, brought what the agent carries, or were no person's", async () => {
  world = await skillKernel({
    ...crowd(6, (at) => ['alpha', 'beta', 'gamma', 'delta', 'bound', 'marker'][at]!),
    ...agent('reader', READS, 'uses_skills: [bound]', 'limits: { max_turns: 6 }'),
    ...agent('discreet', READS, 'skills: { learn_examples: false }'),
  });
  world.model.add(read('alpha'), { text: 'done' });
  await world.pith.run(SAID, { threadId: 'discreet', agent: 'discreet' });
  await world.chat('Compare every kind of boat on the market', ['alpha', 'beta', 'gamma', 'delta'].map(read));
  await world.chat('Describe the harbour with its cranes'); // loads what is bound
  world.model.add(read('alpha'), { error: new Error('gone') });
  expect((await world.pith.run('Paint the bridge over the river', { threadId: 'bad' })).reason).toBe('error');
  await world.chat('yes please, go on', [read('alpha')], 'other');
  world.model.add(read('alpha'), { text: 'done' });
  await world.pith.run('Summarise what the nightly backup wrote', { threadId: 'task', key: 'task/1' }); // by a program, for itself
  await later();
  expect(await kept()).toEqual([['marker', expect.any(String)]]);
});

it('R5 what a trigger brought is learned once, not while it stays in', async () => {
  world = await skillKernel({
    ...skill('forms', { more: 'triggers: { keywords: [form] }\n' }),
    ...agent('reader', READS, 'skills: { mode: triggers }'),
  });
  await world.chat('Fill in the form for parental leave');
  await world.chat('Which documents belong to the application?');
  await expect.poll(kept).toEqual([['forms', 'Fill in the form for parental leave']]);
});

it('R5 B7 it is off until a person switches it on: nothing is learned, and nothing that was is used', async () => {
  world = await skillKernel({ ...skill('alpha'), ...settings() });
  await world.chat(SAID, [read('alpha')]);
  await world.pith.write('pith.yaml', LEARNS['pith.yaml']);
  await world.pith.restart();
  expect(await found('paddling')).toEqual([]);
  await world.chat(SAID, [read('alpha')], 'other');
  await expect.poll(async () => (await kept()).length).toBe(1);
  await world.pith.write('pith.yaml', settings()['pith.yaml']);
  await world.pith.restart();
  expect(await found('paddling')).toEqual([]); // nor used
});

it('R5 B7 what was learned goes with the skill', async () => {
  world = await skillKernel({ ...skill('alpha'), ...skill('beta') });
  await world.chat(SAID, [read('alpha')]);
  await expect.poll(kept).toEqual([['alpha', SAID]]);
  await rm(path.join(world.pith.sandbox, 'skills/alpha'), { recursive: true });
  await found('anything');
  await expect.poll(kept).toEqual([]);
});

it('R5 forget empties what earlier versions kept, too', async () => {
  world = await skillKernel(skill('alpha'));
  const former = path.join(data(), 'extensions/skill_registry/examples.jsonl');
  await mkdir(path.dirname(former), { recursive: true });
  await writeFile(former, '{"skill":"alpha","text":"Plan my pri\nnonsense\n');
  await expect(world.print('skills forget')).rejects.toMatchObject({ message: expect.stringContaining('learned would be removed') });
  expect(await world.print('skills forget --yes')).toBe('Removed what earlier versions learned.');
  expect(existsSync(former)).toBe(false);
  expect(await world.print('skills forget --yes')).toBe('No examples are kept for any skill.');
});

it('R5 forget removes what was learned, from the search index too, and says what', async () => {
  world = await skillKernel({ ...skill('alpha'), ...skill('beta') });
  await world.chat(SAID, [read('alpha')]);
  await world.chat('Grill sardines over charcoal', [read('beta')]);
  await expect.poll(async () => (await kept()).length).toBe(2);
  await expect(world.print('skills forget alpha')).rejects.toMatchObject({ code: 'confirmation_needed' });
  await expect(world.print('skills forget alhpa --yes')).rejects.toMatchObject({
    code: 'skill_not_found',
    message: expect.stringContaining("did you mean 'alpha'?"),
  });
  expect(await world.print('skills forget alpha --yes')).toBe('Removed 1 example: alpha (1).');
  expect(await found('paddling')).toEqual([]);
  await world.chat('go', [call('list_skills', { query: 'paddling' })]); // the running kernel has heard of it
  expect(JSON.stringify(world.model.requests.at(-1))).not.toContain('[matches: paddling]');
  expect((await found('sardines')).map(({ id }) => id)).toEqual(['beta']);
  expect(await world.command('skills forget --yes')).toEqual({ forgotten: [{ id: 'beta', examples: 1 }] as JsonValue });
  expect(await world.print('skills forget --yes')).toBe('No examples are kept for any skill.');
  expect(await world.print('skills forget alpha --yes')).toBe("No examples are kept for 'alpha'.");
  expect(await kept()).toEqual([]);
});

it('R5 B7 no word of what was learned reaches the ranker of another extension', async () => {
  const nosy = rankerExtension("if (JSON.stringify(arguments).includes('paddling')) throw new Error('it was told');");
  world = await skillKernel({ ...skill('alpha'), ...skill('beta'), ...nosy, ...settings('ranker: my_ranker, learn_examples: true') });
  await world.chat(SAID, [read('alpha')]);
  await expect.poll(kept).toEqual([['alpha', SAID]]);
  await world.pith.restart();
  const [first] = await found('paddling');
  expect(first).toMatchObject({ id: 'beta', why: ['backwards'] });
});
