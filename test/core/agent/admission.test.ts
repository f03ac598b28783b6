import { describe, expect, it } from 'vitest';
import { PithError } from '../../../core/contract/index.ts';
import { checkAgent } from '../../../core/agent/index.ts';
import { agent, createWorld, declaration, noticesOf } from './world.ts';

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
    const file = '/sandbox/agents/main/manifest.yaml';
    expect(found).toMatchObject({
      state: 'degraded',
      notes: [{ severity: 'warning', code, file, message: expect.stringContaining(hint) }],
    });
    const { end, events } = await world.run('hi');
    expect(end).toMatchObject({ reason: 'done', text: 'hello' });
    expect(noticesOf(events)).toEqual([code]);
    expect(world.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['read']);
    const router = { check: () => undefined };
    expect(await checkAgent(world.registry, router as never, agent('made', given))).toMatchObject([{ severity: 'error', code }]);
    await world.stop();
  });

  it('K2 a declared provider that has failed, is blocked or switched off leaves the agent degraded, in one line', async () => {
    for (const state of ['failed', 'blocked', 'disabled'] as const) {
      const world = await createWorld({
        agents: [agent('main', { usesTools: ['broken', 'whole'] })],
        extensions: { broken: { state, tools: { a: {} } }, whole: { tools: { b: {} } } },
        script: [{ text: 'hello' }, { text: 'again' }],
      });
      const status = await world.registry.resolve('main');
      expect(status).toMatchObject({ state: 'degraded', notes: [{ severity: 'warning', code: 'provider_unavailable' }] });
      expect(status.notes[0]?.message).toBe(`the tools of 'broken' are missing: the extension is ${state}`);
      const first = await world.run('hi');
      expect(first.end).toMatchObject({ reason: 'done', text: 'hello' });
      expect(noticesOf(first.events)).toEqual(['provider_unavailable']);
      expect(world.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['b']);
      expect(noticesOf((await world.run('and?')).events)).toEqual([]); // said once per thread
      await world.stop();
    }
  });

  it('K2 opt-in tools come only by name', async () => {
    const world = await createWorld({
      agents: [agent('all', { usesTools: ['ext'] }), agent('named', { usesTools: ['ext/secret'] })],
      extensions: { ext: { tools: { read: {}, secret: { optIn: true } } } },
    });
    expect((await world.agents.toolsOf('all')).map(({ modelName }) => modelName)).toEqual(['read']);
    expect((await world.agents.toolsOf('named')).map(({ modelName }) => modelName)).toEqual(['secret']);
  });

  it('K43 delegates_to "*" is every declared agent but itself', async () => {
    const boss = agent('boss', { delegatesTo: ['*'] });
    const world = await createWorld({ agents: [agent('two'), boss, agent('one')] });
    expect(await world.registry.resolve('boss')).toMatchObject({ state: 'active', notes: [] });
    expect((await world.registry.callees(boss)).map(({ id }) => id)).toEqual(['one', 'two']);
    expect((await world.registry.callees(agent('one', { delegatesTo: ['two'] }))).map(({ id }) => id)).toEqual(['two']);
    expect(await world.registry.callees(agent('one'))).toEqual([]);
  });

  it('K2 is admitted again by itself when the extension comes', async () => {
    const world = await createWorld({ agents: [agent('main', { usesTools: ['late'] })] });
    expect(await world.registry.resolve('main')).toMatchObject({ state: 'degraded' });
    world.extensions.declared.set('late', { tools: { t: {} } });
    world.events.publish('extension.activated', { extensionId: 'late', generation: 1 });
    expect(await world.registry.resolve('main')).toMatchObject({ state: 'active', notes: [] });
    expect(world.recorded.of('agent.changed').map(({ state }) => state)).toEqual(['degraded', 'active']);
  });

  it('K1 a broken declaration is failed with its findings; the others run', async () => {
    const world = await createWorld({ agents: [agent('main')], script: [{ text: 'fine' }] });
    world.declarations.push({
      id: 'bad',
      spec: null,
      file: '/bad/manifest.yaml',
      diagnostics: [{ severity: 'error', code: 'manifest_invalid', message: 'no', file: '/bad/manifest.yaml', line: 3 }],
    });
    await expect(world.registry.resolve('bad')).rejects.toMatchObject({ code: 'agent_failed', where: '/bad/manifest.yaml:3' });
    expect((await world.run('hi')).end.reason).toBe('done');
  });

  it('K44 an unknown agent is an error with the nearest names', async () => {
    const world = await createWorld({ agents: [agent('orchestrator')] });
    const { end } = await world.run('hi', { agent: 'orchestrtor' });
    expect(end).toMatchObject({ reason: 'error', error: { code: 'agent_unknown' } });
    expect(end.error?.message).toContain("did you mean 'orchestrator'");
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
    world.extensions.keyFindings = [{ severity: 'error', code: 'config_invalid', message: 'agent.skills.mode: unknown' }];
    await expect(world.registry.resolve('main')).rejects.toMatchObject({ code: 'agent_failed' });
  });

  it('K2 a removed declaration is announced and unknown from then on', async () => {
    const world = await createWorld({ agents: [agent('main'), agent('gone')] });
    await world.registry.list();
    world.declarations.splice(1, 1);
    await expect(world.registry.resolve('gone')).rejects.toMatchObject({ code: 'agent_unknown' });
    expect(world.recorded.of('agent.changed')).toEqual([{ agentId: 'gone', state: 'removed' }]);
  });

  it('K20 an edited declaration is used by the next turn', async () => {
    const world = await createWorld({ agents: [agent('main', { instructions: 'old' })], script: [{ text: 'a' }, { text: 'b' }] });
    await world.run('1');
    world.declarations[0] = declaration(agent('main', { instructions: 'new' }));
    await world.run('2');
    expect(world.model.requests.map(({ system }) => system)).toEqual(['old', 'new']);
  });
});

