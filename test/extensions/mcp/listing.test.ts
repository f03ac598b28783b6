import path from 'node:path';
import { captureCommand } from '@pith/command-line';
import { scriptedModel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { subjectOf } from '../../../sandbox/extensions/mcp/known-tools.ts';
import { readTool, type ServerTool, listing } from '../../../sandbox/extensions/mcp/listing.ts';
import { modelName, offersOf } from '../../../sandbox/extensions/mcp/offer.ts';
import { kernelOf } from '../../places.ts';

const inputSchema = { type: 'object' };
const tool = (name: unknown, more: object = {}) => ({ name, inputSchema, ...more });
const named = (count: number) => Array.from({ length: count }, (_, at) => tool(`t${at}`));
/** A server that answers these pages by their cursors; the first without one. */
const pages = (first: unknown, others: Readonly<Record<string, unknown>> = {}) =>
  listing(async (cursor) => {
    const page = cursor === undefined ? first : others[cursor];
    if (page instanceof Error) throw page;
    return page;
  });

describe('V2 V4: what servers answer to tools/list', () => {
  it.each<[string, unknown, readonly string[], readonly (readonly [string, string])[], readonly string[]]>([
    ['no tools', { tools: [] }, [], [], []],
    ['tools that are null', { tools: null }, [], [], []],
    ['no list at all', {}, [], [], []],
    ['nothing', null, [], [], []],
    ['a text', 'oops', [], [], []],
    ['tools that are a map', { tools: { a: tool('a') } }, [], [], ['page 1 of its list has no list of tools']],
    ['a cursor that is null', { tools: [tool('a')], nextCursor: null }, ['a'], [], []],
    [
      'a cursor that is a number',
      { tools: [tool('a')], nextCursor: 2 },
      ['a'],
      [],
      ['what follows page 1 of its list cannot be asked for: its cursor is not a text'],
    ],
    ['a tool that is null', { tools: [null, tool('a')] }, ['a'], [['number 1', 'it is not a map']], []],
    ['a tool that is a text', { tools: ['x'] }, [], [['number 1', 'it is not a map']], []],
    ['a tool that is a list', { tools: [[]] }, [], [['number 1', 'it is not a map']], []],
    ['a name that is a number', { tools: [tool(7)] }, [], [['number 1', 'its name is not text']], []],
    ['no name', { tools: [{ inputSchema }] }, [], [['number 1', 'its name is not text']], []],
    ['an empty name', { tools: [tool('')] }, [], [['number 1', 'its name must have 1 to 512 characters']], []],
    ['a name of a novel', { tools: [tool('n'.repeat(600))] }, [], [[`${'n'.repeat(99)}…`, 'its name must have 1 to 512 characters']], []],
    [
      'a name with controls',
      { tools: [tool('a\u001b[2J', { inputSchema: [] })] },
      [],
      [['a\\x1b[2J', 'its input schema is a list, not a map']],
      [],
    ],
    ['no schema', { tools: [{ name: 'a' }] }, ['a'], [], []],
    ['a schema that is null', { tools: [tool('a', { inputSchema: null })] }, ['a'], [], []],
    [
      'a schema that is a text',
      { tools: [tool('a', { inputSchema: 'x' }), tool('b')] },
      ['b'],
      [['a', 'its input schema is a string, not a map']],
      [],
    ],
    [
      'arguments that are a text',
      { tools: [tool('a', { inputSchema: { type: 'string' } }), tool('b')] },
      ['b'],
      [['a', 'its arguments are of type string, not object']],
      [],
    ],
    ['a type that nobody knows', { tools: [tool('a', { inputSchema: { properties: { x: { type: 'nonsense' } } } })] }, ['a'], [], []],
    ['required that is null', { tools: [tool('a', { inputSchema: { type: 'object', required: null } })] }, ['a'], [], []],
    [
      'a schema of 300 KB',
      { tools: [tool('a', { inputSchema: { x: 'x'.repeat(300_000) } }), tool('b')] },
      ['b'],
      [['a', 'its description is longer than 256 KB, or nested too deep']],
      [],
    ],
    [
      'a schema of 50,000 levels',
      { tools: [tool('a', { inputSchema: JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`) as object }), tool('b')] },
      ['b'],
      [['a', expect.stringMatching(/nested too deep|larger/) as unknown as string]],
      [],
    ],
    [
      'descriptions of other kinds',
      { tools: [tool('a', { description: null }), tool('b', { description: 7 }), tool('c', { description: ['x'] })] },
      ['a', 'b', 'c'],
      [],
      [],
    ],
    [
      'annotations of other kinds',
      { tools: [tool('a', { annotations: null }), tool('b', { annotations: [] }), tool('c', { annotations: 'readOnly' })] },
      ['a', 'b', 'c'],
      [],
      [],
    ],
    [
      'output schemas of other kinds',
      { tools: [tool('a', { outputSchema: null }), tool('b', { outputSchema: true }), tool('c', { outputSchema: { pattern: '(' } })] },
      ['a', 'b', 'c'],
      [],
      [],
    ],
    [
      'fields of later protocols',
      { tools: [tool('a', { icons: 7, _meta: null, execution: { taskSupport: 'required' } })], _meta: 1 },
      ['a'],
      [],
      [],
    ],
    ['one tool twice, alike', { tools: [tool('a'), tool('a')] }, ['a'], [], []],
    [
      'one tool twice, different',
      { tools: [tool('a'), tool('a', { description: 'Other.' })] },
      ['a'],
      [],
      ["it lists 'a' twice; the first counts"],
    ],
    ['names that differ in case', { tools: [tool('get'), tool('Get')] }, ['get', 'Get'], [], []],
    ['names of prototypes', { tools: [tool('__proto__'), tool('constructor')] }, ['__proto__', 'constructor'], [], []],
  ])('%s', async (_, page, tools, refused, notes) => {
    const read = await pages(page);
    expect(read.tools.map(({ name }) => name)).toEqual(tools);
    expect([...read.refused]).toEqual(refused);
    expect(read.notes).toEqual(notes);
  });

  it.each<[string, unknown, Readonly<Record<string, unknown>>, readonly string[], readonly string[]]>([
    ['two pages', { tools: [tool('a')], nextCursor: 'x' }, { x: { tools: [tool('b')] } }, ['a', 'b'], []],
    ['an empty cursor that leads on', { tools: [tool('a')], nextCursor: '' }, { '': { tools: [tool('b')] } }, ['a', 'b'], []],
    [
      'an empty cursor for the end, as some write it',
      { tools: [tool('a')], nextCursor: '' },
      { '': { tools: [tool('a')], nextCursor: '' } },
      ['a'],
      ['its list does not end: page 2 leads to an earlier one'],
    ],
    [
      'a circle',
      { tools: [tool('a')], nextCursor: 'x' },
      { x: { tools: [tool('b')], nextCursor: 'y' }, y: { tools: [tool('c')], nextCursor: 'x' } },
      ['a', 'b', 'c'],
      ['its list does not end: page 3 leads to an earlier one'],
    ],
    [
      'an empty page between',
      { tools: [tool('a')], nextCursor: 'x' },
      { x: { tools: [], nextCursor: 'y' }, y: { tools: [tool('b')] } },
      ['a', 'b'],
      [],
    ],
    ['a page that fails', { tools: [tool('a')], nextCursor: 'x' }, { x: new Error('no') }, ['a'], ['page 2 of its list cannot be read']],
    ['a tool on both pages', { tools: [tool('a')], nextCursor: 'x' }, { x: { tools: [tool('a'), tool('b')] } }, ['a', 'b'], []],
  ])('pages: %s', async (_, first, others, tools, notes) => {
    const read = await pages(first, others);
    expect(read.tools.map(({ name }) => name)).toEqual(tools);
    expect(read.notes).toEqual(notes);
  });

  it('a list without end has one, and so has one of 10,001 tools; a first page that fails is a server that fails', async () => {
    let asked = 0;
    const endless = await listing(async () => ({ tools: [], nextCursor: String((asked += 1)) }));
    expect([asked, endless.notes]).toEqual([200, ['of its list only the first 200 pages are read']]);
    const many = await pages({ tools: named(10_001) });
    expect([many.tools.length, many.notes]).toEqual([10_000, ['it lists more than 10000 tools; the others are not looked at']]);
    await expect(pages(new Error('gone'))).rejects.toThrow('gone');
  });

  it('V2 V10 V12: tools that take long to read cost those that come after them, which is said, and others have their turns meanwhile', async () => {
    const long = 'x'.repeat(250_000);
    let turns = 0;
    let isRead = false;
    const others = (): void => void (isRead || ((turns += 1), setImmediate(others)));
    others();
    const read = await pages({
      tools: [tool('before'), ...Array.from({ length: 120 }, (_, at) => tool(`long${at}`, { description: long })), tool('after')],
    });
    isRead = true;
    expect(read.tools.slice(0, 2).map(({ name }) => name)).toEqual(['before', 'long0']);
    expect(read.refused.get('after')).toBe('its input schema, with all before it, takes too long to read');
    expect(turns).toBeGreaterThan(5);
  });

  it('what a tool is called by falls back to its title', () => {
    expect(readTool(tool('a', { title: 'A.', description: '' }))).toMatchObject({ description: 'A.' });
    expect(readTool(tool('a', { title: 7 }))).not.toHaveProperty('description');
  });
});

describe('V4: names', () => {
  it.each([
    ['s', 'read', [], 's_read'],
    ['s', 'a_b', [], 's_a_b'],
    ['s', 'a.b', [], /^s_a_b_[0-9a-f]{8}$/],
    ['s', 'a/b', [], /^s_a_b_[0-9a-f]{8}$/],
    ['s', 'a b', [], /^s_a_b_[0-9a-f]{8}$/],
    ['s', 'größe', [], /^s_gr__e_[0-9a-f]{8}$/],
    ['s', '🚀', [], /^s___[0-9a-f]{8}$/],
    ['s', 'x'.repeat(62), [], `s_${'x'.repeat(62)}`],
    ['s', 'x'.repeat(63), [], /^s_x{53}_[0-9a-f]{8}$/],
    ['git', 'hub_x', ['git_hub'], /^git_hub_x_[0-9a-f]{8}$/],
    ['git', 'hubs', ['git_hub'], 'git_hubs'],
  ])('%s: %s beside %j', (server, own, others, expected) => {
    const name = modelName(server, own, others);
    expect(name).toMatch(expected instanceof RegExp ? expected : new RegExp(`^${expected}$`));
    expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('are distinct, and the same whatever other tools there are and in whatever order', () => {
    const own = ['a.b', 'a_b', 'a/b', 'a b', `${'x'.repeat(80)}1`, `${'x'.repeat(80)}2`];
    const namesOf = (list: readonly string[]) =>
      new Map(
        offered(
          's',
          list.map((name) => tool(name)),
        ).tools.map((each) => [each.tool.name, each.name]),
      );
    const all = namesOf(own);
    expect(new Set(all.values()).size).toBe(own.length);
    for (const name of own) expect(namesOf([name]).get(name)).toBe(all.get(name));
    expect(namesOf(own.toReversed())).toEqual(new Map([...all].toReversed()));
  });

  it('carry no permission of another: what a person agreed to is for the tool that the server has by that name', () => {
    const [dot, line] = ['a.b', 'a_b'].map((name) => readTool(tool(name)) as ServerTool);
    expect(subjectOf('s', dot as ServerTool)).not.toBe(subjectOf('s', line as ServerTool));
  });
});

describe('V4 V12: what is offered, and what is left out', () => {
  it('no more tools than a request takes beside others, and what of 250 is left out is said', () => {
    const offers = offersOf([server('s', named(250)), server('small', named(3))]);
    expect(offers.get('s')?.tools.length).toBe(97);
    expect(offers.get('small')?.tools.length).toBe(3);
    expect(offers.get('s')?.leftOut).toEqual([
      {
        message: expect.stringMatching(
          /^153 of 250 tools of the MCP server 's' are left out, because a request has at most 100 tools of MCP/u,
        ),
        cure: expect.stringContaining('tools.allow'),
      },
    ]);
  });

  it('a server whose tools are too large for a request has what fits; others keep theirs, and it is said how many are missing and what to do', () => {
    const description = 'x'.repeat(900);
    const large = Array.from({ length: 100 }, (_, at) =>
      tool(`t${at}`, {
        inputSchema: { properties: Object.fromEntries(Array.from({ length: 8 }, (__, of) => [`p${of}`, { type: 'string', description }])) },
      }),
    );
    const offers = offersOf([server('large', large), server('small', named(20)), server('other', large)]);
    expect(offers.get('small')).toMatchObject({ tools: { length: 20 }, leftOut: [] });
    const [first, second] = [offers.get('large')!, offers.get('other')!];
    expect(first.tools.length).toBeGreaterThan(20);
    expect(second.tools.length).toBe(first.tools.length);
    expect(first.leftOut).toEqual([
      {
        message: expect.stringMatching(
          /^\d+ of 100 tools of the MCP server 'large' are left out, because a request has at most 100 tools of MCP servers, and 384 KB of them: t\d+, .*…$/u,
        ),
        cure: expect.stringContaining('tools.allow'),
      },
    ]);
    const size = [...offers.values()]
      .flatMap(({ tools }) => tools)
      .reduce((sum, each) => sum + each.name.length + each.description.length + each.tool.sent.size, 0);
    expect(size).toBeLessThan(384 * 1024);
  });

  it('one tool more is said as one', () => {
    const bad = (count: number) =>
      offered(
        's',
        named(count).map((each) => ({ ...each, inputSchema: [] })),
      ).leftOut.at(-1)?.message;
    expect(bad(11)).toMatch(/^1 more tool of the MCP server 's' is left out: t/u);
  });

  it('of ten thousand bad tools ten are named', () => {
    const { leftOut } = offered(
      's',
      Array.from({ length: 1000 }, (_, at) => tool(`t${at}`, { inputSchema: [] })),
    );
    expect(leftOut).toHaveLength(11);
    expect(leftOut.at(-1)?.message).toBe("990 more tools of the MCP server 's' are left out: t10, t11, t12, t13, t14, …");
  });

  it('tools that the settings keep away take nothing of the bound', () => {
    const offer = offered('s', named(5), { allow: ['t1', 't2', 'none'], deny: ['t2'] });
    expect(offer.tools.map(({ name }) => name)).toEqual(['s_t1']);
  });

  it('a description is as long as all providers take it, and says whose tool it is', () => {
    const [each] = offered('s', [tool('a', { description: `${'\u202e'.repeat(300)}${'x'.repeat(3000)}` })]).tools;
    expect(each?.description.length).toBeLessThan(1025);
    expect(each?.description).toMatch(/… \(from the MCP server 's'\)$/u);
    expect(each?.description).not.toContain('\u202e');
  });
});

describe('a server that brings odd tools', () => {
  it('V2 V4 V10: costs those that cannot be used, and says so; what can be is called as the server has it, and no pattern of it runs', async () => {
    const properties = { 'filter[id]': { type: 'string' } };
    const outputSchema = { type: 'object', properties: { n: { type: 'string', pattern: '^(a+)+$' } } };
    const evil = tool('evil', {
      outputSchema,
      annotations: { readOnlyHint: true },
      inputSchema: { ...inputSchema, properties, anyOf: [{ required: ['filter[id]'] }] },
    });
    const tools = [evil, tool('a.b'), tool('a_b'), tool('bad', { inputSchema: { type: 'array' } }), ...named(90)];
    const command = { command: process.execPath, args: [path.resolve('test/fixtures/mcp-odd-server.mjs'), 'list', JSON.stringify(tools)] };
    const model = scriptedModel([{ calls: [{ name: 'odd_evil', input: { filter_id_: 'x' } }] }, { text: 'ok' }]);
    const test = await kernelOf({
      only: ['mcp', 'orchestrator'],
      model,
      files: { 'pith.yaml': JSON.stringify({ extensions: { mcp: { servers: { odd: command } } } }) },
    });
    expect((await test.run('go')).reason).toBe('done');
    const sent = model.requests[0]!.tools.filter(({ name }) => name.startsWith('odd_'));
    expect(sent).toHaveLength(93);
    expect(sent[0]).toMatchObject({
      name: 'odd_evil',
      inputSchema: { type: 'object', properties: { filter_id_: { type: 'string' } }, required: ['filter_id_'] },
    });
    expect(sent[1]?.inputSchema).toEqual({ type: 'object', properties: {} });
    expect(JSON.stringify(model.requests[1]!.messages)).toMatch(/filter\[id\].{0,10}x/u);
    const commands = await test.kernel.host.providers.commands.of('mcp');
    const [rows] = (await captureCommand({ getCommands: () => commands }, 'mcp', {}, new AbortController().signal)).values as [
      { leftOut: string[] }[],
    ];
    const said = "the tool 'bad' of the MCP server 'odd' is left out: its arguments are of type array, not object";
    expect(rows[0]?.leftOut).toEqual([`${said}; have the server corrected`]);
    expect((await test.kernel.doctor()).notes.map(({ message }) => message)).toContain(said);
  });
});

function server(name: string, tools: readonly object[], config: { readonly allow?: string[]; readonly deny: string[] } = { deny: [] }) {
  const read = tools.map((each) => [each as { readonly name: string }, readTool(each)] as const);
  return {
    name,
    config: { tools: config },
    listing: {
      tools: read.flatMap(([, each]) => (typeof each === 'string' ? [] : [each])),
      refused: new Map(read.flatMap(([given, each]) => (typeof each === 'string' ? [[given.name, each] as const] : []))),
      notes: [],
    },
  };
}

function offered(name: string, tools: readonly object[], config?: Parameters<typeof server>[2]) {
  return offersOf([server(name, tools, config)]).get(name)!;
}
