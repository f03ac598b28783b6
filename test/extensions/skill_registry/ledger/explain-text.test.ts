import { afterEach, expect, it } from 'vitest';
import { call, ledgerKernel, skill, type LedgerKernel } from './ledger-kernel.ts';

let world: LedgerKernel | undefined;
afterEach(async () => {
  await world?.pith.stop();
  world = undefined;
});

const many = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    skill(`report-${String(at).padStart(2, '0')}`, { description: `Writes the yearly report of branch ${at}.` }),
  );
const agent = (id: string, skills: string) => ({
  [`agents/${id}/manifest.yaml`]: `id: ${id}\nagent: { uses_tools: [skill_registry], skills: ${skills} }\n`,
});

it('R12 explain --text tells rank, reason, where it stands for that text, and the state of the budget, among what the agent may see', async () => {
  world = await ledgerKernel({
    ...(Object.assign({}, ...many(40)) as Record<string, string>),
    ...skill('zoo', { description: 'Feeds penguins.' }),
    ...skill('aviary', { description: 'Feeds parrots.', body: 'They eat sunflower seeds.\n' }),
    ...agent('small', '{ budget_tokens: 150, pinned: [zoo] }'),
    ...agent('two', '{ allow: [zoo, aviary] }'),
  });
  const text = async (line: string) => world!.print(`skills explain ${line}`);
  expect(await world.command('skills explain aviary --agent small --text parrots')).toMatchObject({
    catalog: { budget: 150, withinBudget: false, skills: 42, lines: 1, rest: 'groups' },
    ranking: { rank: 1, of: 1, why: ['parrots'], by: 'lexical', place: 'beside' },
    learned: 0,
  });
  const aviary = await text('aviary --agent small --text parrots');
  expect(aviary).toMatch(/^budget: \d+ of 150 tokens for 42 skills: 1 with a line, 41 counted in groups$/m);
  expect(aviary).toMatch(/^search: ranks 1 of 1 for 'parrots' \(score [\d.]+; matched parrots\)$/m);
  expect(aviary).toContain('for this text: it stands beside the message, among the 12 that fit best');
  expect(await text('zoo --agent small --text parrots')).toContain('for this text: its line stands in the system prompt anyway');
  expect(await text('report-30 --agent small --text parrots')).toContain('for this text: nothing brings it');
  const two = await text('aviary --agent two --text feeds');
  expect(two).toMatch(/^budget: \d+ of 2000 tokens for 2 skills: 2 with a line$/m);
  expect(two).toContain("search: ranks 1 of 2 for 'feeds'");
  expect(await world.command('skills explain report-30 --agent two --text report')).toMatchObject({
    ranking: { rank: null, of: 0, place: 'none' },
  });
});

it('R5 explain tells how many learned examples help to find a skill', async () => {
  world = await ledgerKernel(skill('alpha'));
  await world.turn('Plan our paddling trip through the fjords', [call('read_skill', { skill_id: 'alpha' })]);
  await expect
    .poll(() => world!.print('skills explain alpha'))
    .toContain('learned: 1 of the texts that it was loaded for helps to find it');
});

it('R12 explain shows no line of what the agent may not see, and refuses an empty text as search does', async () => {
  world = await ledgerKernel({ ...skill('alpha'), ...skill('beta'), ...agent('two', '{ allow: [beta] }') });
  expect(await world.print('skills explain alpha --agent two')).not.toContain('line: ');
  expect(await world.print('skills explain beta --agent two')).toContain('line: • `beta`');
  for (const wrong of ['0', '1.5', '-1']) {
    await expect(world.print(`skills search -k=${wrong} all`)).rejects.toMatchObject({ code: 'usage' });
    await expect(world.print(`skills eval -k=${wrong}`)).rejects.toMatchObject({ code: 'usage' });
  }
  await expect(world.print('skills explain alpha --text=')).rejects.toMatchObject({ code: 'usage', message: '--text is empty' });
});

it('R12 explain counts all skills that rank, and all others that do', async () => {
  world = await ledgerKernel({
    ...(Object.assign({}, ...many(1010)) as Record<string, string>),
    ...skill('zoo', { description: 'Feeds penguins.' }),
  });
  expect(await world.command('skills explain zoo --text report')).toMatchObject({ ranking: { rank: null, of: 1010 } });
});
