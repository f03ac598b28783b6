import { scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';

it('my_context is sent with every request', async () => {
  const model = scriptedModel([{ text: 'Done.' }]);
  const files = { 'agents/tester/manifest.yaml': 'id: tester\nagent: { uses_tools: [] }\n' };
  await using test = await testKernel({ copyOf: 'sandbox', only: [], files, model });
  const turn = await test.run('Hello.', { agent: 'tester' });
  expect(turn.requests[0]?.system).toContain('The team works in British English.');
});
