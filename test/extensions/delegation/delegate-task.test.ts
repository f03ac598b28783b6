import { cp } from 'node:fs/promises';
import type { JsonValue, TopicMap } from 'pith';
import { fakeClock, scriptedModel, type ScriptedStep } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { answered } from '../../answers.ts';
import { asked, call, calls, readResults, toolNames, world } from './delegation-sandbox.ts';
import { folderWith, kernelOf } from '../../places.ts';

const cook = { description: 'Cooks soup.', uses_tools: ['toys'] };
const order = { agent_id: 'cook', task: 'Cook a soup.' };

describe('delegate_task', () => {
  it('K43 runs the other agent with its own tools, gives it task and context, and returns its answer', async () => {
    const { pith, model } = await world({ boss: { delegates_to: ['cook'], uses_tools: ['delegation'] }, cook }, [
      call('delegate_task', { ...order, context: 'There are leeks.' }),
      call('look', {}),
      { text: 'Leek soup.' },
      { text: 'Soup is ready.' },
    ]);
    const { text, events, results } = await pith.run('I am hungry');
    expect(text).toBe('Soup is ready.');
    const [, first, , last] = model.requests;
    expect(first?.system).toContain('I AM cook.');
    expect(first?.messages).toHaveLength(1);
    expect(asked(first)).toBe("Cook a soup.\n\nContext from the agent 'boss':\nThere are leeks.");
    expect(toolNames(first)).toEqual(['look', 'poke', 'whoami']);
    const [answer] = readResults(last) as readonly Record<string, JsonValue>[];
    expect(answer).toMatchObject({ agent: 'cook', reason: 'done', text: 'Leek soup.', usage: { inputTokens: 20, outputTokens: 10 } });
    expect(String(answer?.['thread'])).toMatch(/^test\/[^/]+\/0\/0$/);
    expect(results).toMatchObject([
      { title: 'cook: done', line: 'cook: done (2 steps, 30 tokens)', metadata: { thread: answer?.['thread'] } },
    ]);
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 40, outputTokens: 20 } });
    // U22: what the other agent used is in the sum once, and a request is that of this turn alone.
    expect(await pith.kernel.threads.usage('test')).toEqual([{ model: 'scripted/scripted', inputTokens: 40, outputTokens: 20 }]);
    const steps = events.filter(({ type }) => type === 'step-end');
    expect(steps.map((each) => 'request' in each && each.request)).toEqual([
      { inputTokens: 10, outputTokens: 5 },
      { inputTokens: 10, outputTokens: 5 },
    ]);
    expect((await pith.kernel.threads.load(String(answer?.['thread'])))?.thread.agentId).toBe('cook');
  });

  it('K43 delegates_to lists the only callees; any other name is refused with the nearest', async () => {
    const { pith, model } = await world({ boss: { delegates_to: ['cook'] }, cook, baker: {} }, [
      calls(['delegate_task', { ...order, agent_id: 'baker' }], ['delegate_task', { ...order, agent_id: 'cok' }], ['list_agents', {}]),
      { text: 'ok' },
    ]);
    await pith.run('go');
    const [baker, cok, list] = readResults(model.requests.at(-1)) as readonly JsonValue[];
    expect(baker).toEqual({
      error: { code: 'agent_unknown', message: "there is no agent 'baker' that 'boss' may call; it may call cook" },
    });
    expect(cok).toMatchObject({ error: { code: 'agent_unknown', message: expect.stringContaining("did you mean 'cook'") } });
    expect(list).toEqual({ agents: [{ agent_id: 'cook', name: 'cook', description: 'Cooks soup.' }] });
  });

  it('K43 "*" is every declared agent but itself; what cannot run is named', async () => {
    const broken = { limits: { max_turns: 'many' } };
    const { pith, model } = await world({ boss: { delegates_to: ['*', 'broken'] }, cook, broken }, [
      calls(['list_agents', {}], ['delegate_task', { ...order, agent_id: 'broken' }]),
      { text: 'ok' },
    ]);
    await pith.run('go');
    const [list, refused] = readResults(model.requests.at(-1)) as [Record<string, JsonValue>, JsonValue];
    const ids = (list['agents'] as readonly { agent_id: string }[]).map(({ agent_id }) => agent_id);
    expect(ids).toContain('cook');
    expect(ids).not.toContain('boss');
    expect(list['cannot_run_now']).toEqual(['broken']);
    expect(refused).toMatchObject({ error: { code: 'agent_failed' } });
  });

  it('K43 an agent with integration_mode tool is a tool named after it for its callers', async () => {
    const agents = { boss: { delegates_to: ['cook'] }, cook: { ...cook, integration_mode: 'tool' } };
    const { pith, model } = await world(agents, [call('cook', { task: 'Cook.', agent_id: 'boss' }), { text: 'Soup.' }, { text: 'ok' }]);
    await pith.run('go');
    const tool = model.requests[0]?.tools.find(({ name }) => name === 'cook');
    expect(tool?.description).toMatch(/^Cooks soup\./);
    expect(tool?.inputSchema).toMatchObject({ required: ['task'], properties: { task: {}, context: {} } });
    expect(JSON.stringify(tool?.inputSchema)).not.toContain('agent_id');
    expect(model.requests[1]?.system).toContain('I AM cook.');
    expect(readResults(model.requests[2])).toMatchObject([{ agent: 'cook', text: 'Soup.' }]);
    expect(toolNames(model.requests[1])).not.toContain('cook');
  });

  it('K43 K32 what it calls belongs to the same message, person and channel, in a separate thread', async () => {
    const { pith } = await world({ boss: { delegates_to: ['cook'] }, cook }, [
      calls(['whoami', {}], ['delegate_task', order]),
      call('whoami', {}),
      { text: 'Soup.' },
      { text: 'ok' },
    ]);
    const seen: TopicMap['turn.started'][] = [];
    pith.kernel.events.handle('turn.started', (payload) => void seen.push({ ...payload }));
    await pith.run('go', { channelId: 'web', userId: 'ada' });
    expect(new Set(seen.map(({ correlationId }) => correlationId)).size).toBe(1);
    expect(seen.map(({ agentId }) => agentId)).toEqual(['boss', 'cook']);
    const child = await pith.kernel.threads.load(String(seen[1]?.threadId));
    expect(JSON.stringify(child?.messages)).toMatch(/\\"depth\\":1,\\"user\\":\\"ada\\",\\"channel\\":\\"web\\"/);
  });

  it.each<[string, Record<string, JsonValue>, readonly ScriptedStep[], unknown]>([
    [
      'limit',
      { limits: { max_turns: 1 } },
      [{ text: 'I looked.', calls: [{ name: 'look', input: {} }] }],
      { reason: 'limit', text: 'I looked.', stopped: expect.stringContaining('max_turns (1)') },
    ],
    [
      'error',
      {},
      [{ text: 'I began.', breakWith: new Error('lost') }],
      { error: { code: 'model_failed', message: expect.stringMatching(/'cook' failed: .*so far it said: I began\./) } },
    ],
  ])('K42 K43 a child that ends with %s says what it did so far', async (_reason, parts, script, expected) => {
    const { pith, model } = await world({ boss: { delegates_to: ['cook'] }, cook: { ...cook, ...parts } }, [
      call('delegate_task', order),
      ...script,
      { text: 'ok' },
    ]);
    expect((await pith.run('go')).reason).toBe('done');
    expect(readResults(model.requests.at(-1))).toMatchObject([expected]);
  });

  it('K43 ends with its caller, and the thread can be gone on with', async () => {
    const stop = new AbortController();
    const { pith, model } = await world({ boss: { delegates_to: ['cook'] }, cook }, [
      call('delegate_task', order),
      { text: 'Half', hang: true },
    ]);
    const turn = pith.run('go', {}, stop.signal);
    await expect.poll(() => model.requests.length).toBe(2);
    stop.abort();
    expect((await turn).reason).toBe('aborted');
    const child = (await pith.kernel.threads.list(5)).find(({ id }) => id.startsWith('test/'));
    expect(await pith.kernel.threads.unfinished(String(child?.id))).toBeNull();
  });

  it('K42 five deep and no deeper, also when agents call themselves', async () => {
    const deeper = call('delegate_task', { agent_id: 'loop', task: 'again' });
    const loop = { uses_tools: ['delegation'], delegates_to: ['loop'] };
    const answers = Array.from({ length: 6 }, () => ({ text: 'ok' }));
    const { pith, model } = await world({ loop }, [deeper, deeper, deeper, deeper, deeper, deeper, ...answers]);
    expect((await pith.run('go', { agent: 'loop' })).reason).toBe('done');
    expect(readResults(model.requests[6])).toMatchObject([
      { error: { code: 'limit_reached', message: expect.stringContaining('5 deep') } },
    ]);
  });

  it('K43 a turn that a policy narrows cannot get by others what it was denied', async () => {
    const { pith, model } = await world({ boss: { delegates_to: ['cook'] }, cook }, [
      call('delegate_task', order),
      { text: 'Soup.' },
      { text: 'ok' },
    ]);
    await pith.run('go', { policy: { denyTools: ['toys/poke'] } });
    expect(toolNames(model.requests[1])).toEqual(['look', 'whoami']);
  });
});

