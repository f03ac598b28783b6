import { SkillProvider } from '../../../core/contract/index.ts';
import { contextSources } from '../../../core/agent/index.ts';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fakeClock } from 'pith/testing';
import { callTool, NEVER, testSandbox, type TestSandbox, toolClass } from './extensions.ts';
import { TURN } from '../../fixtures/agent-spec.ts';
import { until } from '../../waiting.ts';

let sandbox: TestSandbox;
beforeEach(() => void (sandbox = testSandbox()));

describe.each([{ wire: false }, { wire: true }])('loading, wire $wire', ({ wire }) => {
  it('K5 runs a tool with helper files, packages and the contract of the host', async () => {
    await sandbox.write('extensions/sum/add.ts', `export const add = (a: number, b: number): number => a + b;`);
    await sandbox.extension(
      'sum',
      'tool',
      `import { add } from './add.ts';\nimport { ulid } from 'ulid';\n${toolClass('return { sum: add(input.n ?? 0, 1), id: ulid().length, turn: call.turn.id };')}`,
    );
    const host = await sandbox.host({ wire });
    expect(host.extensions.state('sum')).toBe('idle');
    expect(await callTool(host, 'sum', 'work', { n: 2 })).toEqual({
      ok: true,
      output: { sum: 3, id: 26, turn: 't1' },
    });
    expect(host.extensions.state('sum')).toBe('active');
  });

  it('K5 answers results as values: bad input, thrown, refused by a PithError, not JSON, undefined, toolError, toolResult', async () => {
    await sandbox.extension(
      'many',
      'tool',
      toolClass(`
      switch (input.n) {
        case 1: throw new TypeError('broke');
        case 2: return { run() {} };
        case 3: return undefined;
        case 4: return toolError('odd', 'is odd');
        case 5: return toolResult('text', { title: 'T', metadata: { a: 1 }, retain: { key: 'k', digest: 'd' } });
        case 6: { const a: { self?: unknown } = {}; a.self = a; return a; }
        case 7: return 10n;
        case 8: throw new PithError('busy', 'is busy', { cure: 'wait' });
      }`),
    );
    const host = await sandbox.host({ wire });
    const call = (n: unknown) => callTool(host, 'many', 'work', { n } as never);
    expect(await call('x')).toMatchObject({ ok: false, error: { code: 'tool_input_invalid', message: expect.stringContaining("'n'") } });
    expect(await call(1)).toEqual({ ok: false, error: { code: 'tool_failed', message: 'broke' } });
    expect(await call(2)).toMatchObject({
      ok: false,
      error: { code: 'not_serialisable', message: expect.stringContaining('the result.run') },
    });
    expect(await call(3)).toEqual({ ok: true, output: null });
    expect(await call(4)).toEqual({ ok: false, error: { code: 'odd', message: 'is odd' } });
    expect(await call(5)).toEqual({ ok: true, output: 'text', title: 'T', metadata: { a: 1 }, retain: { key: 'k', digest: 'd' } });
    expect(await call(6)).toMatchObject({ error: { code: 'not_serialisable' } });
    expect(await call(7)).toMatchObject({ error: { code: 'not_serialisable' } });
    expect(await call(8)).toEqual({ ok: false, error: { code: 'busy', message: 'is busy; wait' } });
    expect(await callTool(host, 'many', 'gone')).toMatchObject({ error: { code: 'tool_gone' } });
    expect(await callTool(host, 'none')).toMatchObject({ error: { code: 'tool_gone' } });
    expect(host.extensions.failures().map(({ phase, code }) => `${phase} ${code}`)).toContain('tool call tool_failed');
  });

  it('K5 reaches providers through handles: use, find, errors and functions that cannot cross', async () => {
    await sandbox.extension(
      'knowing',
      'skill',
      `export default class Knowing {
      async getSkillContent(id: string) { throw new PithError('skill_not_found', 'no ' + id, { cure: 'look again', statusCode: 404 }); }
      async listSkills(signal?: AbortSignal) { return [{ id: 'a', aborted: signal?.aborted }]; }
      async validateSkill(path: string) { throw new Error('broke ' + path); }
    }`,
    );
    await sandbox.extension(
      'asking',
      'tool',
      `import { SkillProvider, ToolProvider, type ExtensionContext } from 'pith';
      export default class Asking {
        skills;
        constructor(private readonly context: ExtensionContext) { this.skills = context.use(SkillProvider); }
        getTools() { return [defineTool({ name: 'ask', description: '', input: z.object({}), execute: async () => {
          const errors: string[] = [];
          for (const run of [() => this.skills.getSkillContent('x'), () => this.skills.validateSkill('p'), async () => this.context.use(ToolProvider)]) {
            try { await run(); } catch (error) { errors.push(error.code + ': ' + error.message + (error.cure ? ' / ' + error.cure : '')); }
          }
          return { list: await this.skills.listSkills(), errors, found: this.context.find(SkillProvider).map((each) => each.extensionId) };
        } })]; }
      }`,
      'depends_on: [knowing]',
    );
    const host = await sandbox.host({ wire });
    const result = await callTool(host, 'asking', 'ask');
    expect(result).toMatchObject({
      ok: true,
      output: {
        list: [{ id: 'a', aborted: false }],
        found: ['knowing'],
        errors: [
          'skill_not_found: no x / look again',
          'provider_failed: broke p',
          expect.stringMatching(/^not_declared: 'asking' asks for a provider of 'tool'/),
        ],
      },
    });
    const skills = (await host.providers.active(SkillProvider))[0];
    const refused = await skills?.getSkillContent((() => 1) as never).catch((error: { code: string }) => error.code);
    expect(refused).toBe(wire ? 'not_serialisable' : 'skill_not_found');
  });

  it('K5 skips a context provider that throws, hangs or answers nonsense, and records it', async () => {
    const context = (body: string) => `export default class C { contextPriority = 5; async getContext(prompt: string) { ${body} } }`;
    await sandbox.extension('good', 'context', context('return { system: "s " + prompt };'));
    await sandbox.extension('throwing', 'context', context('throw new Error("no");'));
    await sandbox.extension('hanging', 'context', context('return new Promise(() => {});'));
    await sandbox.extension('nonsense', 'context', context('return 5 as never;'));
    const host = await sandbox.host({ wire });
    const sources = await contextSources(host);
    expect(sources.map(({ extensionId }) => extensionId)).toEqual(['good', 'hanging', 'nonsense', 'throwing']);
    const answers = await Promise.allSettled(sources.map((source) => source.getContext('p', TURN, NEVER)));
    expect(answers[0]).toEqual({ status: 'fulfilled', value: { system: 's p' } });
    expect(answers.slice(1).map((answer) => answer.status === 'rejected' && answer.reason.code)).toEqual([
      'provider_timeout',
      'provider_failed',
      'provider_failed',
    ]);
    const recorded = host.extensions
      .failures()
      .filter(({ phase }) => phase === 'getContext')
      .map(({ extensionId, code }) => `${extensionId} ${code}`);
    expect(recorded.sort()).toEqual(['hanging provider_timeout', 'nonsense provider_failed', 'throwing provider_failed']);
  });
});

