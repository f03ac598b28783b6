import { expect, it } from 'vitest';
import { skillsOffered, type SkillsOffered } from '../../../sandbox/extensions/skill_registry/contract.ts';
import { agent, call, skill, skillKernel, toolsOf } from '../skill_registry/skill-kernel.ts';

const FORMS = skill('forms', { more: 'triggers: { keywords: [form] }\n' });
const TAXES = skill('taxes', { more: 'triggers: { keywords: [form] }\n' });

it('S62 S65 the key triggers switches the catalog off and brings its tools, without an entry in uses_tools', async () => {
  const world = await skillKernel({ ...FORMS, ...TAXES, ...agent('quick', 'triggers: { max_skills: 1 }', 'uses_tools: []') });
  const offered: SkillsOffered[] = [];
  world.pith.kernel.events.handle(skillsOffered, (payload) => void offered.push(payload));
  const outcome = await world.turn('quick', 'fill in the form');
  expect([...toolsOf(outcome)].sort()).toEqual(['read_skill', 'read_skill_resource']);
  expect(outcome.requests[0]!.system).not.toContain('forms');
  const sent = JSON.stringify(outcome.requests[0]!.messages);
  expect(sent).toContain('BODY-OF-forms');
  expect(sent).not.toContain('BODY-OF-taxes');
  expect(world.used).toMatchObject([{ skillId: 'forms', state: 'loaded', how: 'trigger' }]);
  expect(offered).toMatchObject([{ agentId: 'quick', offered: [], shown: ['forms'], counts: { readable: 2, offered: 0, shown: 1 } }]);
  expect(await world.print('skills explain forms --agent quick --text form')).toContain('mode triggers of quick: yes');
});

it('S62 deny and mode of the key skills hold for it too', async () => {
  const world = await skillKernel({
    ...FORMS,
    ...agent('shut', 'triggers: {}', 'skills: { deny: [forms] }'),
    ...agent('blind', 'triggers: {}', 'skills: { mode: none }'),
  });
  for (const id of ['shut', 'blind']) {
    const outcome = await world.turn(id, 'fill in the form');
    expect(JSON.stringify(outcome.requests[0]), id).not.toContain('forms');
    expect(toolsOf(outcome), id).toEqual([]);
  }
});

it('a value that cannot be read is said, and the default stands', async () => {
  const world = await skillKernel({ ...FORMS, ...agent('quick', 'triggers: { max_skill: 1 }') });
  const [found] = (await world.pith.kernel.doctor()).agents.filter(({ id }) => id === 'quick');
  expect(JSON.stringify(found)).toContain("did you mean 'max_skills'");
});

it('S70 a toolset comes with the very message that brings its skill, and with each for which it stays in', async () => {
  const world = await skillKernel({
    ...skill('dice', { more: 'triggers: { keywords: [roll] }\ntoolsets: ["toolsets/index:list"]\n' }),
    'skills/dice/toolsets/index.ts': `import { defineTool, z } from 'pith';
export const list = [defineTool({ name: 'roll_dice', description: 'd', input: z.object({}), effect: 'read', execute: () => 'six' })];
`,
    ...agent('quick', 'triggers: {}'),
  });
  const outcome = await world.turn('quick', 'roll it', call('roll_dice', {}));
  expect(toolsOf(outcome)).toContain('roll_dice');
  expect(outcome.results[0]).toMatchObject({ ok: true, output: 'six' });
  expect(toolsOf(await world.turn('quick', 'and again?'))).toContain('roll_dice');
});
