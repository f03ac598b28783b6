import { describe, expect, it } from 'vitest';
import { agent, call, createWorld, type FakeTool, type World } from './world.ts';

const sent = (world: World, at = 0) => world.model.requests[at]?.tools ?? [];
const noticed = (events: readonly { readonly type: string }[]) =>
  events.flatMap((event) => (event.type === 'notice' && 'message' in event ? [String(event.message)] : []));
const main = agent('main', { usesTools: ['ext', 'large'] });

describe('tools as they are sent', () => {
  it('V2: a schema that a provider would refuse is sent as all take it, whoever brings it; one that cannot be costs its tool alone, and that is said', async () => {
    const tools: Record<string, FakeTool> = {
      bare: { inputSchema: { type: 'object' } },
      choice: { inputSchema: { type: 'object', anyOf: [{ properties: { a: { type: 'array' } } }, { required: ['a'] }] } },
      text: { inputSchema: { type: 'string' } },
      hidden: { optIn: true },
    };
    const odd = { $schema: 'x', type: 'object', properties: { of: { const: 1 } }, oneOf: [{ required: ['of'] }] };
    const ext = { tools, turnTools: () => [{ tool: 'hidden', inputSchema: odd }] };
    const world = await createWorld({ extensions: { ext }, script: [{ text: 'ok' }] });
    const { events, end } = await world.run('go', { agent: 'main' });
    expect(end.reason).toBe('done');
    expect(sent(world).map(({ name, inputSchema }) => [name, inputSchema])).toEqual([
      ['bare', { type: 'object', properties: {} }],
      ['choice', { type: 'object', description: '(needs a)', properties: { a: { type: 'array', items: expect.anything() } } }],
      [
        'hidden',
        {
          type: 'object',

          properties: { of: { type: 'integer', description: '(const: 1)' } },
          required: ['of'],
        },
      ],
    ]);
    expect(noticed(events)).toEqual([
      "the tool 'text' of 'ext' is left out: its arguments are of type string, not object; correct its input schema",
    ]);
    expect((await world.kernel.host.providers.tools.of('ext'))[0]?.inputSchema).toEqual({ type: 'object' }); // what it says itself stays
  });

  it('V2: a tool is called by its own names of arguments, whatever names a provider takes', async () => {
    const inputSchema = { type: 'object', properties: { 'filter[id]': { type: 'string' } }, required: ['filter[id]'] };
    const world = await createWorld({ tools: { find: { inputSchema } }, script: [call('find', { filter_id_: 'x' }), { text: 'ok' }] });
    await world.run('go');
    expect(sent(world)[0]?.inputSchema).toMatchObject({ properties: { filter_id_: {} }, required: ['filter_id_'] });
    expect(world.calls).toMatchObject([{ tool: 'ext/find', input: { 'filter[id]': 'x' } }]);
  });

  it('V10 V12: an extension whose schemas take long to read costs itself alone', async () => {
    const description = 'x'.repeat(250_000);
    const large = Object.fromEntries(
      Array.from({ length: 120 }, (_, at) => [`tool${at}`, { inputSchema: { type: 'object', description } }]),
    );
    const world = await createWorld({
      agents: [main],
      extensions: { large: { tools: large }, ext: { tools: { small: {} } } },
      script: [{ text: 'ok' }],
    });
    const { events } = await world.run('go');
    expect(sent(world).map(({ name }) => name)).toContain('small');
    expect(noticed(events)).toContainEqual(
      expect.stringMatching(/^the tool 'tool119' of 'large' is left out: .*too long to read; correct/u),
    );
  });

  it('V12: all tools of a request have a bound; who has few keeps them, and of the others it is said what is left out', async () => {
    const description = 'x'.repeat(10_000);
    const large = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`tool${at}`, { description }]));
    const world = await createWorld({
      agents: [main],
      extensions: { large: { tools: large }, ext: { tools: { small: {} } } },
      script: [{ text: 'ok' }],
    });
    const { events } = await world.run('go');
    expect(sent(world).map(({ name }) => name)).toEqual(
      [...Array.from({ length: 52 }, (_, at) => `tool${at}`), 'small'].sort((a, b) => Number(b === 'small') - Number(a === 'small')),
    );
    expect(JSON.stringify(sent(world)).length).toBeLessThan(600_000);
    expect(noticed(events)).toEqual([
      expect.stringMatching(/^8 tools of 'large' are left out.*512 KB of them: tool52, .* and 3 more; name those/u),
    ]);
  });

  it('V2: a request has no more tools than every provider takes; who has few keeps them', async () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`tool${at}`, {}]));
    const world = await createWorld({
      agents: [main],
      extensions: { large: { tools: many }, ext: { tools: { small: {} } } },
      script: [{ text: 'ok' }],
    });
    const { events } = await world.run('go');
    const names = sent(world).map(({ name }) => name);
    expect(names).toHaveLength(128);
    expect(names).toContain('small');
    expect(noticed(events)).toEqual([expect.stringMatching(/^23 tools of 'large' are left out, because a request has at most 128 tools/u)]);
  });

  it('V12: one tool that is left out is said as one', async () => {
    const description = 'x'.repeat(300_000);
    const large = { one: { description }, two: { description } };
    const world = await createWorld({ agents: [main], extensions: { large: { tools: large }, ext: {} }, script: [{ text: 'ok' }] });
    expect(noticed((await world.run('go')).events)).toEqual([expect.stringMatching(/^1 tool of 'large' is left out, because/u)]);
  });
});
