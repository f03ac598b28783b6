import type { CommandProvider, Remote } from 'pith';
import { captureCommand } from '@pith/command-line';
import { testKernel, type TestKernel } from 'pith/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/core-commands.ts';
import { createKernel, type Kernel } from '../../../core/compose/index.ts';

let test: TestKernel | undefined;
let kernel: Kernel | undefined;
afterEach(async () => {
  await kernel?.stop();
  await test?.stop();
  test = kernel = undefined;
});

const signal = new AbortController().signal;

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
  test = await testKernel({ files });
  kernel = await createKernel({ accepts: true, sandbox: test.sandbox, env: {}, home: null, flags, commands: kernelCommands });
  const result = await kernel.extensions.callTool('asker', 'look', {}, { turn: {} as never, idempotencyKey: 'k' }, signal);
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

describe('captureCommand', () => {
  const provider = {
    extensionId: 'notes',
    getCommands: async () => [
      {
        path: 'notes list',
        description: 'Lists.',
        options: [{ name: 'limit', type: 'number' as const, description: 'How many', default: 3 }],
        run: async ({ arguments: given, options }: never, io: never) => {
          const { json, print, ask } = io as { json(v: unknown): void; print(t: string): void; ask(q: string): Promise<string | null> };
          json({ given, options });
          json(await ask('really?'));
          print('told');
          return 4;
        },
      },
    ],
  } as unknown as Remote<CommandProvider>;

  it('gives the values, the text and the exit code, with the defaults of options; nobody answers', async () => {
    expect(await captureCommand(provider, 'notes list', { arguments: { id: 'a' } }, signal)).toEqual({
      exitCode: 4,
      values: [{ given: { id: 'a' }, options: { limit: 3 } }, null],
      text: 'told',
    });
  });

  it('rejects command_unknown', async () => {
    await expect(captureCommand(provider, 'notes', {}, signal)).rejects.toMatchObject({ code: 'command_unknown' });
  });
});
