import { existsSync, readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { captureCommand } from '@pith/command-line';
import type { TestKernel } from 'pith/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { shippedSandbox } from '../../../core/declarations/index.ts';
import commands from '../../../sandbox/extensions/extension_builder/commands.ts';
import { KINDS } from '../../../sandbox/extensions/extension_builder/templates.ts';
import { kernelOf, writeFiles } from '../../places.ts';

let pith: TestKernel;
let extensions: string;
beforeEach(async () => {
  const files = { 'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: ["*"] }\n' };
  const only = ['core_tools', 'extension_builder', 'offline', 'skill_registry'];
  pith = await kernelOf({ env: { PITH_MODEL: 'offline/librarian' }, commands: kernelCommands, only, files });
  extensions = path.join(pith.sandbox, 'extensions');
});

describe('new from templates', () => {
  it('K74 an extension of each kind and an agent load as they are made', async () => {
    for (const kind of KINDS) expect((await pith.command(`extensions new my_${kind}_one --kind ${kind}`)).code).toBe(0);
    await pith.command('agents new travel_agent');
    expect((await readdir(extensions)).sort()).toEqual(KINDS.map((kind) => `my_${kind}_one`).sort());
    await pith.restart();
    const { agents, ...found } = await pith.kernel.doctor();
    expect([...found.extensions, ...agents].filter(({ state }) => state !== 'active')).toEqual([]);
    expect(agents.map(({ id }) => id)).toContain('travel_agent');
    const greeted = await pith.kernel.agents.callTool('asker', 'my_tool_one_greet', { name: 'Ada' });
    expect(greeted).toMatchObject({ ok: true, output: { text: 'Hello, Ada!' } });
  });

  it('K74 nothing is written into what ships with Pith from outside of it', async () => {
    const shipped = { sandbox: shippedSandbox(), shippedSandbox: shippedSandbox() };
    const source = { getCommands: () => commands({ use: () => shipped as never }) };
    const stray = path.join(shippedSandbox(), 'extensions/stray');
    const from = process.cwd();
    process.chdir(pith.sandbox);
    try {
      const made = captureCommand(source, 'extensions new', { arguments: { id: 'stray' } }, new AbortController().signal);
      await expect(made).rejects.toMatchObject({ code: 'usage', cure: expect.stringContaining('pith init') });
      expect(existsSync(stray)).toBe(false);
    } finally {
      await rm(stray, { recursive: true, force: true });
      process.chdir(from);
    }
  });

  it('use.md 16: what ships is not replaced without a word, and two new extensions have tools of two names', async () => {
    for (const id of ['one', 'two']) await pith.command(`extensions new ${id}`);
    await pith.restart();
    for (const name of ['one_greet', 'two_greet'])
      expect(await pith.kernel.agents.callTool('asker', name, { name: 'Ada' })).toMatchObject({ ok: true });
    for (const [what, id] of [
      ['extensions', 'kv'],
      ['agents', 'orchestrator'],
    ] as const) {
      await expect(pith.command(`${what} new ${id}`)).rejects.toMatchObject({
        code: 'usage',
        message: `nothing was made: '${id}' ships with Pith, and yours would replace it`,
        cure: 'choose another id, or add --replace',
      });
      expect((await pith.command(`${what} new ${id} --replace`)).code).toBe(0);
    }
  });

  it('K72 without a former version rollback says so', async () => {
    await pith.write('extensions/only_one/manifest.yaml', 'id: only_one\n');
    await expect(pith.command('extensions rollback only_one')).rejects.toThrow("'only_one' has no former version to go back to");
  });

  it('U49 an extension of a project has a test beside the sandbox, unless there is one; without a package.json there is none', async () => {
    const project = path.dirname(pith.sandbox);
    const made = async (id: string) => (await pith.command(`extensions new ${id}`, { json: true })).values;
    expect(await made('one')).toMatchObject([{ test: null }]);
    writeFiles(project, { 'package.json': '{}', 'test/two.test.ts': 'MINE' });
    expect(await made('two')).toMatchObject([{ test: null }]);
    expect(readFileSync(path.join(project, 'test/two.test.ts'), 'utf8')).toBe('MINE');
    writeFiles(project, { 'test/six.test.ts': 'MINE' });
    const { text: kept } = await pith.command('extensions new six');
    expect(kept).toContain('\n  ../../../test/six.test.ts stays as it was: no test was written\n');
    expect(kept).not.toContain('npx vitest');
    expect(await made('three')).toMatchObject([{ test: path.join(project, 'test/three.test.ts') }]);
    const { text } = await pith.command('extensions new four');
    expect(text).toContain('\n  ../../../test/four.test.ts\n');
    expect(text).toMatch(/npx vitest run test\/four\.test\.ts +run its test, .*; once before: npm install --save-dev vitest$/mu);
    expect(readFileSync(path.join(project, 'test/four.test.ts'), 'utf8')).toMatch(/uses_tools: \[four\][^]*'four_greet'/u);
    await pith.command('agents new five');
    expect(existsSync(path.join(project, 'test/five.test.ts'))).toBe(false);
  });

  it('K74 nothing is overwritten, and what cannot be an id or a kind is told with the cure', async () => {
    await pith.command('extensions new my_dice');
    for (const [line, said] of [
      ['extensions new my_dice', { code: 'usage', message: expect.stringContaining('exists already') }],
      ['extensions new ../../etc', { code: 'usage', cure: expect.stringContaining('snake_case') }],
      ['extensions new other --kind tols', { message: expect.stringContaining("did you mean 'tool'") }],
    ] as const)
      await expect(pith.command(line)).rejects.toMatchObject(said);
    expect(await readdir(extensions)).toEqual(['my_dice']);
  });
});

it('K71 a typo in the id of an extension to check is told with the nearest one', async () => {
  await pith.command('extensions new hello');
  const validated = pith.command('extensions validate helo');
  await expect(validated).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining("did you mean 'hello'?") });
});

