import { describe, expect, it } from 'vitest';
import { type AgentSpec, PithError } from '../../../core/contract/index.ts';
import { agent, call, createWorld, storedRows, type World, type WorldOptions } from './world.ts';

const agents = [
  agent('main', { usesTools: ['ext'] }),
  agent('without_model', { model: 'nowhere/none' }),
  agent('without_skill', { usesSkills: ['kept_back'] }),
  agent('broken_prompt', { prompt: '{{ nothing.of.this }}' }),
];
const risky = call('risky', { n: 1 });

const kept_back = new PithError('skill_not_offered', "skill 'kept_back' is untrusted");

/** A thread whose turn waits for a person. */
async function waiting(extensions: WorldOptions['extensions'] = {}): Promise<World> {
  const tools = { risky: { needsApproval: 'always' as const, effect: 'write' as const, run: () => 'did it' } };
  const world = await createWorld({
    agents,
    skills: { kept_back },
    extensions: { ext: { tools }, ...extensions },
    script: [risky, { text: 'done' }],
  });
  const { resolve } = world.kernel.router;
  Object.assign(world.kernel.router, {
    resolve: async (ref: string) => {
      if (ref.startsWith('nowhere/')) throw new PithError('model_unknown', `model '${ref}' is unknown`);
      return resolve(ref);
    },
  });
  expect((await world.run('go')).end.reason).toBe('awaiting_approval');
  return world;
}

/** The open question can still be answered, and its turn goes on. */
async function goesOn(world: World): Promise<void> {
  const { approvals } = world;
  await approvals.answer((await approvals.list())[0]!.id, { answer: 'once', by: 'ann' });
  expect((await world.resume()).end).toMatchObject({ reason: 'done', text: 'done' });
}

describe('a message that cannot be answered', () => {
  it.each([
    ['an agent that nothing declares', { agent: 'mian' }, 'agent_unknown'],
    ['an agent without a usable model', { agent: 'without_model' }, 'model_unknown'],
    ['a model that nothing offers', { policy: { model: 'nowhere/none' } }, 'model_unknown'],
    ['an agent without its skill', { agent: 'without_skill' }, 'agent_failed'],
    ['an agent whose prompt cannot be rendered', { agent: 'broken_prompt' }, 'agent_failed'],
    [
      'an agent made at run time whose prompt is broken',
      { agent: agent('made', { prompt: '{{', origin: null }) as AgentSpec },
      'agent_failed',
    ],
  ])('B2: leaves the open question and the thread as they were: %s', async (_what, request, code) => {
    const world = await waiting();
    const before = storedRows(world);
    expect((await world.run('something else', request)).end).toMatchObject({ reason: 'error', error: { code } });
    expect(storedRows(world)).toEqual(before);
    await goesOn(world);
  });

  it('B2: leaves them so when it is aborted while a context is gathered', async () => {
    const stop = new AbortController();
    let asked = 0;
    const slow = {
      context: {
        priority: 1,
        get: async () => {
          asked += 1;
          if (asked === 2) stop.abort();
          return asked === 2 ? new Promise<string>(() => undefined) : 'now';
        },
      },
    };
    const world = await waiting({ slow });
    const before = storedRows(world);
    expect((await world.run('something else', {}, stop.signal)).end).toMatchObject({ reason: 'aborted' });
    expect(asked).toBe(2);
    expect(storedRows(world)).toEqual(before);
    await goesOn(world);
  });
});
