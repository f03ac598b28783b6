import { expect, it } from 'vitest';
import { checkSpan, collectSpans, type SeenSpan } from '../../span-collector.ts';
import { skillUsed } from '../../../sandbox/extensions/skill_registry/contract.ts';
import { until } from '../../waiting.ts';
import { agent, call, skillKernel, skill } from './skill-kernel.ts';

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

const LETTERS = skill('letters', { name: 'Polite Letters', more: 'triggers: { keywords: [letter] }\n' });
/** The one span that names the skill, once it has ended. */
const loadOf = (spans: readonly SeenSpan[]) =>
  until(() => spans.find(({ attributes, ended }) => attributes['gen_ai.skill.name'] === 'Polite Letters' && ended) ?? false);

it('U51 a skill that the single tool loads is on the span of its call', async () => {
  const spans = collectSpans();
  const world = await skillKernel({ ...LETTERS, ...agent('single', 'uses_tools: [skill_registry]', 'skills: { mode: single_tool }') });
  await world.turn('single', 'go', call('skill', { skill_name: 'letters' }));
  const load = await loadOf(spans);
  checkSpan(load);
  expect(load).toMatchObject({ name: 'execute_tool skill Polite Letters', parent: 'invoke_agent single' });
  expect(load.attributes['gen_ai.skill.source.uri']).toMatch(/^file:\/\/.*\/skills\/letters$/u);
});

it('U51 a skill that comes by a trigger has a span below its turn, with its source', async () => {
  const spans = collectSpans();
  const world = await skillKernel({ ...LETTERS, ...agent('quick', 'triggers: {}', 'uses_tools: []') });
  await world.turn('quick', 'write a letter');
  const load = await loadOf(spans);
  checkSpan(load);
  expect(load).toMatchObject({ name: 'execute_tool load_skill Polite Letters', parent: 'invoke_agent quick' });
  expect(load.attributes).toMatchObject({ 'pith.skill.how': 'trigger', 'pith.skill.id': 'letters' });
  expect(load.attributes['gen_ai.skill.source.uri']).toMatch(/^file:\/\/.*\/skills\/letters$/u);
});

it('U51 a skill that a channel loads with a message has a span below its turn, with its source', async () => {
  const spans = collectSpans();
  const world = await skillKernel(LETTERS);
  const { events } = world.pith.kernel;
  world.model.add({ text: 'done' });
  for await (const event of world.pith.kernel.agents.run({ agent: 'reader', threadId: 'test', input: 'go' })) {
    if (event.type !== 'turn-start') continue;
    const { turn: turnId, thread: threadId, agent: agentId } = event; // as the terminal does, outside of all spans
    events.publish(skillUsed, {
      turnId,
      threadId,
      agentId,
      skillId: 'letters',
      state: 'loaded',
      how: 'slash',
      sha256: 'x',
      correlationId: null,
    });
  }
  const load = await loadOf(spans);
  checkSpan(load);
  expect(load).toMatchObject({ name: 'execute_tool load_skill Polite Letters', parent: 'invoke_agent reader' });
  expect(load.attributes['gen_ai.skill.source.uri']).toMatch(/^file:\/\/.*\/skills\/letters$/u);
});
