import { captureCommand, type CommandProvider, type Remote } from 'pith';
import { testKernel, type TestKernel } from 'pith/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/commands/index.ts';
import { createKernel, type Kernel } from '../../../core/kernel.ts';

let test: TestKernel | undefined;
let kernel: Kernel | undefined;
afterEach(async () => {
  await kernel?.stop();
  await test?.stop();
  test = kernel = undefined;
});

const signal = new AbortController().signal;

const files = {
  'extensions/asker/manifest.yaml': 'id: asker\nentrypoint: main.ts\nprovides: [tool]\n',
  'extensions/asker/main.ts': `
import { CommandProvider, defineTool, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    return [defineTool({ name: 'commands', description: 'Lists them.', input: z.object({}), effect: 'read',
      execute: async () => {
        const kernel = this.context.find(CommandProvider).find(({ extensionId }) => extensionId === 'kernel');
        return (await kernel.getCommands()).map(({ path }) => path);
      } })];
  }
}
`,
};

async function commandsSeen(flags: object): Promise<readonly string[]> {
  test = await testKernel({ files });
  kernel = await createKernel({ sandbox: test.sandbox, env: {}, home: null, flags, commands: kernelCommands });
  const result = await kernel.extensions.callTool('asker', 'commands', {}, { turn: {} as never, idempotencyKey: 'k' }, signal);
  expect(result).toMatchObject({ ok: true });
  return result.ok ? (result.output as string[]) : [];
}

describe("the kernel's commands", () => {
  it('K62 those that change something are found only by extensions that a person lets run in process', async () => {
    const paths = await commandsSeen({});
    expect(paths).toContain('extensions list');
    expect(paths).not.toContain('extensions reload');
    for (const answering of ['approvals approve', 'approvals reject', 'approvals wait']) expect(paths).not.toContain(answering); // K50
  });

  it('K62 an extension that is granted finds them all', async () => {
    expect(await commandsSeen({ extensions: { asker: { isolation: 'in_process' } } })).toContain('extensions reload');
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
