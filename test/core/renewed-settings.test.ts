import { describe, expect, it } from 'vitest';
import { fakeClock, scriptedModel, testKernel } from '../../core/testing/index.ts';

const TOOL = `
import { defineTool, z } from 'pith';
export default class It {
  constructor(context) { this.context = context; }
  getTools() {
    const { config } = this.context;
    return [defineTool({ name: 'greet', description: 'Greets', effect: 'write', input: z.object({}), execute: async () => String(config.greeting ?? 'hello') })];
  }
}
`;
const FILES = {
  'extensions/it/manifest.yaml': 'id: it\ndescription: Greets\nprovides: [tool]\nentrypoint: main.ts\n',
  'extensions/it/main.ts': TOOL,
  'agents/me/manifest.yaml': 'id: me\nagent: { description: Me, uses_tools: [it] }\n',
};
const CALL = [{ calls: [{ name: 'greet', input: {} }] }, { text: 'done' }];

async function kernelWith(settings: string, script: ConstructorParameters<typeof Array>[0][] = []) {
  const clock = fakeClock();
  const model = scriptedModel(script as never);
  const world = await testKernel({ files: { ...FILES, 'pith.yaml': settings }, shipped: false, clock, model });
  return { world, clock };
}

describe('settings that change while Pith runs', () => {
  it('K50 broken settings at the start: a tool asks', async () => {
    const { world } = await kernelWith('default_agent: me\napprovals:\n  tool: [it]\n', [CALL[0]]);
    expect((await world.run('go')).reason).toBe('awaiting_approval');
    await world.stop();
  });

  it('K7 edits by hand are taken at the next look, without a restart', async () => {
    const { world, clock } = await kernelWith('default_agent: me\n', [...CALL, ...CALL, CALL[0]]);
    expect((await world.run('one')).results[0]).toMatchObject({ output: 'hello' });
    await world.write('pith.yaml', 'default_agent: me\nextensions: { it: { greeting: Salve } }\n');
    await clock.advance(1500);
    expect((await world.run('two')).results[0]).toMatchObject({ output: 'Salve' });
    await world.write('pith.yaml', 'default_agent: me\napprovals: { tools: [it] }\n');
    await clock.advance(1500);
    expect((await world.run('three')).reason).toBe('awaiting_approval');
    await world.stop();
  });

  it('K7 settings that hold stay when the file breaks, which is told once', async () => {
    const { world } = await kernelWith('default_agent: me\napprovals: { tools: [it] }\n', [CALL[0]]);
    const { kernel } = world;
    const told: unknown[] = [];
    kernel.events.handle('extension.failed', (failure) => void told.push(failure));
    await world.write('pith.yaml', 'default_agent: you\nmodels:\n\tdefault: x\n');
    await kernel.extensions.refresh();
    await kernel.extensions.refresh();
    expect(told).toMatchObject([{ extensionId: 'settings', phase: 'reload', message: expect.stringContaining('read before hold') }]);
    expect(kernel.settings.default_agent).toBe('me');
    expect((await world.run('go')).reason).toBe('awaiting_approval');
    await world.stop();
  });
});
