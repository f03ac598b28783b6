import { expect, it } from 'vitest';
import { agent, call, skill, skillKernel } from '../skill_registry/skill-kernel.ts';

it('without skill_scripts the chat goes on with catalog and bodies, nothing of a skill runs, and the agent says so once', async () => {
  const world = await skillKernel({
    ...skill('letters', { more: 'scripts: [scripts/count.sh]\ntoolsets: ["toolsets/index:list"]\n' }),
    'skills/letters/scripts/count.sh': 'echo counted\n',
    'skills/letters/toolsets/index.ts': 'export const list = [];\n',
    'pith.yaml':
      'default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\nextensions: { skill_scripts: { enabled: false } }\n',
    ...agent('runner', 'uses_tools: [skill_registry, skill_scripts/run_skill_script]'),
  });
  const { text, requests, events } = await world.turn('runner', 'go', call('read_skill', { skill_id: 'letters' }));
  expect(text).toBe('done');
  expect(requests[0]!.system).toContain('`letters` — ');
  expect(requests[0]!.tools.map(({ name }) => name)).not.toContain('run_skill_script');
  expect(JSON.stringify(requests.at(-1)!.messages)).toContain('BODY-OF-letters');
  const notices = events.flatMap((event) => (event.type === 'notice' ? event.message : []));
  expect(notices.filter((notice) => notice.includes('skill_scripts'))).toHaveLength(1);
  await expect(world.print('skills allow letters')).rejects.toThrow('skills allow');
});
