import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { questionLines } from '../../../core/cli/index.ts';
import { agent, call, createWorld as worldOf, type FakeTool, type WorldOptions } from './world.ts';

const extensions = {
  deputy: { tools: { own: { run: () => 'mine' } }, context: { priority: 10, get: () => 'what deputy knows' } },
  shelf: {
    tools: { take: { run: () => 'taken' }, burn: { needsApproval: 'always' as const } },
    context: { priority: 20, get: () => 'private' },
  },
};
const agents = [agent('main', { usesTools: ['*'] }), agent('greedy', { usesTools: ['*'], model: 'deputy/m' })];
/** `deputy` is nobody's whom the person trusts. */
async function createWorld(options: WorldOptions) {
  const world = await worldOf(options);
  Object.assign(world.kernel.host.extensions, { isForeign: (id: string) => id === 'deputy' });
  Object.assign(world.kernel.router, { providerOf: (ref: string) => (ref.includes('/') ? ref.split('/', 1)[0] : null) });
  return world;
}

describe('turns of extensions outside the kernel', () => {
  it('T14 F6: it has the tools and contexts of the extension alone, unless a person let it start the agent', async () => {
    const world = await createWorld({ agents, extensions, script: [{ text: 'one' }, { text: 'two' }, { text: 'three' }] });
    const origin = { extensionId: 'deputy', agents: ['main'] };
    await world.run('hi', { agent: 'greedy', origin, threadId: 'deputy:1' });
    await world.run('hi', { agent: agents[0], origin, threadId: 'deputy:2' });
    await world.run('hi', { agent: 'main', origin, threadId: 'deputy:3' });
    expect(world.model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['own'], ['own'], ['own', 'take', 'burn']]);
    expect(world.model.requests.map(({ system }) => system.includes('private'))).toEqual([false, false, true]);
  });

  it('T14 F6: a question in a turn of an agent that it may start names it, in words too', async () => {
    const world = await createWorld({ agents, extensions, script: [call('burn')] });
    const { events } = await world.run('hi', { origin: { extensionId: 'deputy', agents: ['main'] }, threadId: 'deputy:1' });
    expect(events).toContainEqual(expect.objectContaining({ type: 'approval-request', agents: ['main'], startedBy: ['deputy'] }));
    const [title, asker] = questionLines((await world.approvals.list())[0]!, {
      most: 40,
      wholeBy: 'v',
      colour: pc.createColors(false),
      columns: 80,
    });
    expect([title, asker]).toEqual(['run burn of shelf', "  asked by main, started by extension 'deputy'"]);
  });

  it('T14 F6: what a turn comes from is never loosened by a turn below it', async () => {
    const world = await createWorld({ agents, extensions, script: [call('own'), { text: 'below' }, { text: 'above' }] });
    const run: FakeTool['run'] = async (_, { turn }) =>
      (await world.collect({ input: 'x', threadId: `${turn.threadId}/x`, parent: turn })).text;
    await world.declare('deputy', { ...extensions.deputy, tools: { own: { run } } });
    await world.run('hi', { origin: { extensionId: 'deputy', agents: [] }, threadId: 'deputy:1' });
    expect(world.model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['own'], ['own'], ['own']]);
    expect((await world.threads.last('deputy:1/x'))?.policy.startedBy).toEqual([{ extensionId: 'deputy', ownOnly: true }]);
  });

  it('T14 F6: it goes on with no unfinished turn of somebody else', async () => {
    const world = await createWorld({ agents, extensions, script: [call('burn')] });
    await world.run('hi', { threadId: 'deputy:1' });
    const { end } = await world.collect({ origin: { extensionId: 'deputy', agents: [] }, threadId: 'deputy:1', resume: true });
    expect(end).toMatchObject({ reason: 'error', error: { code: 'not_allowed' } });
  });

  it('T14 F10: an agent that was made at run time has only the tools of the stranger whose model it names', async () => {
    const world = await createWorld({ agents, extensions, script: [{ text: 'one' }] });
    const { events } = await world.run('hi', { agent: agent('made_x', { usesTools: ['*'], model: 'deputy/m', origin: null }) });
    expect(world.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['own']);
    expect(events).toContainEqual(expect.objectContaining({ type: 'notice', code: 'model_not_chosen' }));
  });
});
