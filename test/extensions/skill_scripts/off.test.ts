import path from 'node:path';
import { expect, it } from 'vitest';
import { openKernel } from '../../../core/cli/index.ts';
import { cli } from '../../core/cli/fakes.ts';
import { TOOLSETS_RUN } from '../../fixtures/toolset-settings.ts';
import { agent, call, skill, skillKernel, toolsOf, without } from '../skill_registry/skill-kernel.ts';

it('without skill_scripts the chat goes on with catalog and bodies, nothing of a skill runs, and the agent says so once', async () => {
  const world = await skillKernel({
    ...skill('letters', { more: 'scripts: [scripts/count.sh]\ntoolsets: ["toolsets/index:list"]\n' }),
    'skills/letters/scripts/count.sh': 'echo counted\n',
    'skills/letters/toolsets/index.ts': 'export const list = [];\n',
    ...without('skill_scripts'),
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

/** A skill with a script and a toolset, and an agent, `runner`, that has the tools of both. */
const DICE = {
  ...skill('dice', { more: 'scripts: [scripts/count.sh]\ntoolsets: ["toolsets/index:list"]\n' }),
  'skills/dice/scripts/count.sh': 'echo counted\n',
  'skills/dice/toolsets/index.ts': `import { defineTool, z } from 'pith';
export const list = [defineTool({ name: 'roll', description: 'Rolls.', input: z.object({}), execute: () => 4 })];
`,
  ...agent('runner', 'uses_tools: [skill_registry, skill_scripts/run_skill_script, "toolset:dice"]', 'uses_skills: [dice]'),
};

const SETTINGS = (enabled: boolean) =>
  `default_agent: runner\nskills: { enabled: ${enabled}, sources: { replace: [sandbox/skills] }, poll_seconds: 0 }\n${TOOLSETS_RUN}`;
const OWN = /roll|run_skill_script/;

it('S15 skills.enabled: false lists no run_skill_script and brings no toolset, to whoever asks, over a restart and while a chat runs', async () => {
  const world = await skillKernel({ ...DICE, 'pith.yaml': SETTINGS(true) });
  const { pith } = world;
  const offered = async () => toolsOf(await world.chat('go')).filter((name) => OWN.test(name));
  const isOpen = () => pith.kernel.host.extensions.show('toolset:dice') !== null;
  expect(await offered()).toEqual(['run_skill_script', 'roll']);

  await pith.write('pith.yaml', SETTINGS(false));
  await pith.kernel.host.extensions.refresh();
  for (const round of ['running', 'restarted']) {
    if (round === 'restarted') await pith.restart();
    expect([round, await offered(), isOpen()]).toEqual([round, [], false]);
    await pith.kernel.doctor(); // looks at all that can be declared
    await expect(pith.kernel.host.dynamic.open('skill_scripts', 'toolset:dice').opened).rejects.toThrow(
      'does not declare it at the moment',
    );
    expect([round, isOpen()]).toEqual([round, false]);
  }

  await pith.write('pith.yaml', SETTINGS(true));
  await pith.kernel.host.extensions.refresh();
  expect(await offered()).toEqual(['run_skill_script', 'roll']);
});

it('S15 --no-skills does the same for one command, and is listed once', async () => {
  const { pith } = await skillKernel({ ...DICE, 'pith.yaml': SETTINGS(true) });
  await pith.kernel.stop();
  const run = (...words: string[]) => cli([...words, '--trust'], { cwd: path.dirname(pith.sandbox), openKernel });
  const tools = async (...more: string[]) => (await run('tools', 'list', '--agent', 'runner', ...more)).out;
  expect(await tools()).toMatch(OWN);
  expect(await tools('--no-skills')).not.toMatch(OWN);
  expect((await run('--help', '--all')).out.match(/--no-skills/g)).toHaveLength(1);
});