describe('validate', () => {
  const validate = () => pith.command('extensions validate');

  const manifest = (id: string, provides: string) => `id: ${id}\nentrypoint: main.ts\nprovides: [${provides}]\n`;
  const rows = 'all("SELECT 1 AS one")';
  const early = {
    'early/manifest.yaml': manifest('early', 'service'),
    'early/main.ts': `import type { ExtensionContext } from 'pith';
export default class { constructor(readonly context: ExtensionContext) {} async initialize() { await this.context.database.${rows}; } async runBackground() {} }\n`,
  };

  it('K71 A4 A3 passes what only has a contract, and what depends on it; says of the others what is wrong, once, also of what cannot be tried', async () => {
    writeFiles(extensions, {
      'acme/manifest.yaml': 'id: acme\ndefines: { protocols: { acme.ranker: [rank] } }\n',
      'acme/contract.ts':
        "import { defineProtocol, method } from 'pith';\nexport const Ranker = defineProtocol<{ rank(): Promise<string> }>('acme.ranker', { rank: method() });\n",
      'acme_impl/manifest.yaml': 'id: acme_impl\nentrypoint: main.ts\nprovides: [acme.ranker]\ndepends_on: [acme]\n',
      'acme_impl/main.ts':
        "import type { ExtensionContext } from 'pith';\nimport { Ranker } from 'pith/acme';\nexport default class { constructor(context: ExtensionContext) { context.provide(Ranker, { rank: async () => 'a' }); } }\n",
      ...early,
      'early/main.ts': early['early/main.ts'].replace('runBackground() {', "runBackground() { this.context.events.publish('notify');"),
      'acme_lost/manifest.yaml': 'id: acme_lost\nentrypoint: main.ts\nprovides: [acme.ranker]\n',
      'acme_lost/main.ts': 'export default class {}\n',
      'acme_less/manifest.yaml': 'id: acme_less\nentrypoint: main.ts\nprovides: [acme.ranker]\ndepends_on: [acme]\n',
      'acme_less/main.ts':
        "import type { ExtensionContext } from 'pith';\nimport { Ranker } from 'pith/acme';\nexport default class { constructor(context: ExtensionContext) { context.provide(Ranker, {} as never); } }\n",
      'warden/manifest.yaml': 'id: warden\nentrypoint: main.ts\nprovides: [guard]\npermissions: { network: true }\n',
      'warden/main.ts': "export default class { beforeToolCall() { throw new Error('no luck'); } }\n",
      'empty/notes.txt': 'nothing yet\n',
      'walker/manifest.yaml': 'id: walker\nagent: { instructions: walk }\n',
    });
    await pith.kernel.host.extensions.refresh();
    const { code, text } = await validate();
    expect(code).toBe(1);
    expect(text).toMatch(/^acme: passes\nacme_impl: passes$/m);
    expect(text, 'A3 what others define').toMatch(
      /'acme.ranker' is defined by 'acme', which it does not depend on \(in validate\); add acme to 'depends_on'\nacme_lost/u,
    );
    expect(text, 'A3 where people have it').toContain(`'acme.ranker' needs, see ${path.join(extensions, 'acme/contract.ts')} (in`);
    expect(text, 'A3 a guard').toMatch(
      /^smoke: error .*the guard 'warden' cannot answer.*: no luck .*\nwarden: does not pass \(tried beforeToolCall\)$/m,
    );
    expect(text).toMatch(/isolation: in_process.*\nearly: does not pass$/m);
    expect(text, 'A4').toMatch(
      /^manifest: error extensions\/early\/main\.ts:2: publishes 'notify', .*; add notify to 'events\.publishes'$/m,
    );
    expect(text).toMatch(
      /^load: error there is no extension in .*empty: it has no manifest\.yaml; name its folder\nempty: does not pass$/m,
    );
    expect(text).toMatch(/^load: error 'walker' could not be tried: no extension 'walker': nothing declares it.*\nwalker: does not pass$/m);
  });

  it('K71 of what a person lets into the kernel, what a process lacks is only noted', async () => {
    writeFiles(extensions, early);
    await pith.write('extensions/rows/manifest.yaml', manifest('rows', 'tool, context'));
    await pith.write(
      'extensions/rows/main.ts',
      `import { defineTool, z, type ExtensionContext } from 'pith';
export default class {
  contextPriority = 5;
  constructor(readonly context: ExtensionContext) {}
  async getContext() { return String(await this.context.database.${rows}); }
  getTools() { return [defineTool({ name: 'rows', description: 'd', effect: 'read', input: z.object({}), execute: () => this.context.database.${rows} })]; }
}\n`,
    );
    await pith.write('pith.yaml', 'extensions: { rows: { isolation: in_process }, early: { isolation: in_process } }\n');
    const { code, text } = await validate();
    expect({ code, text }).toEqual({ code: 0, text: expect.not.stringContaining('error ') });
    expect(text.match(/info .*cannot be tried in a separate process/g)).toHaveLength(3);
  });
});
