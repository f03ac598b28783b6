import { expect, it } from 'vitest';
import { agent, skill, skillKernel, without } from '../skill_registry/skill-kernel.ts';

const OFF = { ...without('skill_triggers'), ...skill('forms', { more: 'triggers: { keywords: [form] }\n' }) };

it('without skill_triggers the chat goes on with a catalog, also of the agents that had triggers', async () => {
  const world = await skillKernel({
    ...OFF,
    ...agent('former', 'skills: { mode: triggers }'),
    ...agent('own', 'triggers: { max_skills: 1 }', 'uses_tools: [skill_registry]'),
  });
  for (const id of ['reader', 'former', 'own']) {
    const { text, requests } = await world.turn(id, 'fill in the form');
    expect(text, id).toBe('done');
    expect(requests[0]!.system, id).toContain('`forms` — ');
    expect([id, ...requests[0]!.tools.map(({ name }) => name)]).toContain('read_skill');
    expect(JSON.stringify(requests[0]!.messages), id).not.toMatch(/BODY-OF-forms|Skills for this message/);
  }
  expect(await world.print('skills explain forms --agent former --text form')).not.toContain('triggers:');
});

it('with skills switched off a message brings none', async () => {
  const settings = 'default_agent: quick\nskills: { sources: { replace: [sandbox/skills] }, enabled: false }\n';
  const world = await skillKernel({ ...OFF, 'pith.yaml': settings, ...agent('quick', 'triggers: {}') });
  const { requests } = await world.turn('quick', 'fill in the form');
  expect(JSON.stringify(requests[0])).not.toContain('form`');
  expect(JSON.stringify(requests[0])).not.toContain('BODY-OF-forms');
});
