import path from 'node:path';
import { expect, it } from 'vitest';
import { pithHere } from '../../journeys/pith-here.ts';
import { call, skill, skillKernel, without } from '../skill_registry/skill-kernel.ts';

const SKILLS = { ...skill('letter-writing', { more: 'tags: [post]\n' }), ...skill('bird-feeding') };

it('R1 without skill_search a chat goes on, the catalog stands, shared words find skills and say so, and its commands are gone', async () => {
  const world = await skillKernel({ ...SKILLS, ...without('skill_search') });
  const { requests } = await world.chat('hello');
  expect(requests[0]!.system).toContain('`letter-writing`');
  const found = await world.resultOf('list_skills', { query: 'write a letter' });
  expect(found).toMatch(/• `letter-writing`.*\[matches: .*letter\]/);
  expect(found).not.toContain('bird-feeding');
  expect(found).toContain("(only ids, names and tags were searched: the ranker 'skill_search' is not there)");
  expect(await world.resultOf('list_skills', { query: 'all about birds' })).toContain('bird-feeding');
  for (const name of ['search', 'enrich', 'forget'])
    expect(await pithHere(['skills', name, 'x'], { cwd: path.dirname(world.pith.sandbox) })).toMatchObject({
      code: 2,
      err: expect.stringContaining(`no command 'skills ${name}': its extension 'skill_search' is switched off`),
    });
  expect(await world.print('skills explain letter-writing --text letter')).not.toContain('search: ranks');
  expect((await world.pith.kernel.problems()).map(({ code }) => code)).not.toContain('ranker_unknown'); // who switched it off knows
  const { notes } = await world.pith.kernel.doctor();
  expect(notes).toContainEqual(expect.objectContaining({ code: 'ranker_unknown', message: expect.stringContaining("'skill_search'") }));
});

it('R3 until the ranker knows the skills, shared words answer and say that more will be found', async () => {
  const world = await skillKernel(SKILLS);
  expect(await world.resultOf('list_skills', { query: 'letter' })).toContain('letter-writing');
  expect(await world.print('skills search all about letter')).toMatch(/^ID .*\nletter-writing /);
  await world.chat('go', [call('read_skill', { skill_id: 'bird-feeding' })]);
});
