import { scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';

it('my_tool greets for a model', async () => {
  const model = scriptedModel([{ calls: [{ name: 'greet_person', input: { name: 'Ada' } }] }, { text: 'Done.' }]);
  const files = { 'agents/tester/manifest.yaml': 'id: tester\nagent: { uses_tools: [my_tool] }\n' };
  await using test = await testKernel({ copyOf: 'sandbox', only: [], files, model });
  const turn = await test.run('Greet Ada.', { agent: 'tester' });
  expect(turn.results).toMatchObject([{ name: 'greet_person', ok: true, output: { text: 'Hello, Ada!' } }]);
});
