import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../../../core/contract/index.ts';
import { fakeClock, scriptedModel, type ScriptedStep } from 'pith/testing';
import { kernelOf } from '../../places.ts';

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

/** A kernel with these settings; once it serves, `told` has the problems that were found since. */
async function kernelWith(settings: string, script: readonly ScriptedStep[] = []) {
  const clock = fakeClock();
  const world = await kernelOf({ files: { ...FILES, 'pith.yaml': settings }, only: [], clock, model: scriptedModel(script) });
  const told: Diagnostic[] = [];
  world.kernel.events.handle('problem.found', (problem) => void told.push(problem));
  return { world, clock, told };
}
const [GREET, DONE] = [{ calls: [{ name: 'greet', input: {} }] }, { text: 'done' }];
const CALL = [GREET, DONE];

describe('settings that change while Pith runs', () => {
  it('K50 broken settings at the start: a tool asks', async () => {
    const { world } = await kernelWith('default_agent: me\napprovals:\n  tool: [it]\n', [GREET]);
    expect((await world.run('go')).reason).toBe('awaiting_approval');
  });

  it('K7 edits by hand are taken at the next look, without a restart', async () => {
    const { world, clock } = await kernelWith('default_agent: me\n', [...CALL, ...CALL, GREET]);
    expect((await world.run('one')).results[0]).toMatchObject({ output: 'hello' });
    await world.write('pith.yaml', 'default_agent: me\nextensions: { it: { greeting: Salve } }\n');
    await clock.advance(1500);
    expect((await world.run('two')).results[0]).toMatchObject({ output: 'Salve' });
    await world.write('pith.yaml', 'default_agent: me\napprovals: { tools: [it] }\n');
    await clock.advance(1500);
    expect((await world.run('three')).reason).toBe('awaiting_approval');
  });

  it('K7 settings that hold stay when the file breaks, which is told once', async () => {
    const { world, told } = await kernelWith('default_agent: me\napprovals: { tools: [it] }\n', [GREET]);
    const { kernel } = world;
    await kernel.start();
    await world.write('pith.yaml', 'default_agent: you\nmodels:\n\tdefault: x\n');
    await kernel.host.extensions.refresh();
    await kernel.host.extensions.refresh();
    expect(told).toMatchObject([{ message: expect.stringContaining('keeping the previous settings') }]);
    expect(kernel.settings.default_agent).toBe('me');
    expect((await world.run('go')).reason).toBe('awaiting_approval');
  });

  it('K7 settings that hold stay while the file is empty, which is told once; the edit that follows counts', async () => {
    const { world, told } = await kernelWith('default_agent: me\napprovals: { tools: [it] }\n', [GREET]);
    const { kernel } = world;
    await kernel.start();
    await world.write('pith.yaml', '');
    await kernel.host.extensions.refresh();
    await kernel.host.extensions.refresh();
    expect(told).toMatchObject([{ message: 'sandbox/pith.yaml is empty; keeping the previous settings' }]);
    expect((await world.run('go')).reason).toBe('awaiting_approval');
    await world.write('pith.yaml', '# none\n');
    await kernel.host.extensions.refresh();
    expect(kernel.settings.approvals.tools).toEqual([]);
    await world.write('pith.yaml', '');
    await kernel.host.extensions.refresh();
    expect(told).toHaveLength(1); // nothing was there
  });

  it.each([
    ['a misspelt key', 'default_agnt: x\n', /^unknown key 'default_agnt' is ignored \(did you mean 'default_agent'/u],
    ['a wrong value', 'quotas: { keys: many }\n', /'quotas.keys' must be a number/u],
    ['a misspelt key of an extension', 'extensions: { it: { isolaton: process } }\n', /isolaton'.*'isolation'/u],
    ['a setting for nothing', 'extensions: { its: { a: 1 } }\n', /nothing declares 'its'/u],
  ])('K7 %s is said once, and everything else of the edit counts, also a safeguard', async (_name, line, message) => {
    const { world, clock, told } = await kernelWith('default_agent: me\n', [...CALL, GREET, ...CALL]);
    await world.kernel.start();
    expect((await world.run('one')).reason).toBe('done');
    await world.write('pith.yaml', `${line}default_agent: me\napprovals: { tools: [it] }\n`);
    await clock.advance(1500);
    expect((await world.run('two')).reason).toBe('awaiting_approval');
    await world.write('pith.yaml', `# later\n${line}default_agent: me\n`);
    await clock.advance(1500);
    expect((await world.run('three', { threadId: 'other' })).reason).toBe('done');
    expect(told).toMatchObject([{ message: expect.stringMatching(message) }]);
  });

  it('K7 approvals that cannot be read mean that every tool asks, also while Pith runs', async () => {
    const { world } = await kernelWith('default_agent: me\n', [GREET]);
    await world.write('pith.yaml', 'default_agent: me\napprovals: { tool: [it] }\n');
    await world.kernel.host.extensions.refresh();
    expect((await world.run('go')).reason).toBe('awaiting_approval');
  });
});
