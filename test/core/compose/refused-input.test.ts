import { scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';

const FILES = {
  'pith.yaml': 'default_agent: me\napprovals: { tools: [it/named] }\n',
  'agents/me/manifest.yaml': 'id: me\nagent: { description: Me, uses_tools: [it] }\n',
  'extensions/it/manifest.yaml': 'id: it\nprovides: [tool]\nentrypoint: main.ts\n',
  'extensions/it/main.ts': `import { defineTool, z } from 'pith';
const tool = (name, more) => defineTool({ name, description: 'd', input: z.strictObject({ to: z.string() }), execute: async () => 'ran', ...more });
export default class { getTools() { return [tool('pay', { needsApproval: true }), tool('named', {})]; } }
`,
};
const TIERS = ['in_process', 'process'] as const;

it.each(TIERS)('K50 nobody is asked about input that the tool refuses: the model is told why, in the tier %s', async (isolation) => {
  const call = (name: string, input: object) => ({ calls: [{ name, input: input as never }] });
  const model = scriptedModel([call('pay', { whom: 'x' }), call('named', {}), call('pay', { to: 'x' })]);
  await using world = await testKernel({ files: FILES, only: [], model, isolation });
  const { reason, results } = await world.run('go');
  const refused = { ok: false, error: { code: 'tool_input_invalid' } };
  expect(results).toMatchObject([{ ...refused, error: { message: expect.stringContaining("'to'") } }, refused]);
  expect(reason).toBe('awaiting_approval');
  const said = await world.kernel.agents.callTool({ agentId: 'me', approve: () => Promise.reject(new Error('asked')) }, 'pay', {});
  expect(said).toMatchObject(refused);
});
