import { testKernel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { callTool } from './extensions.ts';

const files = {
  'extensions/asker/manifest.yaml': 'id: asker\nentrypoint: main.ts\nprovides: [tool]\ndepends_on: [wanted]\n',
  'extensions/asker/main.ts': `
import { CommandProvider, defineTool, SetupProvider, SkillProvider, ToolProvider, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    const { context } = this;
    return [defineTool({ name: 'look', description: 'Looks around.', input: z.object({}), effect: 'read',
      execute: async () => ({
        commands: (await Promise.all(context.find(CommandProvider).map((provider) => provider.getCommands()))).flat().map(({ path }) => path),
        setup: context.find(SetupProvider).map(({ extensionId }) => extensionId),
        tools: context.find(ToolProvider).map(({ extensionId }) => extensionId),
        skills: context.find(SkillProvider).map(({ extensionId }) => extensionId),
        used: await Promise.resolve().then(() => context.use(CommandProvider).extensionId).catch(({ code }) => code),
      }) })];
  }
}
`,
  'extensions/wanted/manifest.yaml': 'id: wanted\nentrypoint: main.ts\nprovides: [command]\n',
  'extensions/wanted/main.ts': `export default class { getCommands() { return [{ path: 'wanted', description: 'Wanted.', run: async () => 0 }]; } }`,
};

async function look(flags: object): Promise<unknown> {
  await using test = await testKernel({
    only: ['skill_registry', 'openai_compatible'],
    files,
    flags,
    isolation: 'process',
    commands: kernelCommands,
  });
  const result = await callTool(test.kernel.host, 'asker', 'look');
  expect(result).toMatchObject({ ok: true });
  return result.ok ? result.output : null;
}

describe('what acts as a person', () => {
  it('K50 K62 commands, set-up and tools of others are out of reach of an extension in a separate process', async () => {
    expect(await look({})).toEqual({
      commands: [],
      setup: [],
      tools: [],
      skills: ['skill_registry'],
      used: expect.stringMatching(/^not_/),
    });
  });

  it('K62 an extension that a person lets run in process finds them', async () => {
    const seen = await look({ extensions: { asker: { isolation: 'in_process' } } });
    expect(seen).toMatchObject({
      commands: expect.arrayContaining(['extensions reload', 'approvals approve', 'tools call', 'wanted']),
      setup: expect.arrayContaining(['openai_compatible']),
      used: 'wanted',
    });
  });
});
