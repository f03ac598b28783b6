import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { JsonValue, ToolResult } from 'pith';
import { fakeClock, recordEvents, type FakeClock, type TestKernel } from 'pith/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { TURN } from '../../fixtures/agent-spec.ts';
import { folderWith, kernelOf } from '../../places.ts';

const CANARY = 'sk-canary-7391-never-told';

const files = {
  'pith.yaml': '# mine\nextensions:\n  greeter:\n    # who is greeted\n    name: Ada # for now\n',
  'extensions/greeter/manifest.yaml':
    'id: greeter\nentrypoint: main.ts\nprovides: [tool]\nsecrets: [GREETER_KEY]\nconfig: { name: world, times: 1 }\n',
  'extensions/greeter/main.ts': `
import { defineTool, z } from 'pith';
export default class {
  static config = z.strictObject({ name: z.string(), times: z.int().max(3) });
  constructor(context) { this.context = context; }
  getTools() {
    return [defineTool({ name: 'greet', description: 'Greets.', input: z.object({}), effect: 'read',
      execute: () => ({ text: 'hello ' + this.context.config.name, hasKey: this.context.getSecret('GREETER_KEY') !== null, key: this.context.getSecret('GREETER_KEY') }) })];
  }
}
`,
  'extensions/broken/manifest.yaml': 'id: broken\nentrypoint: main.ts\nprovides: [tool]\n',
  'extensions/broken/main.ts': 'export default class { getTools() { throw new Error("no tools today"); } }\n',
};

let home: string;
let folder: TestKernel;
let kernel: TestKernel['kernel'];
let clock: FakeClock;
const signal = new AbortController().signal;

beforeEach(async () => {
  home = folderWith();
  clock = fakeClock();
  folder = await kernelOf({ files, home, clock, commands: kernelCommands });
  kernel = folder.kernel;
});
const call = async (extension: string, tool: string, input: JsonValue): Promise<ToolResult> =>
  kernel.host.providers.tools.call(extension, tool, input, {
    turn: { threadId: 't1', userId: 'ada', agent: { id: 'main' } } as never,
    idempotencyKey: 'k',
    signal: signal,
  });
const core = (tool: string, input: JsonValue) => call('core_tools', tool, input);
const settings = () => readFile(path.join(folder.sandbox, 'pith.yaml'), 'utf8');

const refused = (code: unknown, message = '') => ({ ok: false, error: { code, message: expect.stringContaining(message) } });

describe('extensions_doctor', () => {
  it('K62 says what failed, why and how to fix it, and leaves out what is well', async () => {
    const result = await core('extensions_doctor', {});
    expect(result).toMatchObject({ ok: true, output: { ok: false, extensions: { failed: ['broken'] } } });
    expect(JSON.stringify(result)).toContain('no tools today');
    const one = await core('extensions_doctor', { extension_id: 'greeter' });
    expect(one).toMatchObject({ ok: true, output: { extensions: { active: ['greeter'] } } });
    expect(JSON.stringify(one)).not.toContain('no tools today');
  });

  it('tells an agent of no skill that it may not read: neither its name, nor its folder, nor how many there are', async () => {
    const skill = (name: string) => `---\nname: ${name}\ndescription: Knows of ${name}.\n---\n\nText.\n`;
    const texts = { apples: skill('apples'), strongroom: '# No frontmatter\n', 'secret-plans': skill('secret-plans') };
    for (const [name, text] of Object.entries(texts)) await folder.write(`skills/${name}/SKILL.md`, text);
    await clock.advance(1100); // what was listed a second ago is listed again
    const asked = async (agent: object) => {
      const turn = { threadId: 't1', userId: 'ada', agent: { id: 'main', usesSkills: [], ...agent } } as never;
      return JSON.stringify(
        await kernel.host.providers.tools.call('core_tools', 'extensions_doctor', {}, { turn, idempotencyKey: 'k', signal: signal }),
      );
    };
    expect(await asked({ keys: {} })).toContain('strongroom');
    const confined = await asked({ keys: { skills: { allow: ['apples'] } } });
    expect(confined).not.toContain('strongroom');
    expect(confined).toContain('"skills":{"offered":1}');
  });
});

describe('request_reload and request_restart', () => {
  it('K62 a reload loads the extension anew; one that is not there is told', async () => {
    await call('greeter', 'greet', {});
    expect(await core('request_reload', { extension_id: 'greeter' })).toMatchObject({ ok: true, output: { ok: true, generation: 2 } });
    expect(await core('request_reload', { extension_id: 'greter' })).toMatchObject(refused('not_found', 'greeter'));
    expect(await core('request_reload', { extension_id: 'core_tools' })).toMatchObject(refused('not_allowed'));
  });

  it('K21 a restart needs approval, reaches what supervises the kernel, and says how to go on where nothing does', async () => {
    const tools = await kernel.host.providers.tools.of('core_tools');
    expect(tools.find(({ name }) => name === 'request_restart')?.needsApproval).toBe('always');
    const unsupervised = await core('request_restart', { reason: 'native' });
    expect(unsupervised).toMatchObject(refused(expect.any(String), 'pith chat --thread t1 --resume'));
    const reasons: string[] = [];
    kernel.restarts.handle((reason) => reasons.push(reason));
    expect(await core('request_restart', { reason: 'a native module' })).toMatchObject({ ok: true });
    expect(reasons).toEqual(['a native module']);
  });
});

