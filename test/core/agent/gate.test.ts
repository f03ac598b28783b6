import { describe, expect, it } from 'vitest';
import { decide, digestOf, type GateQuestion, narrowed, needsApproval, permits } from '../../../core/agent/index.ts';
import { DEFAULT_LIMITS } from '../../../core/trust/index.ts';
import type { ToolDescriptor } from '../../../core/kernel/index.ts';
import { TURN } from '../kernel/extensions.ts';
import { agent, createWorld } from './world.ts';

const never = new AbortController().signal;
const question: GateQuestion = { extensionId: 'ext', tool: 't', needsApproval: false, callsBefore: 0, mostCalls: 60, policy: {} };

describe('the gate', () => {
  it('K50 decides limits, then policy, then approval', () => {
    expect(decide(question)).toBe('allow');
    expect(decide({ ...question, needsApproval: true })).toBe('ask');
    expect(decide({ ...question, needsApproval: true, policy: { denyTools: ['ext'] } })).toMatchObject({
      code: 'not_allowed',
    });
    expect(decide({ ...question, policy: { denyTools: ['ext'] }, callsBefore: 60 })).toMatchObject({
      code: 'limit_reached',
    });
  });

  it('K50 policy entries name an extension, a tool or everything; a denial wins', () => {
    expect(permits({ allowTools: ['ext'] }, 'ext', 't')).toBe(true);
    expect(permits({ allowTools: ['ext/t'] }, 'ext', 'u')).toBe(false);
    expect(permits({ allowTools: [] }, 'ext', 't')).toBe(false);
    expect(permits({ allowTools: ['*'], denyTools: ['ext/t'] }, 'ext', 't')).toBe(false);
  });

  it('K50 the digest names exact arguments, whatever the order of keys', () => {
    expect(digestOf({ a: 1, b: [{ c: null, d: 'x' }] })).toBe(digestOf({ b: [{ d: 'x', c: null }], a: 1 }));
    expect(digestOf({ a: 1 })).not.toBe(digestOf({ a: '1' }));
    expect(digestOf([1, 2])).not.toBe(digestOf([2, 1]));
  });

  it('K42 limits only shrink', () => {
    expect(narrowed(DEFAULT_LIMITS, { max_turns: 3, max_tool_calls: 1000 })).toEqual({ ...DEFAULT_LIMITS, max_turns: 3 });
  });

  it('K50 settings name tools that always need approval, by extension, tool or all; they cannot waive what a tool asks for', async () => {
    const tool = (needsApproval: 'never' | 'always') => ({
      extensionId: 'ext',
      descriptor: { name: 't', description: 'Does.', inputSchema: {}, effect: 'write', needsApproval } as ToolDescriptor,
    });
    const saying = (needsApproval: () => Promise<boolean>) => ({ providers: { tools: { needsApproval } } });
    const asks = (askAlways: readonly string[], says: 'never' | 'always' = 'never') =>
      needsApproval({ host: saying(async () => false), askAlways: () => askAlways }, tool(says), {}, TURN);
    const whole = { text: null, subject: null, always: expect.stringMatching(/^tool:[0-9a-f]{64}$/) };
    expect(await Promise.all(['ext', 'ext/t', '*', 'other', 'ext/u'].map((entry) => asks([entry])))).toEqual([
      whole,
      whole,
      whole,
      false,
      false,
    ]);
    expect(await asks([], 'always')).toEqual(whole);
    const broken = saying(() => Promise.reject(new Error('broken')));
    const maybe = { extensionId: 'ext', descriptor: { name: 't', needsApproval: 'maybe' } as ToolDescriptor };
    const unsaid = { text: null, subject: null, always: null }; // whoever cannot say what it does is not allowed it for always
    expect(await needsApproval({ host: broken, askAlways: () => [] }, maybe, {}, TURN)).toEqual(unsaid);
  });

  it('K50 one tool called as an agent is refused where nobody can be asked, and runs only when the person says so', async () => {
    const world = await createWorld({
      agents: [agent('main', { usesTools: ['ext'] })],
      extensions: { ext: { tools: { always: { needsApproval: 'always' } } } },
    });
    expect(await world.agents.callTool('main', 'always', {}, never)).toMatchObject({ ok: false, error: { code: 'approval_needed' } });
    const asked: unknown[] = [];
    const person = (says: boolean) => ({ agentId: 'main', approve: async (question: unknown) => (asked.push(question), says) });
    expect(await world.agents.callTool(person(false), 'always', { a: 1 }, never)).toMatchObject({
      ok: false,
      error: { code: 'approval_denied' },
    });
    expect(world.extensions.calls).toHaveLength(0);
    expect(await world.agents.callTool(person(true), 'always', { a: 1 }, never)).toMatchObject({ ok: true });
    expect(asked[1]).toEqual({ tool: 'ext/always', input: { a: 1 }, digest: digestOf({ a: 1 }) });
  });

  it('K50 a policy takes tools away from the model and refuses them when they are called all the same', async () => {
    const world = await createWorld({
      agents: [agent('main', { usesTools: ['ext', 'more'] })],
      extensions: { ext: { tools: { a: {}, b: {} } }, more: { tools: { c: {} } } },
      script: [{ calls: [{ name: 'b', input: {} }] }, { text: 'ok' }],
    });
    await world.run('go', { policy: { allowTools: ['ext', 'more'], denyTools: ['ext/b', 'more'] } });
    expect(world.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['a']);
    expect(world.extensions.calls).toEqual([]);
  });
});

describe('tools of an agent', () => {
  it('DESIGN 3.2 names that clash get their extension in front, all of them; long ones are cut with a hash', async () => {
    const long = 'x'.repeat(60);
    const world = await createWorld({
      agents: [agent('main', { usesTools: ['one', 'two'] })],
      extensions: { one: { tools: { read: {}, [long]: {}, mine: {} } }, two: { tools: { read: {}, [long]: {} } } },
    });
    const names = (await world.agents.toolsOf('main')).map(({ modelName }) => modelName);
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
        b: { state: 'idle', tools: { y: {}, secret: { optIn: true }, hidden: { optIn: true } } },
        c: { state: 'failed', tools: { z: {} } },
      },
    });
    const { state } = await world.registry.resolve('main');
    expect(state).toBe('active');
    expect((await world.agents.toolsOf('main')).map(({ modelName }) => modelName).sort()).toEqual(['secret', 'x', 'y']);
  });

  it('K44 a tool called by hand goes through as that agent, by either name; an unknown one gets the nearest', async () => {
    const world = await createWorld({
      agents: [agent('main', { usesTools: ['ext'] })],
      extensions: { ext: { tools: { echo: { run: (input) => input } } } },
    });
    expect(await world.agents.callTool('main', 'echo', { a: 1 }, never)).toMatchObject({ ok: true, output: { a: 1 } });
    expect(await world.agents.callTool('main', 'ext/echo', {}, never)).toMatchObject({ ok: true });
    await expect(world.agents.callTool('main', 'ecko', {}, never)).rejects.toMatchObject({
      code: 'tool_unknown',
      cure: expect.stringContaining('echo'),
    });
  });
});
