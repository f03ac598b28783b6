import { describe, expect, it } from 'vitest';
import { agent, call, createWorld } from './world.ts';

describe('the gate', () => {
  it('K50 one tool called as an agent is refused where nobody can be asked, and runs only when the person says so', async () => {
    const world = await createWorld({ tools: { always: { needsApproval: 'always' } } });
    const { callTool } = world.kernel.agents;
    expect(await callTool('main', 'always', {})).toMatchObject({ ok: false, error: { code: 'approval_needed' } });
    const asked: unknown[] = [];
    const person = (says: boolean) => ({ agentId: 'main', approve: async (question: unknown) => (asked.push(question), says) });
    expect(await callTool(person(false), 'always', { a: 1 })).toMatchObject({ ok: false, error: { code: 'approval_denied' } });
    expect(world.calls).toHaveLength(0);
    expect(await callTool(person(true), 'always', { a: 1 })).toMatchObject({ ok: true });
    expect(asked[1]).toMatchObject({ tool: 'ext/always', summary: null, input: { a: 1 }, enforced: 'not sandboxed: sees what you see' });
  });

  it('K50 a policy takes tools away from the model and refuses them when they are called all the same', async () => {
    const world = await createWorld({
      agents: [agent('main', { usesTools: ['ext', 'more'] })],
      extensions: { ext: { tools: { a: {}, b: {} } }, more: { tools: { c: {} } } },
      script: [call('b'), { text: 'ok' }],
    });
    await world.run('go', { policy: { allowTools: ['ext', 'more'], denyTools: ['ext/b', 'more'] } });
    expect(world.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['a']);
    expect(world.calls).toEqual([]);
  });
});

describe('tools of an agent', () => {
  it('DESIGN 3.2 names that clash get their extension in front, all of them; long ones are cut with a hash', async () => {
    const long = 'x'.repeat(60);
    const world = await createWorld({
      agents: [agent('main', { usesTools: ['one', 'two'] })],
      extensions: { one: { tools: { read: {}, [long]: {}, mine: {} } }, two: { tools: { read: {}, [long]: {} } } },
    });
    const names = (await world.kernel.agents.toolsOf('main')).map(({ modelName }) => modelName);
    expect(names.filter((name) => name.endsWith('read'))).toEqual(['one__read', 'two__read']);
    expect(names).toContain('mine');
    expect(new Set(names).size).toBe(5);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('DESIGN 3.1 "*" is every tool of every extension that runs, opt-in ones left out unless named', async () => {
    const world = await createWorld({
      agents: [agent('main', { usesTools: ['*', 'b/secret'] })],
      extensions: {
        a: { tools: { x: {} } },
        b: { tools: { y: {}, secret: { optIn: true }, hidden: { optIn: true } } },
        c: { state: 'failed', tools: { z: {} } },
      },
    });
    const { state } = await world.registry.resolve('main');
    expect(state).toBe('active');
    expect((await world.kernel.agents.toolsOf('main')).map(({ modelName }) => modelName).sort()).toEqual(['secret', 'x', 'y']);
  });

  it('K44 a tool called by hand goes through as that agent, by either name; an unknown one gets the nearest', async () => {
    const world = await createWorld({ tools: { echo: { run: (input) => input } } });
    expect(await world.kernel.agents.callTool('main', 'echo', { a: 1 })).toMatchObject({ ok: true, output: { a: 1 } });
    expect(await world.kernel.agents.callTool('main', 'ext/echo', {})).toMatchObject({ ok: true });
    const unknown = world.kernel.agents.callTool('main', 'ecko', {});
    await expect(unknown).rejects.toMatchObject({ code: 'tool_unknown', cure: expect.stringContaining('echo') });
  });
});
