import { expect, it } from 'vitest';
import { checkSpan, collectSpans } from '../../span-collector.ts';
import { call, skillKernel, skill } from './skill-kernel.ts';

it('S90 U51 loading a skill is an execute_tool span with its name and source, by a tool and with the message alike', async () => {
  const spans = collectSpans();
  const world = await skillKernel({
    ...skill('alpha'),
    ...skill('beta'),
    ...skill('gamma', { name: 'Gamma Rays' }),
    'agents/reader/manifest.yaml': 'id: reader\nagent: { uses_tools: [skill_registry], uses_skills: [alpha, beta] }\n',
  });
  await world.chat('go', [call('read_skill', { skill_id: 'gamma' })]);
  await world.pith.stop();
  for (const span of spans) checkSpan(span);
  const loads = spans.filter(({ attributes }) => attributes['gen_ai.skill.name'] !== undefined);
  expect(loads.map(({ name, parent, ended }) => [name, parent, ended])).toEqual([
    ['execute_tool load_skill alpha', 'invoke_agent reader', true],
    ['execute_tool load_skill beta', 'invoke_agent reader', true],
    ['execute_tool read_skill Gamma Rays', 'invoke_agent reader', true],
  ]);
  expect(loads[2]?.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'read_skill',
    'pith.skill.id': 'gamma',
    'pith.skill.how': 'read_skill',
  });
  for (const { attributes } of loads) expect(attributes['gen_ai.skill.source.uri']).toMatch(/^file:\/\/\/.*\/skills\/[a-z]+$/u);
  expect(loads[0]?.attributes).toMatchObject({ 'pith.skill.how': 'uses_skills' });
});
