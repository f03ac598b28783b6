import type { JsonValue } from 'pith';
import { scriptedModel, testKernel, type TestKernel } from 'pith/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const files = { 'agents/keeper/manifest.yaml': 'id: keeper\nagent: { uses_tools: [kv] }\n' };
let pith: TestKernel;
beforeEach(async () => void (pith = await testKernel({ files, only: ['kv'] })));
afterEach(() => pith.stop());

const call = (name: string, input: JsonValue) => pith.kernel.agents.callTool('keeper', name, input);

describe('kv', () => {
  it('K95 keeps, reads, lists and forgets values', async () => {
    expect(await call('kv_set', { key: 'city', value: { name: 'Graz', rain: [1, null] } })).toMatchObject({ ok: true });
    expect(await call('kv_get', { key: 'city' })).toMatchObject({
      ok: true,
      output: { key: 'city', value: { name: 'Graz', rain: [1, null] } },
    });
    await call('kv_set', { key: 'city', value: 'Linz' });
    await call('kv_set', { key: 'colour', value: 3 });
    expect(await call('kv_get', { key: 'city' })).toMatchObject({ output: { value: 'Linz' } });
    expect(await call('kv_list', { prefix: 'ci' })).toMatchObject({ output: { keys: ['city'], total: 1 } });
    expect(await call('kv_list', {})).toMatchObject({ output: { keys: ['city', 'colour'], total: 2 } });
    expect(await call('kv_delete', { key: 'city' })).toMatchObject({ ok: true, output: { deleted: true } });
    expect(await call('kv_list', {})).toMatchObject({ output: { keys: ['colour'] } });
  });

  it('K95 K44 names the nearest key when there is none of that name', async () => {
    await call('kv_set', { key: 'deadline', value: 'Friday' });
    const expected = { ok: false, error: { code: 'key_not_found', message: expect.stringContaining("did you mean 'deadline'") } };
    expect(await call('kv_get', { key: 'deadlin' })).toEqual(expected);
    expect(await call('kv_delete', { key: 'deadlin' })).toEqual(expected);
  });

  it('K95 tells a kept null from an absent key', async () => {
    await call('kv_set', { key: 'nothing', value: null });
    expect(await call('kv_get', { key: 'nothing' })).toMatchObject({ ok: true, output: { value: null } });
    expect(await call('kv_get', { key: 'nothin' })).toMatchObject({ ok: false });
  });

  it('K95 keeps keys that look like parts of an object', async () => {
    for (const key of ['__proto__', 'constructor', 'toString']) {
      await call('kv_set', { key, value: key });
      expect(await call('kv_get', { key })).toMatchObject({ output: { value: key } });
    }
  });

  it('K95 refuses an empty or over-long key and a value that is too large', async () => {
    expect(await call('kv_set', { key: '  ', value: 1 })).toMatchObject({ ok: false, error: { code: 'tool_input_invalid' } });
    expect(await call('kv_set', { key: 'é'.repeat(257), value: 1 })).toMatchObject({ ok: false, error: { code: 'tool_input_invalid' } });
    expect(await call('kv_set', { key: 'big', value: 'x'.repeat(65_536) })).toMatchObject({
      ok: false,
      error: { code: 'value_too_large' },
    });
    expect(await call('kv_list', {})).toMatchObject({ output: { total: 0 } });
  });

  it('W5 keeps the values of each user apart, and those of the person at the terminal where they were', async () => {
    await call('kv_set', { key: 'city', value: 'Graz' });
    const as = (userId: string, name: string, input: JsonValue) =>
      pith.kernel.agents.callTool({ agentId: 'keeper', userId, approve: async () => true }, name, input);
    expect(await as('ada', 'kv_get', { key: 'city' })).toMatchObject({ ok: false, error: { code: 'key_not_found' } });
    await as('ada', 'kv_set', { key: 'city', value: 'Linz' });
    await as('ada', 'kv_set', { key: 'colour', value: 'red' });
    expect(await as('ada"', 'kv_list', {})).toMatchObject({ output: { keys: [], total: 0 } });
    expect(await as('bob', 'kv_delete', { key: 'colour' })).toMatchObject({ ok: false, error: { code: 'key_not_found' } });
    expect(await as('ada', 'kv_list', { prefix: 'c' })).toMatchObject({ output: { keys: ['city', 'colour'], total: 2 } });
    expect(await call('kv_list', {})).toMatchObject({ output: { keys: ['city'], total: 1 } });
    expect(await call('kv_get', { key: 'city' })).toMatchObject({ output: { value: 'Graz' } });
    expect(await call('kv_get', { key: '\u0001"ada"city' })).toMatchObject({ error: { code: 'tool_input_invalid' } });
  });

  it('K95 says of each tool what a resumed turn may repeat', async () => {
    const tools = await pith.kernel.host.providers.tools.of('kv');
    expect(tools.map((tool) => [tool.name, tool.effect])).toEqual([
      ['kv_set', 'idempotent'],
      ['kv_get', 'read'],
      ['kv_list', 'read'],
      ['kv_delete', 'idempotent'],
    ]);
  });
});

describe.each([{ wire: false }, { wire: true }])('kv in the kernel (wire: $wire)', ({ wire }) => {
  it('K95 keeps a value across turns and restarts, through the tools that an agent lists', async () => {
    const model = scriptedModel([
      { calls: [{ name: 'kv_set', input: { key: 'city', value: ['Graz'] } }] },
      { text: 'Kept.' },
      { calls: [{ name: 'kv_get', input: { key: 'city' } }] },
      { text: 'Graz.' },
    ]);
    const kernel = await testKernel({ wire, model, files, only: ['kv'] });
    const first = await kernel.run('keep it', { agent: 'keeper' });
    expect(first.requests[0]?.tools.map((tool) => tool.name).sort()).toEqual(['kv_delete', 'kv_get', 'kv_list', 'kv_set']);
    expect(first.results).toMatchObject([{ ok: true, title: 'Kept city' }]);
    await kernel.restart();
    const second = await kernel.run('what was it?', { agent: 'keeper', threadId: 'later' });
    expect(second.results).toMatchObject([{ ok: true, output: { key: 'city', value: ['Graz'] } }]);
    await kernel.stop();
  });
});
