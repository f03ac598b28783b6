import { expect, it } from 'vitest';
import { agent, call, lastResult, skill, skillKernel, toolsOf } from '../skill-kernel.ts';

/** A mode of one's own: an extension of the sandbox with an agent key, its own words for the model, and what it brings. */
const MODE = {
  'extensions/my_mode/manifest.yaml':
    'id: my_mode\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [context, skills.mode]\ndepends_on: [skill_registry]\nagent_keys: [shelf]\n',
  'extensions/my_mode/main.ts': `import { z } from 'pith';
import { SkillLibrary, SkillMode } from 'pith/skill_registry';
export default class MyMode {
  static agentKeys = { shelf: z.strictObject({}) };
  contextPriority = 60;
  constructor(context) { this.library = context.use(SkillLibrary); context.provide(SkillMode, this); }
  async modeOf(agent) { return agent.keys.shelf === undefined ? null : 'shelf'; }
  async skillsFor() { return []; }
  async getContext(prompt, turn) {
    if ((await this.modeOf(turn.agent)) === null) return null;
    const { agent } = await this.library.records({ turn });
    return { system: 'SHELF: ' + agent.readable.join(', ') };
  }
}
`,
};

it('a mode is added by an extension, and edits no file that is there', async () => {
  const { turn } = await skillKernel({
    ...MODE,
    ...skill('letters'),
    ...skill('tables'),
    ...agent('shelved', 'shelf: {}', 'skills: { deny: [tables] }'),
    ...agent('usual', 'uses_tools: [skill_registry]'),
  });
  const outcome = await turn('shelved', 'hello', call('read_skill', { skill_id: 'letters' }), call('read_skill', { skill_id: 'tables' }));
  expect(outcome.requests[0]!.system).toContain('SHELF: letters');
  expect(outcome.requests[0]!.system).not.toContain('[Available Skills]');
  expect(toolsOf(outcome)).toEqual(['read_skill', 'read_skill_resource']);
  expect(String(outcome.results[0]!.output)).toContain('BODY-OF-letters');
  expect(outcome.results[1]).toMatchObject({ error: { code: 'skill_not_found' } });
  const usual = await turn('usual', 'hello');
  expect(usual.requests[0]!.system).toContain('[Available Skills]');
  expect(usual.requests[0]!.system).not.toContain('SHELF');
  expect(lastResult(await turn('usual', 'go on', call('read_skill', { skill_id: 'tables' })))).toContain('BODY-OF-tables');
});