describe('configure_extension', () => {
  it('K62 writes the value, keeps the comments, and the extension uses it at once', async () => {
    expect(await call('greeter', 'greet', {})).toMatchObject({ output: { text: 'hello Ada' } });
    expect(await core('configure_extension', { extension_id: 'greeter', values: { name: 'Grace', times: 2 } })).toMatchObject({ ok: true });
    expect(await settings()).toBe('# mine\nextensions:\n  greeter:\n    # who is greeted\n    name: Grace # for now\n    times: 2\n');
    expect(await call('greeter', 'greet', {})).toMatchObject({ output: { text: 'hello Grace' } });
    const tools = await kernel.host.providers.tools.of('core_tools');
    expect(tools.find(({ name }) => name === 'configure_extension')?.needsApproval).toBe('maybe');
    const asked = { extension_id: 'greeter', values: { name: 'Grace' } };
    expect(await kernel.host.providers.tools.needsApproval('core_tools', 'configure_extension', asked, TURN)).toMatchObject({
      text: expect.stringContaining("changes name of the extension 'greeter'"),
      once: true,
    });
  });

  it('K62 refuses a value that the extension does not take, with the path, and writes nothing', async () => {
    const before = await settings();
    const configured = (values: JsonValue) => core('configure_extension', { extension_id: 'greeter', values });
    expect(await configured({ times: 9 })).toMatchObject(refused('config_invalid', 'extensions.greeter.times'));
    expect(await configured({ tims: 2 })).toMatchObject(refused(expect.any(String), "did you mean 'times'"));
    expect(await settings()).toBe(before);
  });

  it.each([
    ['isolation', 'in_process'],
    ['enabled', false],
    ['secrets.0', 'OPENAI_API_KEY'],
    ['memory_mb', 4096],
    ['permissions', { network: true }],
    ['env', ['SOME_KEY']],
    ['scripts', { env: ['SOME_KEY'] }],
    ['scripts.env.0', 'SOME_KEY'],
  ])('K62 cannot set %s, which only a person grants', async (key, value) => {
    const before = await settings();
    const configured = await core('configure_extension', { extension_id: 'greeter', values: { [key]: value } });
    expect(configured).toMatchObject(refused('not_allowed'));
    expect(await settings()).toBe(before);
  });
});

describe('configure_extension of a model provider', () => {
  it.each([
    ['api_key_env', 'OTHER_KEY'],
    ['base_url', 'https://elsewhere.example/v1'],
    ['providers.openai.api_key_env', 'OTHER_KEY'],
  ])('K62 an agent sets no %s: it says which secret is read, or who reads it; a person can', async (name, value) => {
    const before = await settings();
    expect(await core('configure_extension', { extension_id: 'openai_compatible', values: { [name]: value } })).toMatchObject({
      ok: false,
    });
    expect(await settings()).toBe(before);
    await expect(
      kernel.host.setup.configure('openai_compatible', { 'providers.openai.api_key_env': 'OTHER_KEY' }, 'agent'),
    ).rejects.toMatchObject({ code: 'not_allowed', cure: 'a person can: pith setup openai_compatible' });
    await kernel.host.setup.configure('openai_compatible', { 'providers.openai.api_key_env': 'OTHER_KEY' });
    expect(await settings()).toContain('OTHER_KEY');
  });
});

describe('request_secret', () => {
  it('K61 asks the person out of band; the value never reaches the model, the log or the settings', async () => {
    const asked = recordEvents(kernel.events);
    expect(await core('request_secret', { name: 'GREETER_KEY', why: 'to greet' })).toMatchObject({
      ok: true,
      output: { set: false, ask: expect.stringContaining('/secrets set GREETER_KEY') },
    });
    expect(asked.of('notify')).toMatchObject([
      {
        kind: 'secret',
        threadId: 't1',
        userId: 'ada',
        text: "'main' needs the secret GREETER_KEY: to greet; give it with: pith secrets set GREETER_KEY",
      },
    ]);
    expect(await core('request_secret', { name: 'GREETER_KEYS' })).toMatchObject(refused('not_declared'));
    await call('greeter', 'greet', {});
    await kernel.host.setup.setSecret('GREETER_KEY', { value: CANARY, for: ['extension:greeter'] });
    expect(await core('request_secret', { name: 'GREETER_KEY' })).toMatchObject({ ok: true, output: { name: 'GREETER_KEY', set: true } });
    expect(asked.of('notify')).toHaveLength(1); // it is there: nobody is asked
    asked.stop();
    const told = await call('greeter', 'greet', {});
    expect(told).toMatchObject({ output: { hasKey: true } });
    const file = path.join(home, '.pith', 'secrets.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const seen = [
      JSON.stringify(told),
      await settings(),
      await readFile(path.join(folder.sandbox, 'data', 'logs', 'pith.log'), 'utf8').catch(() => ''),
    ];
    expect(seen.join()).not.toContain(CANARY);
  });

  it('K61 the environment wins, and a name that nobody declares cannot be kept', async () => {
    await expect(kernel.host.setup.setSecret('SOMETHING', { value: CANARY, for: [] })).rejects.toMatchObject({ code: 'not_declared' });
    await kernel.stop();
    const again = await kernelOf({ sandbox: folder.sandbox, env: { GREETER_KEY: 'from the environment' }, home });
    expect(await again.kernel.host.setup.setSecret('GREETER_KEY', { value: CANARY, for: ['extension:greeter'] })).toMatchObject({
      from: 'environment',
    });
  });
});