describe('a turn that is gone on with', () => {
  it('K45 K43 continues the child that it waited for, and asks its model only for what is missing', async () => {
    const killed = folderWith();
    const { pith } = await world({ boss: { delegates_to: ['cook'] }, cook }, [
      call('delegate_task', order),
      call('look', {}),
      async () => {
        await cp(pith.sandbox, killed, { recursive: true }); // the disk as kill -9 would leave it now
        return { text: 'Never heard.' };
      },
      { text: 'ok' },
    ]);
    await pith.run('I am hungry');

    const model = scriptedModel([{ text: 'Leek soup.' }, { text: 'Soup is ready.' }]);
    const after = await kernelOf({ sandbox: killed, model });
    const { text, requests, events } = await after.run('', { input: undefined, resume: true });
    expect(text).toBe('Soup is ready.');
    expect(asked(requests[0])).toBe('Cook a soup.');
    expect(requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(readResults(requests[1])).toMatchObject([{ agent: 'cook', text: 'Leek soup.' }]);
    expect((await after.kernel.threads.list(10)).filter(({ id }) => id.startsWith('test/'))).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 40, outputTokens: 20 } });
  });
});

/** Bakes when a person agrees. */
const OVEN = `import { defineTool, z } from 'pith';
export default class Oven {
  getTools() {
    return [defineTool({ name: 'bake', description: 'Bakes.', needsApproval: true, input: z.object({ what: z.string() }), execute: ({ what }) => 'baked ' + what })];
  }
}
`;
const OVEN_FILES = {
  'extensions/oven/manifest.yaml': 'id: oven\nentrypoint: main.ts\nprovides: [tool]\nisolation: in_process\n',
  'extensions/oven/main.ts': OVEN,
};
describe('a question of an agent that another called', () => {
  const agents = {
    boss: { delegates_to: ['cook', 'helper'], uses_tools: ['delegation', 'oven'] },
    cook: { uses_tools: ['oven'] },
    helper: {},
  };

  it('K50 K43 the question of an agent that another called reaches the person; the answer continues both where they were', async () => {
    const cookOrHelper: ScriptedStep = ({ system }) => (system.includes('I AM cook.') ? call('bake', { what: 'bread' }) : { text: 'Set.' });
    const { pith, model } = await world(
      agents,
      [
        calls(
          ['delegate_task', { agent_id: 'cook', task: 'Bake bread.' }],
          ['delegate_task', { agent_id: 'helper', task: 'Set the table.' }],
        ),
        cookOrHelper,
        cookOrHelper,
      ],
      { files: OVEN_FILES },
    );
    const first = await pith.run('bread, please');
    expect(first.reason).toBe('awaiting_approval');
    const question = first.events.find((event) => event.type === 'approval-request');
    expect(question).toMatchObject({ tool: 'oven/bake', input: { what: 'bread' }, agents: ['boss', 'cook'], thread: 'test' });
    expect(first.results.filter(({ ok }) => ok)).toMatchObject([{ output: { agent: 'helper', text: 'Set.' } }]);

    await pith.restart();
    model.add({ text: 'Bread.' }, { text: 'Here it is.' });
    const { text, requests } = await answered(pith, 'once');
    expect(text).toBe('Here it is.');
    expect(readResults(requests[0])).toEqual(['baked bread']);
    expect(readResults(requests[1])).toMatchObject([
      { agent: 'cook', text: 'Bread.' },
      { agent: 'helper', text: 'Set.' },
    ]);
  });

  it('K50 K43 an agent made at run time is still there when the answer comes hours later', async () => {
    const clock = fakeClock();
    const { pith, model } = await world(
      agents,
      [
        call('create_agent', { name: 'Baker', instructions: 'YOU BAKE.', uses_tools: ['bake'] }),
        (request) => call('delegate_task', { agent_id: (readResults(request)[0] as { agent_id: string }).agent_id, task: 'Bake.' }),
        call('bake', { what: 'rolls' }),
      ],
      { files: OVEN_FILES, clock },
    );
    await pith.run('rolls, please');
    await clock.advance(20 * 3_600_000);
    model.add({ text: 'Rolls.' }, { text: 'Here they are.' });
    const { requests } = await answered(pith, 'once');
    expect(readResults(requests[1])).toMatchObject([{ text: 'Rolls.' }]);
  });
});
