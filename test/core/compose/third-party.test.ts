import { readFileSync } from 'node:fs';
import path from 'node:path';
import { captureCommand } from '@pith/command-line';
import { describe, expect, it } from 'vitest';
import { testKernel, type TestKernelOptions } from 'pith/testing';
import { kernelCommands } from '../../../core/cli/index.ts';
import { filesBelow, ROOT } from '../../architecture/repository.ts';
import { until } from '../../waiting.ts';

const FOLDER = 'test/fixtures/third-party';
const FILES = Object.fromEntries(
  filesBelow(FOLDER, '.ts', '.yaml').map((file) => [path.relative(FOLDER, file), readFileSync(path.join(ROOT, file), 'utf8')]),
);
const AGENT = { 'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [acme_use] }\n' };
const text = (file: string): string => FILES[`extensions/${file}`] ?? '';

describe('a protocol and a topic of a third party, of which no line of core knows', () => {
  it.each<[string, TestKernelOptions]>([
    ['in the kernel', { isolation: 'in_process', wire: false }],
    ['in the kernel, serialised', { isolation: 'in_process', wire: true }],
    ['each in a separate process', { isolation: 'process' }],
    ['the provider in a process, its user in the kernel', { isolation: 'process', files: { 'pith.yaml': letIn('acme', 'acme_use') } }],
    ['the user in a process, its provider in the kernel', { isolation: 'process', files: { 'pith.yaml': letIn('acme', 'acme_rank') } }],
  ])('works %s, through a reload of the provider and an edit of the contract', async (_, options) => {
    await using pith = await testKernel({ only: [], ...options, files: { ...FILES, ...AGENT, ...options.files } });
    const sort = () => pith.kernel.agents.callTool('asker', 'sort_words', { text: 'c a b' });
    await pith.kernel.start();
    await pith.kernel.host.extensions.activate('acme_rank');
    expect(await sort()).toEqual({ ok: true, output: { language: 'plain', words: ['a', 'b', 'c'], version: 'first' } });
    await until(async () => expect(await pith.kernel.agents.callTool('asker', 'heard', {})).toEqual({ ok: true, output: 'a' }));

    await pith.write('extensions/acme_rank/main.ts', text('acme_rank/main.ts').replace('.sort()', '.sort().reverse()'));
    await pith.kernel.host.extensions.refresh();
    await until(async () => expect(await sort()).toMatchObject({ output: { words: ['c', 'b', 'a'], version: 'first' } }));

    await pith.write('extensions/acme/contract.ts', text('acme/contract.ts').replace("'first'", "'second'"));
    await pith.kernel.host.extensions.refresh();
    await until(async () => expect(await sort()).toMatchObject({ output: { words: ['c', 'b', 'a'], version: 'second' } }));
  });

  it.each([
    [
      'undefined',
      'acme_rank/manifest.yaml',
      ['[acme.ranker]', '[acme.rankr]'],
      /nothing defines the protocol 'acme.rankr' \(did you mean 'acme.ranker'/,
    ],
    [
      'not depended on',
      'acme_rank/manifest.yaml',
      ['depends_on: [acme]', ''],
      /'acme.ranker' is defined by 'acme', which it does not depend on/,
    ],
    [
      'a member missing',
      'acme_rank/main.ts',
      ['async *words', 'async *wrds'],
      /^the class has no method 'words', which 'acme.ranker' needs \(did you mean to rename 'wrds'\?\), see .*\/acme\/contract\.ts$/,
    ],
    [
      'not provided',
      'acme_rank/main.ts',
      ['context.provide(Ranker, this);', ''],
      /'acme.ranker', which the constructor of the class does not/,
    ],
    [
      'A3 other members, with whose they are',
      'acme/manifest.yaml',
      ['words]', 'worlds]'],
      /^the protocol 'acme.ranker' has no worlds, which the manifest of 'acme' defines$/,
      /\/acme\/contract\.ts$/,
    ],
    [
      'no contract',
      'acme_rank/manifest.yaml',
      ['depends_on: [acme]', 'depends_on: []\ndefines: { protocols: { acme.ranker: [rank] }, topics: { acme.ranked: {} } }'],
      /'acme.ranker' is defined by 'acme' already/,
    ],
    [
      'a contract with more',
      'acme/contract.ts',
      ["from 'pith';", "from 'pith';\nimport fs from 'node:fs';\nexport const there = fs.existsSync('/');"],
      /'node:fs' is imported by a contract/,
    ],
    [
      'an undefined topic',
      'acme_rank/manifest.yaml',
      ['[acme.ranked]', '[acme.rankd]'],
      /nothing defines the topic 'acme.rankd' \(did you mean 'acme.ranked'/,
    ],
  ])('says what is wrong: %s', async (_, file, [from = '', to = ''], message, place = /^/) => {
    await using pith = await testKernel({ only: [], files: { ...FILES, [`extensions/${file}`]: text(file).replace(from, to) } });
    const found = await pith.kernel.host.extensions.activate('acme_rank');
    expect(found.message).toMatch(message);
    expect(found.file).toMatch(place);
  });

  it('says once where in whose contract something is wrong', async () => {
    const own = {
      'extensions/acme/manifest.yaml': `${text('acme/manifest.yaml')}entrypoint: main.ts\nprovides: [tool]\n`,
      'extensions/acme/main.ts': 'export default class { getTools() { return []; } }\n',
    };
    const contract = `import 'node:fs';\n${text('acme/contract.ts')}`;
    await using pith = await testKernel({ only: [], files: { ...FILES, ...own, 'extensions/acme/contract.ts': contract } });
    const file = path.join(pith.sandbox, 'extensions/acme/contract.ts');
    const found = await pith.kernel.host.extensions.activate('acme_rank');
    expect(found).toMatchObject({ code: 'import_forbidden', file, line: 1, message: expect.stringMatching(/^the contract of 'acme': /) });
    expect(JSON.stringify(found).split(file)).toHaveLength(2);
    expect(JSON.stringify(found)).not.toContain('pith-contract-of');
  });

  it('refuses an id that `pith/<id>` has already, and an import of what is not depended on', async () => {
    const main = "import { Ranker } from 'pith/acme';\nexport default class { getTools() { return [Ranker]; } }\n";
    const manifest = (id: string) => `id: ${id}\nentrypoint: main.ts\nprovides: [tool]\n`;
    const files = {
      ...FILES,
      'extensions/testing/manifest.yaml': manifest('testing'),
      'extensions/testing/main.ts': main,
      'extensions/stranger/manifest.yaml': manifest('stranger'),
      'extensions/stranger/main.ts': main,
    };
    await using pith = await testKernel({ only: [], files });
    expect((await pith.kernel.host.extensions.activate('testing')).message).toMatch(/the id 'testing' is reserved/);
    expect(await pith.kernel.host.extensions.activate('stranger')).toMatchObject({
      code: 'import_forbidden',
      message: expect.stringContaining("'pith/acme' is the contract of no extension that this one depends on"),
      cure: expect.stringContaining("add acme to 'depends_on'"),
    });
  });

  it.each(['in_process', 'process'] as const)(
    'S20 loads what works without an extension that is not there, and finds nothing of it (%s)',
    async (isolation) => {
      const files = {
        'extensions/lone/manifest.yaml': 'id: lone\nentrypoint: main.ts\nprovides: [tool]\noptional_depends_on: [acme]\n',
        'extensions/lone/main.ts': `import { defineTool, z } from 'pith';
import { Ranker, shelved } from 'pith/acme';
export default class {
  constructor(context) { this.found = context.find(Ranker).length; context.own(context.events.handle(shelved, () => {})); }
  getTools() { return [defineTool({ name: 'count', description: 'Counts.', input: z.object({}), execute: () => this.found })]; }
}
`,
        'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [lone] }\n',
      };
      await using pith = await testKernel({ only: [], isolation, files });
      expect(await pith.kernel.agents.callTool('asker', 'count', {})).toEqual({ ok: true, output: 0 });
    },
  );

  it('T10 the contract of a stranger does not run inside the kernel with an extension that a person let in', async () => {
    const contract = `${text('acme/contract.ts')}\n(globalThis as { contractRan?: boolean }).contractRan = true;\n`;
    const files = { ...FILES, ...AGENT, 'extensions/acme/contract.ts': contract, 'pith.yaml': letIn('acme_use') };
    await using pith = await testKernel({ only: [], isolation: 'process', files });
    expect(await pith.kernel.host.extensions.activate('acme_use')).toMatchObject({
      state: 'failed',
      code: 'import_forbidden',
      message: "'acme_use' runs inside Pith, and the contract of 'acme' would run there with it",
    });
    expect('contractRan' in globalThis).toBe(false);
  });

  it('a topic that nothing defines is said before anybody agrees to hear it', async () => {
    const manifest = 'id: stranger\nentrypoint: main.ts\ndepends_on: [acme]\nevents: { handles: [{ topic: acme.rankd, handler: hear }] }\n';
    const files = {
      ...FILES,
      'extensions/stranger/manifest.yaml': manifest,
      'extensions/stranger/main.ts': 'export default class { hear() {} }\n',
    };
    await using pith = await testKernel({ only: [], files });
    expect(pith.kernel.host.extensions.show('stranger')).toMatchObject({
      state: 'failed',
      code: 'name_unknown',
      message: "nothing defines the topic 'acme.rankd' (did you mean 'acme.ranked'?)",
    });
  });

  it('publishes and hears only what is its own or depended on, and keeps processes from what is closed to them', async () => {
    const main = `import { defineProtocol, defineTopic, defineTool, z } from 'pith';
const codeOf = async (run) => { try { await run(); return 'done'; } catch (error) { return error.code; } };
export default class { constructor(context) { this.context = context; } getTools() { const { events, find } = this.context; return [
  defineTool({ name: 'try_all', description: 'd', input: z.object({}), execute: async () => ({
    publish: await codeOf(() => events.publish(defineTopic('acme.ranked', { durable: true }), { first: 'x' })),
    hear: await codeOf(() => events.handle(defineTopic('acme.ranked'), () => undefined)),
    rank: await codeOf(() => find(defineProtocol('acme.ranker', { rank: { kind: 'method' } }))[0].rank(['a'])) }) })]; } }\n`;
    const closed = text('acme/contract.ts').replace(/\}\);\n\nexport const ranked/, '}, { inProcessOnly: true });\n\nexport const ranked');
    const files = {
      ...FILES,
      'extensions/acme/contract.ts': closed,
      'extensions/stranger/manifest.yaml': 'id: stranger\nentrypoint: main.ts\nprovides: [tool]\n',
      'extensions/stranger/main.ts': main,
      'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [stranger] }\n',
    };
    await using pith = await testKernel({ only: [], isolation: 'process', files });
    expect(await pith.kernel.agents.callTool('asker', 'try_all', {})).toEqual({
      ok: true,
      output: { publish: 'not_declared', hear: 'not_declared', rank: 'not_allowed' },
    });
  });
});

