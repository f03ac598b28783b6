import { expect, it } from 'vitest';
import { call, calls, readResults, world } from './delegation-sandbox.ts';

const OVEN = `import { defineTool, z } from 'pith';
export default class Oven {
  getTools() {
    return [defineTool({ name: 'bake', description: 'Bakes.', needsApproval: true, input: z.object({ what: z.string() }), execute: ({ what }) => 'baked ' + what })];
  }
}
`;
const files = {
  'extensions/oven/manifest.yaml': 'id: oven\nentrypoint: main.ts\nprovides: [tool]\nisolation: in_process\n',
  'extensions/oven/main.ts': OVEN,
};
const agents = {
  boss: { delegates_to: ['cook', 'helper'], uses_tools: ['delegation', 'oven'] },
  cook: { uses_tools: ['oven'] },
  helper: {},
};

it('K50 K43 the question of an agent that another called reaches the person; the answer continues both where they were', async () => {
  const { pith, model } = await world(
    agents,
    [
      calls(
        ['delegate_task', { agent_id: 'cook', task: 'Bake bread.' }],
        ['delegate_task', { agent_id: 'helper', task: 'Set the table.' }],
      ),
      (request) => (request.system.includes('I AM cook.') ? { calls: [{ name: 'bake', input: { what: 'bread' } }] } : { text: 'Set.' }),
      (request) => (request.system.includes('I AM cook.') ? { calls: [{ name: 'bake', input: { what: 'bread' } }] } : { text: 'Set.' }),
    ],
    { files },
  );
  const first = await pith.run('bread, please');
  expect(first.reason).toBe('awaiting_approval');
  const question = first.events.find((event) => event.type === 'approval-request');
  expect(question).toMatchObject({ tool: 'oven/bake', input: { what: 'bread' }, agents: ['boss', 'cook'], thread: 'test' });
  expect(first.results.filter(({ ok }) => ok)).toMatchObject([{ output: { agent: 'helper', text: 'Set.' } }]);

  await pith.restart();
  await pith.kernel.approvals.answer(String((question as { id?: string }).id), { answer: 'once', by: 'ada' });
  model.add({ text: 'Bread.' }, { text: 'Here it is.' });
  const { text, requests } = await pith.run('', { input: undefined, resume: true });
  expect(text).toBe('Here it is.');
  expect(readResults(requests[0])).toEqual(['baked bread']);
  expect(readResults(requests[1])).toMatchObject([
    { agent: 'cook', text: 'Bread.' },
    { agent: 'helper', text: 'Set.' },
  ]);
});

it('K50 K43 an agent made at run time is still there when the answer comes hours later', async () => {
  const { fakeClock } = await import('pith/testing');
  const clock = fakeClock();
  const { pith, model } = await world(
    agents,
    [
      call('create_agent', { name: 'Baker', instructions: 'YOU BAKE.', uses_tools: ['bake'] }),
      (request) => call('delegate_task', { agent_id: (readResults(request)[0] as { agent_id: string }).agent_id, task: 'Bake.' }) as object,
      call('bake', { what: 'rolls' }),
    ],
    { files, clock },
  );
  const { events } = await pith.run('rolls, please');
  const question = events.find((event) => event.type === 'approval-request') as { id: string };
  await clock.advance(20 * 3_600_000);
  await pith.kernel.approvals.answer(question.id, { answer: 'once', by: 'ada' });
  model.add({ text: 'Rolls.' }, { text: 'Here they are.' });
  const { requests } = await pith.run('', { input: undefined, resume: true });
  expect(readResults(requests[1])).toMatchObject([{ text: 'Rolls.' }]);
});
