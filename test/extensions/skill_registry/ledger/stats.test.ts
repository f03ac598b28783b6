import { expect, it } from 'vitest';
import { call, skillKernel, skill, type SkillKernel } from '../skill-kernel.ts';
import { words } from '../../../words.ts';

let world: SkillKernel;

const agent = (declaration: string) => ({ 'agents/reader/manifest.yaml': `id: reader\nagent: { ${declaration} }\n` });
const stats = async (id: string) => world.command(`skills stats ${id}`);
const turnsWritten = async (count: number) =>
  await expect.poll(async () => (await world.command('skills stats'))['turns'], { timeout: 3000 }).toBe(count);

it('S90 N6 a skill that a trigger brought was offered in that turn and in those for which it stays in', async () => {
  world = await skillKernel({
    ...skill('forms', { more: 'triggers: { keywords: [form] }\n' }),
    ...skill('soup', { more: 'triggers: { keywords: [soup] }\n' }),
    ...agent('uses_tools: [skill_registry], skills: { mode: triggers }'),
  });
  const told: string[][] = [];
  for (const text of ['hello', 'fill in the form', 'go on', 'and on', 'further', 'still there?'])
    told.push((await world.chat(text)).events.flatMap((event) => (event.type === 'document' ? event.line : [])));
  expect(told).toEqual([[], ['Skill forms loaded'], [], [], [], []]); // N17
  await turnsWritten(6);
  const one = await stats('forms');
  expect(one).toMatchObject({ offered: 4, filtered: 2, loaded: { trigger: 1 }, notOffered: { 'no trigger brought it': 2 } });
  expect((one['recent'] as { state: string }[]).map(({ state }) => state)).toEqual(
    words(`
    filtered offered offered offered loaded filtered
  `),
  );
  expect(await stats('sandbox/skills/forms')).toMatchObject({ id: 'forms', offered: 4 }); // N16
  expect(await stats('soup')).toMatchObject({ offered: 0, filtered: 6, notOffered: { 'no trigger brought it': 6 } });
});

it('S90 S71 N14 what run_skill runs is loaded once, in the turn of its caller', async () => {
  world = await skillKernel({
    ...skill('linked', { body: 'See [the guide](references/guide.md).\n' }),
    'skills/linked/references/guide.md': 'GUIDE',
    ...agent('uses_tools: [skill_registry, skill_registry/run_skill]'),
  });
  const guide = call('read_skill_resource', { skill_id: 'linked', path: 'guide.md' });
  await world.chat('go', [call('run_skill', { skill_id: 'linked', task: 'Do it.' }), guide, { text: 'done' }]);
  await expect.poll(async () => (await stats('linked'))['resources'], { timeout: 3000 }).toBe(1);
  const one = await stats('linked');
  expect(one).toMatchObject({ turns: 1, offered: 1, loaded: { run_skill: 1 }, resources: 1 });
  expect(one['recent']).toMatchObject([{ agent: 'reader', state: 'loaded', how: 'run_skill' }]);
  expect((one['uses'] as { state: string }[]).map(({ state }) => state)).toEqual(['resource_read', 'loaded']);
});

it('S13 N10 list --all says once that two skills of one id differ', async () => {
  world = await skillKernel({
    ...skill('alpha'),
    'team/alpha/SKILL.md': skill('alpha', { body: 'Another text.\n' })['skills/alpha/SKILL.md']!,
    'pith.yaml': 'default_agent: reader\nskills: { sources: { replace: [sandbox/skills, sandbox/team] }, poll_seconds: 0 }\n',
  });
  expect((await world.print('skills list --all')).match(/and, with another text, in/g)).toHaveLength(1);
});

it('S90 stats counts what was never offered in one line, lists it with --all, and tells what state a carried skill has', async () => {
  world = await skillKernel({
    ...skill('alpha'),
    ...skill('beta'),
    ...skill('gamma'),
    ...skill('bound'),
    ...agent('uses_tools: [skill_registry], uses_skills: [bound], skills: { allow: [alpha] }'),
  });
  await world.chat('hello');
  await turnsWritten(1);
  const short = await world.print('skills stats');
  expect(short).toContain('2 more skills were never offered; --all shows them');
  expect(short).not.toContain('beta');
  expect(await world.print('skills stats --all')).toMatch(/^beta /m);
  expect(((await world.command('skills stats'))['skills'] as { id: string }[]).map(({ id }) => id).sort()).toEqual([
    'alpha',
    'beta',
    'bound',
    'gamma',
  ]);
  expect(await world.print('skills stats bound')).not.toContain('unknown');
});
