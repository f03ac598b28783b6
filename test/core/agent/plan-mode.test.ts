import { describe, expect, it } from 'vitest';
import { agent, call, createWorld } from './world.ts';

const tools = {
  look: { effect: 'read' as const, run: () => 'seen' },
  change: { effect: 'write' as const, needsApproval: 'always' as const },
};
const both = {
  calls: [
    { name: 'look', input: {} },
    { name: 'change', input: {} },
  ],
};

describe('U14 plan mode', () => {
  it('U14 only reading tools run, nobody is asked, and the model reads so', async () => {
    const world = await createWorld({ tools, script: [both, { text: 'a plan' }, both] });
    const { events, end } = await world.run('go', { policy: { readOnly: true } });
    expect(end).toMatchObject({ reason: 'done', text: 'a plan' });
    expect(world.calls.map(({ tool }) => tool)).toEqual(['ext/look']);
    expect(events.filter(({ type }) => type === 'tool-result')).toMatchObject([{ ok: false, error: { code: 'plan_mode' } }, { ok: true }]);
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
                const codes: string[] = [];
                for await (const event of world.turn(request)) if (event.type === 'tool-result') codes.push(event.error?.code ?? 'ran');
                return codes;
              },
            },
          },
        },
      },
      script: [call('ask'), call('change'), { text: 'inner' }, { text: 'outer' }],
    });
    const { events } = await world.run('go', { policy: { readOnly: true } });
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool-result', name: 'ask', output: ['plan_mode'] }));
  });
});
