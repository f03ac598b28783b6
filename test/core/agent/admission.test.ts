import { rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkAgent } from '../../../core/agent/index.ts';
import { agent, call, createWorld } from './world.ts';

describe('admission of agents', () => {
  it.each([
    ['extension', { usesTools: ['core_tool', 'core_tools'] }, 'name_unknown', "did you mean 'core_tools'"],
    ['tool', { usesTools: ['core_tools/reed', 'core_tools'] }, 'tool_unknown', "did you mean 'read'"],
    ['skill', { usesTools: ['core_tools'], usesSkills: ['late', 'good'] }, 'skill_not_found', "no skill 'late'"],
    ['agent', { usesTools: ['core_tools'], delegatesTo: ['bilder'] }, 'name_unknown', "did you mean 'builder'"],
  ] as const)('K2 K44 an undeclared %s is left out and said with the nearest, and the agent works with the rest', async (...row) => {
    const [, given, code, hint] = row;
    const agents = [agent('main', given), agent('builder')];
    const extensions = { core_tools: { tools: { read: {} } } };
    const world = await createWorld({ agents, extensions, skills: { good: 'GOOD' }, script: [{ text: 'hello' }] });
    const found = (await world.registry.list())[1];
    const file = path.join(world.sandbox, 'agents/main/manifest.yaml');
    expect(found).toMatchObject({
      state: 'degraded',
      notes: [{ severity: 'warning', code, file, message: expect.stringContaining(hint) }],
    });
    const { end, notices } = await world.run('hi');
    expect(end).toMatchObject({ reason: 'done', text: 'hello' });
    expect(notices).toEqual([code]);
    expect(world.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['read']);
    const router = { check: () => undefined };
    expect(await checkAgent(world.registry, router as never, agent('made', given))).toMatchObject([{ severity: 'error', code }]);
  });

  it('K2 is admitted again by itself when the extension comes', async () => {
    const world = await createWorld({ agents: [agent('main', { usesTools: ['late'] })] });
    expect(await world.registry.resolve('main')).toMatchObject({ state: 'degraded' });
    await world.declare('late', { tools: { t: {} } });
    expect(await world.registry.resolve('main')).toMatchObject({ state: 'active', notes: [] });
    expect(world.recorded.of('agent.changed').map(({ state }) => state)).toEqual(['degraded', 'active']);
  });

  it('K40 an agent is frozen data, declared or made at run time, and is run by the same turn', async () => {
    const made = agent('made', { instructions: 'Made just now.', origin: null });
    const world = await createWorld({ script: [{ text: 'yes' }] });
    expect((await world.run('hi', { agent: made })).end.reason).toBe('done');
    expect(world.model.requests[0]?.system).toBe('Made just now.');
    const { spec } = await world.registry.resolve('main');
    for (const value of [spec, spec.limits, spec.usesTools, spec.keys, made]) expect(Object.isFrozen(value)).toBe(true);
  });

  it('K40 findings of keys that extensions own fail the agent', async () => {
    const world = await createWorld();
    const notes = [{ severity: 'error', code: 'config_invalid', message: 'agent.skills.mode: unknown' }];
    Object.assign(world.kernel.host.agents, { checkKeys: async () => ({ notes, keys: {} }) });
    await expect(world.registry.resolve('main')).rejects.toMatchObject({ code: 'agent_failed' });
  });

  it('K2 a removed declaration is announced and unknown from then on', async () => {
    const world = await createWorld({ agents: [agent('main'), agent('gone')] });
    await world.registry.list();
    rmSync(path.join(world.sandbox, 'agents/gone'), { recursive: true });
    await world.kernel.host.extensions.refresh();
    await expect(world.registry.resolve('gone')).rejects.toMatchObject({ code: 'agent_unknown' });
    expect(world.recorded.of('agent.changed')).toEqual([{ agentId: 'gone', state: 'removed' }]);
  });
});

it('K44 a tool that is missing because its extension failed is told as such, to people and to models', async () => {
  const world = await createWorld({
    agents: [agent('main', { usesTools: ['mine', 'fine'] })],
    extensions: { mine: { state: 'failed' }, fine: { tools: { look: {} } } },
    script: [call('roll'), { text: 'ok' }],
  });
  const why = /no tool 'roll'.*'mine' failed, and its tools are missing: see 'pith doctor'/u;
  const called = world.kernel.agents.callTool('main', 'roll', {});
  await expect(called).rejects.toMatchObject({ code: 'tool_unknown', message: expect.stringMatching(why) });
  await world.run('go');
  expect(JSON.stringify(world.model.requests[1]?.messages)).toMatch(why);
});