describe('bound skills', () => {
  it('S50 bodies stand in the declared order, with their digest', async () => {
    const world = await createWorld({
      agents: [agent('main', { usesSkills: ['b', 'a'] })],
      skills: { a: 'A', b: 'B' },
      script: [{ text: 'ok' }],
    });
    await world.run('hi');
    expect(world.model.requests[0]?.system).toBe(
      '<skill id="b" sha256="sha-b-1">\nB\n</skill>\n\n<skill id="a" sha256="sha-a-1">\nA\n</skill>',
    );
  });

  it('S50 an unknown skill is used as soon as it appears, announced or not', async () => {
    const world = await createWorld({ agents: [agent('main', { usesSkills: ['late'] })], script: [{ text: 'ok' }, { text: 'ok' }] });
    const { events } = await world.run('hi');
    expect(JSON.stringify(events)).toMatch(/uses_skills 'late': no skill 'late'/);
    world.extensions.skillBodies.set('late', 'LATE');
    expect(await world.registry.resolve('main')).toMatchObject({ state: 'active' });
    expect((await world.run('hi')).end.reason).toBe('done');
    expect(world.model.requests[1]?.system).toContain('LATE');
  });

  it('S50 a skill that is not offered fails the agent with that state and the cure', async () => {
    const world = await createWorld({ agents: [agent('main', { usesSkills: ['x'] })], skills: { x: 'X' } });
    world.extensions.refused.set('x', new PithError('skill_not_offered', "skill 'x' is untrusted", { cure: "run 'pith skills trust x'" }));
    await expect(world.registry.resolve('main')).rejects.toMatchObject({
      code: 'agent_failed',
      message: expect.stringContaining("'x' is untrusted"),
      cure: "run 'pith skills trust x'",
    });
  });

  it('S15 with skills switched off the agent is degraded, said once, and works without the bodies', async () => {
    for (const skillsState of ['off', 'disabled'] as const) {
      const world = await createWorld({
        agents: [agent('main', { usesSkills: ['a'], prompt: "Role{{ skills['a'] }}." })],
        skills: { a: 'BODY' },
        script: [{ text: 'one' }, { text: 'two' }],
      });
      world.extensions.skillsState = skillsState;
      const first = await world.run('hi');
      expect(first.end.reason).toBe('done');
      expect(noticesOf(first.events)).toEqual(['skills_disabled']);
      expect(world.model.requests[0]?.system).toBe('Role.');
      expect(noticesOf((await world.run('more')).events)).toEqual([]);
      await world.stop();
    }
  });

  it('S51 a changed skill is used by the next turn', async () => {
    const world = await createWorld({
      agents: [agent('main', { usesSkills: ['a'] })],
      skills: { a: 'old' },
      script: [{ text: '1' }, { text: '2' }],
    });
    await world.run('hi');
    world.extensions.skillBodies.set('a', 'new');
    await world.run('hi');
    expect(world.model.requests[1]?.system).toContain('\nnew\n');
  });

  it('S51 removal keeps the last good body, marks the agent degraded and warns once', async () => {
    const world = await createWorld({
      agents: [agent('main', { usesSkills: ['a'] })],
      skills: { a: 'KEPT' },
      script: [{ text: '1' }, { text: '2' }, { text: '3' }],
    });
    expect(noticesOf((await world.run('hi')).events)).toEqual([]);
    world.extensions.skillBodies.delete('a');
    world.events.publish('provider.changed', { extensionId: 'skills', protocol: 'skill' });
    expect(await world.registry.resolve('main')).toMatchObject({
      state: 'degraded',
      notes: [{ severity: 'warning', code: 'skill_not_found' }],
    });
    expect(noticesOf((await world.run('hi')).events)).toEqual(['skill_not_found']);
    expect(world.model.requests[1]?.system).toContain('KEPT');
    expect(noticesOf((await world.run('hi')).events)).toEqual([]);
  });
});

it('K44 a tool that is missing because its extension failed is told as such, to people and to models', async () => {
  const world = await createWorld({
    agents: [agent('main', { usesTools: ['mine', 'fine'] })],
    extensions: { mine: { state: 'failed' }, fine: { tools: { look: {} } } },
    script: [{ calls: [{ name: 'roll', input: {} }] }, { text: 'ok' }],
  });
  const why = /no tool 'roll'.*'mine' failed, and its tools are missing: see 'pith doctor'/u;
  await expect(world.agents.callTool('main', 'roll', {}, new AbortController().signal)).rejects.toMatchObject({
    code: 'tool_unknown',
    message: expect.stringMatching(why),
  });
  await world.run('go');
  expect(JSON.stringify(world.model.requests[1]?.messages)).toMatch(why);
});
