import { describe, expect, it } from 'vitest';
import { testKernel, type TestKernelOptions } from 'pith/testing';

const CONTRACT = `import { constant, defineProtocol, method, stream } from 'pith';

interface Searched { readonly name: string; search(text: string, signal?: AbortSignal): Promise<string>; }
export interface People extends Searched { all(): AsyncIterable<string>; }

export const People = defineProtocol<People>('two.people', { name: constant(), search: method({ signalAt: 1 }), all: stream() });
export const Files = defineProtocol<Searched>('two.files', { name: constant(), search: method({ signalAt: 1 }) });
`;
const PROVIDES = `context.provide(People, new Staff());
    context.provide(Files, { name: 'files', search: async (text, signal = null) => \`file \${text} \${signal !== null}\` });`;
const provider = (begin = PROVIDES, more = '') => `import { defineProtocol, method, ToolProvider } from 'pith';
import { Files, People } from './contract.ts';

class Staff {
  name = 'people';
  #found = 'person';
  async search(text, signal) { return \`\${this.#found} \${text} \${signal !== undefined}\`; }
  async *all() { yield* ['ada', 'bob']; }
}

export default class {
  constructor(context) {
    this.context = context;
    ${begin}
  }
  ${more}
}
`;
const FILES = {
  'extensions/two/manifest.yaml':
    'id: two\nentrypoint: main.ts\nprovides: [two.people, two.files]\ndefines: { protocols: { two.people: [search, all, name], two.files: [search, name] } }\n',
  'extensions/two/contract.ts': CONTRACT,
  'extensions/two/main.ts': provider(),
  'extensions/asks/manifest.yaml': 'id: asks\nentrypoint: main.ts\nprovides: [tool]\ndepends_on: [two]\n',
  'extensions/asks/main.ts': `import { defineTool, z } from 'pith';
import { Files, People } from 'pith/two';

export default class {
  constructor(context) { this.context = context; }
  getTools() {
    return [defineTool({ name: 'ask', description: 'd', input: z.object({}), execute: async () => {
      const [people, files] = [this.context.use(People), this.context.use(Files)];
      const all = [];
      for await (const each of people.all()) all.push(each);
      return [people.name, await people.search('x'), files.name, await files.search('x'), ...all];
    } })];
  }
}
`,
  'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [asks] }\n',
};

const kernel = (options: TestKernelOptions, main?: string) =>
  testKernel({ only: [], ...options, files: { ...FILES, ...(main === undefined ? {} : { 'extensions/two/main.ts': main }) } });

describe.each<[string, TestKernelOptions]>([
  ['in the kernel', { isolation: 'in_process', wire: false }],
  ['in a process', { isolation: 'process' }],
])('A2 what an extension %s provides', (_, options) => {
  it('has methods of one name in two protocols: each answers its own', async () => {
    await using pith = await kernel(options);
    expect(await pith.kernel.agents.callTool('asker', 'ask', {})).toEqual({
      ok: true,
      output: ['people', 'person x true', 'files', 'file x true', 'ada', 'bob'],
    });
  });

  it.each([
    [
      'lacks a member',
      PROVIDES.replace('search: async', 'serch: async'),
      /^what it provides as 'two\.files' has no method 'search', which 'two\.files' needs \(did you mean to rename 'serch'\?\), see \S*\/extensions\/two\/contract\.ts$/u,
    ],
    [
      'has a member of another kind',
      PROVIDES.replace("name: 'files'", 'name: () => 1'),
      /^what it provides as 'two\.files' has a 'name' that is not a constant, as 'two\.files' needs it, see \S*\/extensions\/two\/contract\.ts$/u,
    ],
    ['is not given', PROVIDES.split('\n', 1)[0]!, /^the manifest provides 'two\.files', which the constructor of the class does not$/u],
    [
      'is given twice',
      `${PROVIDES}\ncontext.provide(People, new Staff());`,
      /'two' provides 'two\.people', which it has provided already/u,
    ],
    ['is no object', 'context.provide(People);', /'two' provides 'two\.people', with something that is not an object/u],
    [
      'is not in the manifest',
      `context.provide(defineProtocol('two.more', { go: method() }), {});`,
      /'two' provides 'two\.more', which its manifest does not say/u,
    ],
    [
      "is a protocol of the kernel's",
      'context.provide(ToolProvider, { getTools: () => [] });',
      /'two' provides 'tool', which its class itself must implement/u,
    ],
  ])('is refused where it %s, with what and where', async (_case, begin, message) => {
    await using pith = await kernel(options, provider(begin));
    expect(await pith.kernel.host.extensions.activate('two')).toMatchObject({ state: 'failed', message: expect.stringMatching(message) });
  });

  it('comes from the constructor, and not later', async () => {
    const late = 'async initialize() { this.context.provide(People, new Staff()); }';
    await using pith = await kernel(options, provider(PROVIDES, late));
    expect(await pith.kernel.host.extensions.activate('two')).toMatchObject({
      state: 'failed',
      message: expect.stringContaining("'two' provides 'two.people', but only its constructor may"),
    });
  });
});
