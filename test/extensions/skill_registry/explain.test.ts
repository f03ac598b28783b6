import { expect, it } from 'vitest';
import { agent, call, crowd, skill, skillKernel, SKILLS, type SkillKernel } from './skill-kernel.ts';

let world: SkillKernel;

const scoped = (id: string, skills: string) => agent(id, 'uses_tools: [skill_registry]', `skills: ${skills}`);

it('S82 S90 explain tells the last uses of a skill from the ledger', async () => {
  world = await skillKernel(skill('alpha'), { only: ['orchestrator', 'skill_stats'] });
  expect(await world.print('skills explain alpha')).toContain('not used in the last 30 days');
  await world.chat('go', [call('read_skill', { skill_id: 'alpha' })]);
  await expect
    .poll(() => world.print('skills explain alpha'))
    .toMatch(/^used \d{4}-\d\d-\d\d \d\d:\d\d by reader: loaded by read_skill, sha256 [0-9a-f]{12}$/m);
  expect((await world.command('skills explain alpha --agent reader'))['skill_stats']).toMatchObject([
    { state: 'loaded', how: 'read_skill' },
  ]);
  expect(await world.print('skills explain alpha --agent orchestrator')).toContain('not used in the last 30 days');
});

it('S82 explain says what an agent of another mode is told', async () => {
  world = await skillKernel({
    ...skill('alpha'),
    ...skill('beta'),
    ...scoped('caller', '{ mode: single_tool, deny: [beta] }'),
  });
  const catalog = async (line: string) => (await world.command(`skills explain ${line}`))['catalog'];
  expect(await catalog('alpha --agent caller')).toMatchObject({ mode: 'single_tool', offered: true, withinBudget: null });
  expect(await catalog('beta --agent caller')).toMatchObject({ offered: false, why: "the agent's skills.deny names it" });
});

it('S82 explain lists the scripts of a skill, and whether they can be run', async () => {
  world = await skillKernel({
    ...skill('alpha', { more: 'scripts: [scripts/run.sh, scripts/gone.sh]\n' }),
    'skills/alpha/scripts/run.sh': 'true',
  });
  const text = await world.print('skills explain alpha --agent reader');
  expect(text).toContain('script scripts/run.sh: no, the agent does not name skill_scripts/run_skill_script');
  expect(text).toContain('script scripts/gone.sh: no, its file is missing');
  expect(await world.print('skills explain alpha')).toContain('script scripts/run.sh: by agents that name skill_scripts/run_skill_script');
});

const many = (count: number) =>
  crowd(
    count,
    (at) => `report-${String(at).padStart(2, '0')}`,
    (at) => `Writes the yearly report of branch ${at}.`,
  );

it('R12 explain --text tells rank, reason, where it stands for that text, and the state of the budget, among what the agent may see', async () => {
  world = await skillKernel({
    ...many(40),
    ...skill('zoo', { description: 'Feeds penguins.' }),
    ...skill('aviary', { description: 'Feeds parrots.', body: 'They eat sunflower seeds.\n' }),
    ...scoped('small', '{ budget_tokens: 150, pinned: [zoo] }'),
    ...scoped('two', '{ allow: [zoo, aviary] }'),
  });
  const text = async (line: string) => world.print(`skills explain ${line}`);
  expect(await world.command('skills explain aviary --agent small --text parrots')).toMatchObject({
    catalog: { budget: 150, withinBudget: false, skills: 42, lines: 1, rest: 'groups' },
    skill_search: { ranking: { rank: 1, why: ['parrots'], weak: false, by: 'lexical' }, learned: 0 },
    place: 'beside',
  });
  const aviary = await text('aviary --agent small --text parrots');
  expect(aviary).toMatch(/^budget: \d+ of 150 tokens for 42 skills: 1 with a line, 41 named or counted by topic$/m);
  expect(aviary).toMatch(/^search: ranks 1 of \d+ for 'parrots' \(score [\d.]+; matched parrots\)$/m);
  expect(aviary).toContain('for this text: it is suggested with the message, among the 12 that fit best');
  expect(await text('zoo --agent small --text parrots')).toContain('for this text: its line is in the system prompt anyway');
  expect(await text('report-30 --agent small --text parrots')).toContain('for this text: nothing brings it');
  const two = await text('aviary --agent two --text feeds');
  expect(two).toMatch(/^budget: \d+ of 2000 tokens for 2 skills: 2 with a line$/m);
  expect(two).toContain("search: ranks 1 of 2 for 'feeds'");
  expect(await world.command('skills explain report-30 --agent two --text report')).toMatchObject({
    skill_search: { ranking: { rank: null, of: 0 } },
    place: 'none',
  });
});

it('R12 explain shows no line of what the agent may not see, and refuses an empty text as search does', async () => {
  const only = [...SKILLS, 'skill_evals'];
  world = await skillKernel({ ...skill('alpha'), ...skill('beta'), ...scoped('two', '{ allow: [beta] }') }, { only });
  expect(await world.print('skills explain alpha --agent two')).not.toContain('line: ');
  expect(await world.print('skills explain beta --agent two')).toContain('line: • `beta`');
  for (const wrong of ['0', '1.5', '-1']) {
    await expect(world.print(`skills search -k=${wrong} all`)).rejects.toMatchObject({ code: 'usage' });
    await expect(world.print(`skills eval -k=${wrong}`)).rejects.toMatchObject({ code: 'usage' });
  }
  await expect(world.print('skills explain alpha --text=')).rejects.toMatchObject({ code: 'usage', message: '--text is empty' });
});

it('R12 explain counts all skills that rank, and all others that do', async () => {
  world = await skillKernel({ ...many(1010), ...skill('zoo', { description: 'Feeds penguins.' }) });
  expect(await world.command('skills explain zoo --text report')).toMatchObject({ skill_search: { ranking: { rank: null, of: 1010 } } });
});
