import { describe, expect, it } from 'vitest';
import { scriptedModel, testKernel } from 'pith/testing';

const agent = 'id: keeper\nversion: 1.0.0\nagent:\n  description: Keeps values.\n  uses_tools: [kv]\n';

describe.each([{ wire: false }, { wire: true }])('kv in the kernel (wire: $wire)', ({ wire }) => {
  it('K95 keeps a value across turns and restarts, through the tools that an agent lists', async () => {
    const model = scriptedModel([
      { calls: [{ name: 'kv_set', input: { key: 'city', value: ['Graz'] } }] },
      { text: 'Kept.' },
      { calls: [{ name: 'kv_get', input: { key: 'city' } }] },
      { text: 'Graz.' },
    ]);
    const kernel = await testKernel({ wire, model, files: { 'agents/keeper/manifest.yaml': agent } });
    const first = await kernel.run('keep it', { agent: 'keeper' });
    expect(first.requests[0]?.tools.map((tool) => tool.name).sort()).toEqual(['kv_delete', 'kv_get', 'kv_list', 'kv_set']);
    expect(first.results).toMatchObject([{ ok: true, title: 'Kept city' }]);
    await kernel.restart();
    const second = await kernel.run('what was it?', { agent: 'keeper', threadId: 'later' });
    expect(second.results).toMatchObject([{ ok: true, output: { key: 'city', value: ['Graz'] } }]);
    await kernel.stop();
  });
});
