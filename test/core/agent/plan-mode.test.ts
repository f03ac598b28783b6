import { describe, expect, it } from 'vitest';
import { agent, call, createWorld, together } from './world.ts';

const tools = {
  look: { effect: 'read' as const, run: () => 'seen' },
  change: { effect: 'write' as const, needsApproval: 'always' as const },
};
const both = together(call('look'), call('change'));

describe('U14 plan mode', () => {
  it('U14 only reading tools run, nobody is asked, and the model reads so', async () => {
    const world = await createWorld({ tools, script: [both, { text: 'a plan' }, both] });
    const { results, end } = await world.run('go', { policy: { readOnly: true } });
    expect(end).toMatchObject({ reason: 'done', text: 'a plan' });
    expect(world.calls.map(({ tool }) => tool)).toEqual(['ext/look']);
    expect(results).toMatchObject([{ ok: true }, { ok: false, error: { code: 'plan_mode' } }]);
    expect(JSON.stringify(world.model.requests[0]?.messages)).toContain('Plan mode: only reading tools run');
    // What the model has been sent before stays the same bytes.
    expect(world.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['look', 'change']);
    const after = await world.run('now do it');
    expect(after.end.reason).toBe('awaiting_approval');
    expect(JSON.stringify(world.model.requests.at(-1)?.messages.at(-1))).not.toContain('Plan mode');
  });

  it('U14 agents that one in plan mode calls are in plan mode', async () => {
    const world = await createWorld({
      agents: [agent('main', { usesTools: ['ext'] }), agent('other', { usesTools: ['ext'] })],
      extensions: {
        ext: {
          tools: {
            ...tools,
            ask: {
              effect: 'read',
              run: async (_, { turn }) => {
                const request = { agent: 'other', input: 'do', threadId: `${turn.threadId}/deep`, parent: turn };
                return (await world.collect(request)).results.map(({ error }) => error?.code ?? 'ran');
              },
            },
          },
        },
      },
      script: [call('ask'), call('change'), { text: 'inner' }, { text: 'outer' }],
    });
    const { results } = await world.run('go', { policy: { readOnly: true } });
    expect(results).toMatchObject([{ name: 'ask', output: ['plan_mode'] }]);
  });
});
