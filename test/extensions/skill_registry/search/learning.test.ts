import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { JsonValue } from 'pith';
import { expect, it } from 'vitest';
import { call, skillKernel, skill, type SkillKernel } from '../skill-kernel.ts';

let world: SkillKernel;

const agent = (declaration: string) => ({ 'agents/reader/manifest.yaml': `id: reader\nagent: { ${declaration} }\n` });
const READS = 'uses_tools: [skill_registry], instructions: READER';
const SAID = 'Plan our paddling trip through the fjords';
const file = () => path.join(world.pith.sandbox, 'data/extensions/skill_registry/examples.jsonl');
const kept = async () =>
  (await readFile(file(), 'utf8').catch(() => ''))
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as { skill: string; text: string }]))
    .map(({ skill: id, text }) => [id, text]);
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
  expect(await world.command('skills stats alpha')).toMatchObject({ learned: 1 });
  expect(await world.print('skills stats alpha')).toContain('1 of the texts that it was loaded for helps to find it');
});

it("R5 nothing is learned from turns that ended badly, looked around, brought what the agent carries, or were no person's", async () => {
  world = await skillKernel({
    ...['alpha', 'beta', 'gamma', 'delta', 'bound', 'marker'].reduce((all, id) => ({ ...all, ...skill(id) }), {}),
    ...agent(`${READS}, uses_skills: [bound], limits: { max_turns: 6 }`),
    'agents/discreet/manifest.yaml': `id: discreet\nagent: { ${READS}, skills: { learn_examples: false } }\n`,
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
    ...agent('uses_tools: [skill_registry], skills: { mode: triggers }'),
  });
  await world.chat('Fill in the form for parental leave');
  await world.chat('Which documents belong to the application?');
  await expect.poll(kept).toEqual([['forms', 'Fill in the form for parental leave']]);
});

it('R5 it can be switched off for all: then nothing is learned, and nothing that was is used', async () => {
  const settings = 'default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0, learn_examples: false }\n';
  world = await skillKernel({ ...skill('alpha'), 'pith.yaml': settings });
  await world.chat(SAID, [read('alpha')]);
  await world.pith.stop();
  expect(await kept()).toEqual([]);
  const { sandbox } = world.pith;
  await mkdir(path.dirname(file()), { recursive: true });
  await writeFile(file(), `${JSON.stringify({ skill: 'alpha', text: SAID, at: 1 })}\n`);
  world = await skillKernel({ 'pith.yaml': settings }, { sandbox });
  expect(await found('paddling')).toEqual([]); // nor used
});

it('R5 stats --forget leaves no word of the texts in any file of what search keeps', async () => {
  world = await skillKernel({ ...skill('alpha'), ...skill('beta') });
  await world.chat(SAID, [read('alpha')]);
  await expect.poll(async () => (await kept()).length).toBe(1);
  expect((await found('paddling')).length).toBe(1);
  const folder = path.join(world.pith.sandbox, 'data/extensions/skill_registry');
  const holding = async () => {
    const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const texts = await Promise.all(
      names.map(async ({ parentPath, name }) => ({ name, bytes: await readFile(path.join(parentPath, name)) })),
    );
    return texts.filter(({ bytes }) => /paddl|fjord/i.test(bytes.toString('latin1'))).map(({ name }) => name);
  };
  await writeFile(path.join(folder, 'catalog.db'), 'paddling, as an earlier version kept it');
  expect((await holding()).sort()).toEqual(['catalog.db', 'examples.jsonl']);
  await world.print('skills stats --forget --yes');
  expect(await holding()).toEqual([]);
  expect((await found('alpha')).length).toBeGreaterThan(0);
  expect(await holding()).toEqual([]);
});

it.each([
  ['damaged lines only', () => '{"skill":"alpha","text":"Plan my pri\nnonsense\n', 'damaged lines'],
  ['more than is read', () => `{"skill":"alpha","text":"${'private '.repeat(17 << 17)}`, 'a file that cannot be read'],
])('R5 stats --forget empties a file of %s', async (_name, text, what) => {
  world = await skillKernel(skill('alpha'));
  await mkdir(path.dirname(file()), { recursive: true });
  await writeFile(file(), text());
  await expect(world.print('skills stats --forget')).rejects.toMatchObject({
    message: expect.stringContaining(`${what} would be removed`),
  });
  expect(await world.print('skills stats --forget --yes')).toBe(`Removed ${what}.`);
  expect(await readFile(file(), 'utf8')).toBe('');
  expect(await world.print('skills stats --forget --yes')).toBe('Nothing was learned of any skill.');
});

it('R5 stats --forget removes what was learned from the file and from the search index, and says what', async () => {
  world = await skillKernel({ ...skill('alpha'), ...skill('beta') });
  await world.chat(SAID, [read('alpha')]);
  await world.chat('Grill sardines over charcoal', [read('beta')]);
  await expect.poll(async () => (await kept()).length).toBe(2);
  await expect(world.print('skills stats --forget alpha')).rejects.toMatchObject({ code: 'confirmation_needed' });
  await expect(world.print('skills stats --forget alhpa --yes')).rejects.toMatchObject({
    code: 'skill_not_found',
    message: expect.stringContaining("did you mean 'alpha'?"),
  });
  expect(await world.print('skills stats --forget alpha --yes')).toBe('Removed 1 learned example: alpha (1).');
  expect(await found('paddling')).toEqual([]);
  await world.chat('go', [call('list_skills', { query: 'paddling' })]); // the running kernel has heard of it
  expect(JSON.stringify(world.model.requests.at(-1))).not.toContain('[matches: paddling]');
  expect((await found('sardines')).map(({ id }) => id)).toEqual(['beta']);
  expect(await world.command('skills stats --forget --yes')).toEqual({ forgotten: [{ id: 'beta', examples: 1 }] as JsonValue });
  expect(await world.print('skills stats --forget --yes')).toBe('Nothing was learned of any skill.');
  expect(await world.print('skills stats --forget alpha --yes')).toBe("Nothing was learned of 'alpha'.");
  expect(await readFile(file(), 'utf8')).toBe('');
});