describe('an extension that has only a contract', () => {
  const opened = (files: Readonly<Record<string, string>> = {}) =>
    testKernel({ only: [], isolation: 'process', files: { ...FILES, ...files } });

  it('is listed and shown, is active without code of its own, and is reloaded', async () => {
    await using pith = await opened();
    const { extensions } = await pith.kernel.doctor();
    expect(extensions.map(({ id, state, tier }) => [id, state, tier])).toEqual([
      ['acme', 'active', null],
      ['acme_rank', 'active', 'process'],
      ['acme_use', 'active', 'process'],
    ]);
    const source = { getCommands: () => kernelCommands(pith.kernel) };
    const run = (command: string, id = 'acme') => captureCommand(source, command, { arguments: { id } }, new AbortController().signal);
    expect((await run('extensions list')).text).toMatch(/^acme +active +0\.0\.0 +importers +sandbox/m);
    const { text: shown, exitCode } = await run('extensions show');
    expect({ shown, exitCode }).toMatchObject({ exitCode: 0, shown: expect.stringMatching(/in the extensions that import its contract/) });
    expect(shown).toContain('acme.ranker, acme.ranked');
    expect(await run('extensions reload')).toMatchObject({ exitCode: 0, values: [{ ok: true, state: 'active', tier: null }] });
  });

  it('is an extension whatever it defines, and also an agent with a contract is one', async () => {
    await using pith = await opened({
      'extensions/only_text/manifest.yaml': 'id: only_text\n',
      'extensions/only_text/contract.ts': 'export const TEXT = 1;\n',
      'extensions/only_topic/manifest.yaml': 'id: only_topic\ndefines: { topics: { only.topic: {} } }\n',
      'agents/talker/manifest.yaml': 'id: talker\nagent: { instructions: hello }\n',
      'agents/giver/manifest.yaml': 'id: giver\nagent: { instructions: hello }\n',
      'agents/giver/contract.ts': 'export const GIVEN = 1;\n',
    });
    const { extensions, agents } = await pith.kernel.doctor();
    expect(agents.map(({ id, state }) => [id, state])).toEqual(['giver', 'talker'].map((id) => [id, 'active']));
    const found = extensions.filter(({ state }) => state === 'active').map(({ id }) => id);
    expect(found).toEqual(['acme', 'acme_rank', 'acme_use', 'giver', 'only_text', 'only_topic']);
  });

  it.each([
    ['a contract', 'contract.ts', 'export const = 1;', { code: 'bundle_failed', message: expect.stringMatching(/^contract\.ts:1: /) }],
    [
      'an import',
      'contract.ts',
      "import 'node:fs';",
      { code: 'import_forbidden', message: expect.stringContaining("'node:fs' is imported by") },
    ],
    ['a manifest', 'manifest.yaml', 'id: acme\ndefins: {}\n', { message: expect.stringContaining("'defins'") }],
  ])('what is wrong with %s of it is said of it, and keeps nothing else waiting', async (_, file, text, failure) => {
    await using pith = await opened({ [`extensions/acme/${file}`]: text });
    await pith.kernel.start();
    const { extensions } = await pith.kernel.doctor();
    expect(extensions.find(({ id }) => id === 'acme')).toMatchObject({ state: 'failed', ...failure });
    expect(extensions.filter(({ state }) => state === 'active')).toEqual([]);
    await pith.write(`extensions/acme/${file}`, FILES[`extensions/acme/${file}`]!);
    await pith.kernel.host.extensions.refresh();
    expect((await pith.kernel.doctor()).extensions.map(({ state }) => state)).toEqual(['active', 'active', 'active']);
  });
});

function letIn(...ids: readonly string[]): string {
  return `extensions: { ${ids.map((id) => `${id}: { isolation: in_process }`).join(', ')} }\n`;
}