describe('what keeps an extension from loading', () => {
  it('K2 blocks dependents of what fails at load, with the chain, and starts all others', async () => {
    await sandbox.extension('base', 'tool', toolClass('return 1;', 'constructor() { throw new Error("no base"); }'));
    await sandbox.extension('middle', 'tool', toolClass('return 1;'), 'depends_on: [base]');
    await sandbox.extension('top', 'tool', toolClass('return 1;'), 'depends_on: [middle]');
    await sandbox.extension('other', 'tool', toolClass('return 1;'));
    const host = await sandbox.host();
    expect(host.extensions.list().map(({ id, state }) => `${id} ${state}`)).toEqual(['base idle', 'middle idle', 'other idle', 'top idle']);
    const status = await host.extensions.activateAll();
    expect(status.map(({ id, state, phase }) => `${id} ${state} ${phase ?? ''}`.trim())).toEqual([
      'base failed construct',
      'middle blocked order',
      'other active',
      'top blocked order',
    ]);
    expect(host.extensions.show('top')?.message).toContain("needs 'middle', which cannot run: it needs 'base', which cannot run: no base");
    await expect(host.providers.tools.of('top')).rejects.toMatchObject({
      code: 'provider_unavailable',
      message: expect.stringContaining('no base'),
    });
  });

  it('K3 names the expected member and the misspelt method', async () => {
    await sandbox.extension(
      'misspelt',
      'context, tool',
      `export default class M { contextPriority = 1; async getContxt() { return null; } getTools() { return []; } }`,
    );
    const host = await sandbox.host();
    const status = await host.extensions.activate('misspelt');
    expect(status).toMatchObject({ state: 'failed', code: 'provides_mismatch' });
    expect(status.message).toBe(
      "the class has no method 'getContext', which 'context' needs (did you mean to rename 'getContxt'?), see ContextProvider in 'pith'",
    );
  });

  it('K3 suggests no member that has a purpose of its own', async () => {
    await sandbox.extension('other', 'tool', `export default class O { tools = []; getBulk() { return 1; } }`);
    const { message } = await (await sandbox.host()).extensions.activate('other');
    expect(message).toBe("the class has no method 'getTools', which 'tool' needs, see ToolProvider in 'pith'");
    expect(message).not.toContain('did you mean');
  });

  it('K3 warns of a protocol that is implemented and not declared', async () => {
    await sandbox.extension(
      'quiet',
      'context',
      `export default class Q { contextPriority = 1; async getContext() { return null; } getTools() { return []; } }`,
    );
    const host = await sandbox.host();
    expect(await host.extensions.activate('quiet')).toMatchObject({
      state: 'active',
      notes: expect.arrayContaining([expect.objectContaining({ code: 'provides_mismatch' })]),
    });
  });

  it('K3 answers tools from the index without loading code, until sources or configuration change', async () => {
    await sandbox.extension('lazy', 'tool', `globalThis.lazyLoads = (globalThis.lazyLoads ?? 0) + 1;\n${toolClass('return 1;')}`);
    const loads = () => (globalThis as { lazyLoads?: number }).lazyLoads ?? 0;
    const first = await sandbox.host();
    const tools = await first.providers.tools.of('lazy');
    expect(tools).toMatchObject([
      { name: 'work', effect: 'read', needsApproval: 'never', timeoutMs: 20_000, inputSchema: { type: 'object' } },
    ]);
    await sandbox.close();
    const before = loads();
    const second = await sandbox.host();
    expect(await second.providers.tools.of('lazy')).toEqual(tools);
    expect(second.extensions.state('lazy')).toBe('idle');
    expect(loads()).toBe(before);
    await sandbox.close();
    await sandbox.write('pith.yaml', 'extensions:\n  lazy: { limit: 3 }\n');
    const third = await sandbox.host();
    await third.providers.tools.of('lazy');
    expect(third.extensions.state('lazy')).toBe('active');
  });

  it('K3 refuses bad and doubled tool names and tells of properties without a schema', async () => {
    const tools = (names: string[]) =>
      `export default class T { getTools() { return [${names.map((name) => `defineTool({ name: '${name}', description: '', input: z.object({ any: z.unknown() }), execute: () => 1 })`).join()}]; } }`;
    await sandbox.extension('bad', 'tool', tools(['has space']));
    await sandbox.extension('double', 'tool', tools(['one', 'one']));
    await sandbox.extension('vague', 'tool', tools(['one']));
    const host = await sandbox.host();
    await host.extensions.activateAll();
    expect(host.extensions.list().map(({ id, state, code }) => `${id} ${state} ${code ?? ''}`.trim())).toEqual([
      'bad failed tool_name_invalid',
      'double failed tool_name_invalid',
      'vague active',
    ]);
    expect(
      host.extensions
        .show('vague')
        ?.notes.map(({ message }) => message)
        .join(),
    ).toContain("'any'");
  });

  it('K4 checks the configuration before construction and names the settings path', async () => {
    const body = toolClass(
      'return 1;',
      'static config = z.strictObject({ limit: z.number() }); constructor() { globalThis.constructedK4 = true; }',
    );
    await sandbox.extension('checked', 'tool', body, 'config: { limit: 3 }');
    await sandbox.write('pith.yaml', 'extensions:\n  checked:\n    limit: many\n    limitt: 4\n');
    const host = await sandbox.host();
    const status = await host.extensions.activate('checked');
    expect(status).toMatchObject({ state: 'failed', code: 'config_invalid', phase: 'validate' });
    expect(status.message).toContain('extensions.checked.limit');
    expect(status.message).toContain("did you mean 'limit'");
    // One place, which is the right one.
    expect(status).toMatchObject({ file: expect.stringMatching(/pith\.yaml$/u), line: 3 });
    expect(status.message?.split(';', 1)[0]).not.toContain('pith.yaml');
    expect((globalThis as { constructedK4?: boolean }).constructedK4).toBeUndefined();
  });

  it('checks agent keys with the schema of their owner and names the nearest key', async () => {
    await sandbox.extension(
      'owner',
      'tool',
      toolClass('return 1;', 'static agentKeys = { style: z.strictObject({ mode: z.string() }) };'),
      'agent_keys: [style]',
    );
    const host = await sandbox.host();
    const keys = { style: { modee: 'x' }, stile: 1 };
    const { notes: found } = await host.agents.checkKeys({ ...TURN.agent, keys });
    expect(found.map(({ code, message }) => `${code} ${message}`)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^unknown_key unknown key 'modee' in 'agent\.style'.*did you mean 'mode'/),
        expect.stringMatching(/^agent_key_unowned .*'style'/),
      ]),
    );
  });

  it('K40 takes what the owner of an agent key only notes as a warning', async () => {
    const check =
      "check.addIssue({ code: 'custom', path: ['mode'], message: 'is late', params: { severity: 'warning', code: 'later', cure: 'Wait' } })";
    await sandbox.extension(
      'owner',
      'tool',
      toolClass('return 1;', `static agentKeys = { style: z.strictObject({ mode: z.string() }).superRefine((_, check) => ${check}) };`),
      'agent_keys: [style]',
    );
    const host = await sandbox.host();
    const { notes: found, keys } = await host.agents.checkKeys({ ...TURN.agent, keys: { style: { mode: 'x' } } });
    expect(keys).toEqual({ style: { mode: 'x' } });
    expect(found).toEqual([{ severity: 'warning', code: 'later', message: "'agent.style.mode': is late", cure: 'Wait' }]);
  });

  it('refuses imports from elsewhere, naming file and line', async () => {
    await sandbox.write('secret.ts', 'export const a = 1;');
    for (const [id, line] of Object.entries({
      outside: "import { a } from '../../secret.ts';",
      data: "import a from 'data:text/javascript,export default 1';",
      http: "import a from 'https://example.org/a.js';",
      inside: "import a from 'pith/testing';",
      absolute: `import { a } from '${sandbox.directory}/secret.ts';`,
    })) {
      await sandbox.extension(id, 'tool', `${line}\nexport const b = a;\n${toolClass('return 1;')}`);
    }
    const host = await sandbox.host();
    await host.extensions.activateAll();
    for (const status of host.extensions.list())
      expect(status).toMatchObject({
        state: 'failed',
        code: 'import_forbidden',
        phase: 'bundle',
        line: 2,
        file: path.join(status.directory, 'main.ts'),
      });
  });

  it('names file and line of a syntax error and of a package that is not there', async () => {
    await sandbox.extension('syntax', 'tool', 'export default class {{');
    await sandbox.extension('absent', 'tool', "import x from 'no-such-package-here';\nexport default x;");
    const host = await sandbox.host();
    expect(await host.extensions.activate('syntax')).toMatchObject({ code: 'bundle_failed', phase: 'bundle', line: 2 });
    expect(await host.extensions.activate('absent')).toMatchObject({
      code: 'bundle_failed',
      message: expect.stringContaining('no-such-package-here'),
    });
  });

  it('keeps five bundles of an extension', async () => {
    const host = await sandbox.host();
    for (let version = 0; version < 7; version++) {
      await sandbox.edit(host, 'often', 'tool', toolClass(`return ${version};`));
      expect(await callTool(host, 'often')).toEqual({ ok: true, output: version });
    }
    const bundles = await readdir(path.join(sandbox.directory, 'data/.cache/bundles'));
    expect(bundles.length).toBe(5);
    expect(await readFile(path.join(sandbox.directory, 'data/.cache/bundles', bundles[0] ?? ''), 'utf8')).toContain('class');
  });

  it('imports a command entry without activating its extension and without opening the store', async () => {
    await sandbox.extension(
      'talker',
      'tool',
      toolClass('return 1;'),
      'commands: [{ path: hello, needs: index, entry: commands.ts, description: Greets }]',
    );
    await sandbox.write(
      'extensions/talker/commands.ts',
      `import type { CommandContext } from 'pith';
      export default (context: CommandContext) => [{ path: 'hello', description: 'Greets', async run(input, io) { io.print(context.id); return 3; } }];`,
    );
    const host = await sandbox.host();
    expect(host.providers.commands.declared()).toEqual([
      {
        extensionId: 'talker',
        path: 'hello',
        declared: 'hello',
        needs: 'index',
        entry: 'commands.ts',
        description: 'Greets',
        first: null,
        hidden: false,
        opening: '',
      },
    ]);
    const [command] = await (
      await host.providers.commands.importEntry('talker', 'commands.ts')
    )(host.providers.commands.contextOf('talker'));
    const printed: string[] = [];
    expect(await command?.run({ arguments: {}, options: {} }, { print: (text: string) => printed.push(text) } as never, NEVER)).toBe(3);
    expect(printed).toEqual(['talker']);
    expect(host.extensions.state('talker')).toBe('idle');
    expect(existsSync(path.join(sandbox.directory, 'data/pith.db'))).toBe(false);
    const [bundle] = await readdir(path.join(sandbox.directory, 'data/.cache/bundles'));
    expect(await readFile(path.join(sandbox.directory, 'data/.cache/bundles', bundle ?? ''), 'utf8')).not.toContain('full()');
  });

  it('K10 says what the tier in process cannot contain, unless a person granted it', async () => {
    await sandbox.extension('mine', 'tool', toolClass('return 1;'));
    await sandbox.extension('granted', 'tool', toolClass('return 1;'));
    await sandbox.write('pith.yaml', 'extensions:\n  granted: { isolation: in_process }\n');
    const host = await sandbox.host();
    expect(host.extensions.show('mine')?.notes).toMatchObject([
      { code: 'isolation_in_process', message: expect.stringContaining('not contained') },
    ]);
    expect(host.extensions.show('granted')?.notes).toEqual([]);
  });

  it('K10 warns of a phase at two seconds and cuts it at ten', async () => {
    const clock = fakeClock();
    await sandbox.extension(
      'slow',
      'tool',
      toolClass('return 1;', 'initialize() { globalThis.slowBegan = true; return new Promise(() => {}); }'),
    );
    const host = await sandbox.host({ clock });
    const activated = host.extensions.activate('slow');
    await until(() => (globalThis as { slowBegan?: boolean }).slowBegan === true);
    await clock.advance(2000);
    expect(host.extensions.show('slow')?.notes).toContainEqual({ code: 'phase_slow', message: 'initialize takes longer than 2 s' });
    await clock.advance(8000);
    expect(await activated).toMatchObject({
      state: 'failed',
      phase: 'initialize',
      code: 'phase_timeout',
      message: expect.stringContaining('10 s'),
    });
  });

  it('cuts a tool at its time, aborts it with its caller, and tells each from the other', async () => {
    const clock = fakeClock();
    await sandbox.extension('long', 'tool', toolClass('return new Promise(() => {});'));
    const host = await sandbox.host({ clock });
    await host.extensions.activate('long');
    const late = callTool(host, 'long');
    await clock.advance(20_000);
    expect(await late).toMatchObject({ ok: false, error: { code: 'tool_timeout', message: expect.stringContaining('20000 ms') } });
    const controller = new AbortController();
    const aborted = callTool(host, 'long', 'work', {}, controller.signal);
    await clock.advance(0);
    controller.abort();
    expect(await aborted).toMatchObject({ ok: false, error: { code: 'aborted' } });
    expect(host.extensions.failures().map(({ code }) => code)).toEqual(['tool_timeout']);
    expect(clock.pending()).toBe(1); // the log's
  });
});
