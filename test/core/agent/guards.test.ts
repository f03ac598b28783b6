import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fakeClock, scriptedModel, type ScriptedStep, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { openTrustFile, trustSandbox } from '../../../core/trust/index.ts';
import { exampleOf } from '../../architecture/skill-text.ts';
import { folderWith, kernelOf, writeFiles } from '../../places.ts';
import { call, together } from './world.ts';

/** Does what the input of the call says, if that names it. */
const GUARD = `export default class {
  async beforeToolCall(call, signal) {
    const { guard } = call.input;
    call.input.guard = 'changed';
    if (guard === 'throw') throw new Error('it broke');
    if (guard === 'hang') await new Promise(() => {});
    if (guard === 'exit') process.exit(3);
    return guard ?? null;
  }
}
`;
const TOOLS = `import { defineTool, z } from 'pith';
const tool = (name, effect, needsApproval = false) =>
  defineTool({ name, description: 'd', input: z.looseObject({}), effect, needsApproval, execute: (input) => input });
export default class { getTools() { return [tool('look', 'read'), tool('change', 'write'), tool('risky', 'write', true)]; } }
`;
const extension = (id: string, provides: string, main: string) => ({
  [`extensions/${id}/manifest.yaml`]: `id: ${id}\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [${provides}]\n`,
  [`extensions/${id}/main.ts`]: main,
});
const BASE = {
  ...extension('ext', 'tool', TOOLS),
  'agents/main/manifest.yaml': 'id: main\nversion: 1.0.0\nagent: { uses_tools: [ext] }\n',
};

async function guarded(script: readonly ScriptedStep[] = [], more: TestKernelOptions = {}): Promise<TestKernel> {
  const files = { ...BASE, ...extension('warden', 'guard', GUARD), ...more.files };
  return kernelOf({ only: [], flags: { default_agent: 'main' }, model: scriptedModel(script), ...more, files });
}
const one = (test: TestKernel, name: string, input: object) => test.kernel.agents.callTool('main', name, input as never);
const doctorOn = async (test: TestKernel, id = 'warden') => (await test.kernel.doctor()).extensions.find((each) => each.id === id)!;
const OFF = 'extensions.warden.enabled: false in pith.yaml';
/** What doctor notes of a guard that cannot be asked. */
const MUTE = expect.objectContaining({
  code: 'guard_failed',
  message: expect.stringContaining("the guard 'warden' cannot answer"),
  cure: expect.stringContaining(OFF),
}) as unknown;

describe('a guard', () => {
  it.each(['in_process', 'process'] as const)(
    'A3 refuses a call with its reason, has a person asked with its reason, and changes nothing else: %s',
    async (isolation) => {
      const script = [
        together(call('look', { guard: { deny: 'not today' } }), call('change', { guard: null, a: 1 })),
        call('change', { guard: { ask: 'is it Friday?' } }),
        { text: 'done' },
      ];
      const test = await guarded(script, { isolation, wire: false });
      const first = await test.run('go');
      expect(first.reason).toBe('awaiting_approval');
      expect(first.results).toMatchObject([
        { ok: false, error: { code: 'denied', message: "not run: the guard 'warden' refuses it: not today" } },
        { ok: true, output: { guard: null, a: 1 } },
      ]);
      const [question, ...others] = await test.kernel.approvals.list();
      expect(others).toEqual([]);
      expect(question).toMatchObject({
        tool: 'ext/change',
        details: "the guard 'warden' wants a person asked: is it Friday?",
        always: null,
      });
      await test.kernel.approvals.answer(question!.id, { answer: 'once', by: 'local' });
      const next = await test.run('', { resume: true }); // it is asked again, and the person is not
      expect(next).toMatchObject({ reason: 'done', results: [{ ok: true, output: { guard: { ask: 'is it Friday?' } } }] });
      expect(JSON.stringify(next.requests.at(-1)?.messages)).toContain('not today');
    },
  );

  it.each(['in_process', 'process'] as const)(
    'A3 that fails refuses what may change something; refusal and doctor name it and how to switch it off: %s',
    async (isolation) => {
      const test = await guarded([], { isolation });
      const ways = isolation === 'process' ? ['throw', 'exit', 'hang', 'nonsense'] : ['throw', 'hang', 'nonsense', { block: true }];
      for (const guard of ways) {
        const [refused, read] = await Promise.all([one(test, 'change', { guard }), one(test, 'look', { guard })]);
        expect(refused).toMatchObject({ ok: false, error: { code: 'denied' } });
        expect(JSON.stringify(refused)).toMatch(/the guard 'warden' cannot answer, so only tools that read run: /u);
        expect(JSON.stringify(refused)).toContain(OFF);
        expect(read).toMatchObject({ ok: true });
        const { message, cure } = await doctorOn(test);
        expect(`${message} ${cure}`).toMatch(/warden/u);
      }
      expect((await doctorOn(test)).cure).toContain(OFF);
    },
    30_000,
  );

  it('A3 that cannot be loaded refuses too, after a restart as well; switched off it is not asked', async () => {
    const test = await guarded([], {
      files: { 'extensions/warden/main.ts': 'export default class { constructor() { throw new Error("no"); } beforeToolCall() {} }' },
    });
    for (const again of [false, true]) {
      if (again) await test.restart();
      expect(await one(test, 'change', {})).toMatchObject({ ok: false, error: { message: expect.stringContaining(OFF) } });
      expect(await one(test, 'look', {})).toMatchObject({ ok: true });
      expect((await doctorOn(test)).notes).toContainEqual(MUTE);
    }
    await test.write('pith.yaml', 'extensions: { warden: { enabled: false } }\n');
    await test.restart();
    expect(await one(test, 'change', {})).toMatchObject({ ok: true });
    expect((await doctorOn(test)).notes).not.toContainEqual(MUTE);
  });

  it('A3 stopped by its breaker refuses too, until it is loaded again', async () => {
    const clock = fakeClock();
    const test = await guarded([], { isolation: 'process', clock });
    for (let crash = 0; crash < 3; crash++) {
      await one(test, 'change', { guard: 'exit' });
      await clock.advance(10_000); // by then it may start again
    }
    const { state } = await doctorOn(test);
    expect([state, await one(test, 'change', {})]).toMatchObject([
      'failed',
      { ok: false, error: { message: expect.stringContaining(OFF) } },
    ]);
  });

  it('A3 T10 sees nothing until a person has agreed, and only tools that read run until then', async () => {
    const [home, seen] = [folderWith(), path.join(folderWith(), 'seen')];
    const spy = `import { writeFileSync } from 'node:fs';
      export default class { beforeToolCall() { writeFileSync(${JSON.stringify(seen)}, 'x'); return null; } }`;
    const sandbox = path.join(folderWith({ 'sandbox/.keep': '' }), 'sandbox');
    writeFiles(sandbox, { ...BASE, ...extension('warden', 'guard', spy) });
    trustSandbox(openTrustFile(home), sandbox);
    const test = await kernelOf({ only: [], flags: { default_agent: 'main' }, home, sandbox, accepts: false });
    expect(test.kernel.host.extensions.show('warden')?.asks).toEqual([{ ask: 'guard', withheld: true, never: null }]);
    expect(await one(test, 'change', {})).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('pith extensions allow warden') },
    });
    expect(await one(test, 'look', {})).toMatchObject({ ok: true });
    expect(existsSync(seen)).toBe(false);
    expect(JSON.stringify((await doctorOn(test)).notes)).toContain('asks to see the input of every tool call and refuse it');
    test.kernel.trust.allow('warden', ['guard']);
    await test.kernel.host.extensions.refresh();
    expect(await one(test, 'change', {})).toMatchObject({ ok: true });
    expect(existsSync(seen)).toBe(true);
  });

  it('A3 asks also where the person has allowed such calls always, and a deny of one guard wins', async () => {
    const two = extension('second', 'guard', `export default class { beforeToolCall({ input }) { return input.second ?? null; } }`);
    const script = [call('risky', { n: 1 }), { text: 'ok' }, call('risky', { n: 2 }), call('risky', { n: 3, guard: { ask: 'sure?' } })];
    const test = await guarded(script, { files: two });
    await test.run('go');
    const [first] = await test.kernel.approvals.list();
    await test.kernel.approvals.answer(first!.id, { answer: 'always', by: 'local' });
    expect((await test.run('', { resume: true })).reason).toBe('done');
    expect((await test.run('again')).reason).toBe('awaiting_approval');
    expect(await one(test, 'look', { guard: { ask: 'a?' }, second: { deny: 'b' } })).toMatchObject({
      error: { message: expect.stringContaining('b') },
    });
    const asked = await one(test, 'look', { guard: { ask: 'a?' } });
    expect(asked).toMatchObject({
      ok: false,
      error: { code: 'approval_needed', message: expect.stringContaining("'warden' wants a person asked: a?") },
    });
  });

  it('A3 holds for MCP tools and for those that a skill brings', async () => {
    const servers = { fix: { command: process.execPath, args: [path.resolve('test/fixtures/mcp-server.mjs')] } };
    const no = `export default class { beforeToolCall({ tool }) { return /forecast|echo/.test(tool) ? { deny: 'no ' + tool } : null; } }`;
    const settings = { extensions: { mcp: { servers } }, extensions_sandbox: 'off', skills: { sources: { replace: ['sandbox/skills'] } } };
    const test = await guarded(
      [call('fix_echo', { text: 'a' }), call('read_skill', { skill_id: 'weather' }), call('forecast'), { text: 'ok' }],
      {
        only: ['mcp', 'skill_scripts', 'skill_registry'],
        files: {
          ...extension('warden', 'guard', no),
          'pith.yaml': JSON.stringify(settings),
          'agents/main/manifest.yaml': 'id: main\nversion: 1.0.0\nagent: { uses_tools: [mcp, skill_registry] }\n',
          'skills/weather/SKILL.md': '---\nname: weather\ndescription: Knows weather.\ntoolsets: ["toolsets/index:list"]\n---\nText.\n',
          'skills/weather/toolsets/index.ts': `import { defineTool, z } from 'pith';
          export const list = [defineTool({ name: 'forecast', description: 'd', input: z.object({}), effect: 'read', execute: () => 'sun' })];`,
        },
      },
    );
    const { results } = await test.run('go');
    expect(results).toMatchObject([
      { name: 'fix_echo', ok: false, error: { message: expect.stringContaining('no mcp/fix_echo') } },
      { name: 'read_skill', ok: true },
      { name: 'forecast', ok: false, error: { message: expect.stringContaining('no toolset:weather/forecast') } },
    ]);
  });

  it('A3 hears what came of each call and where a turn ends, with the agents on the way; what it throws then changes nothing', async () => {
    const diary = `import { appendFileSync } from 'node:fs';
      export default class {
        constructor({ dataDirectory }) { this.file = dataDirectory + '/diary'; }
        write(line) { appendFileSync(this.file, line + '\\n'); }
        beforeToolCall({ tool, agents, input }) { this.write('before ' + tool + ' ' + agents.join('>')); return input.guard ?? null; }
        afterToolCall({ tool }, result) { this.write('after ' + tool + ' ' + result.ok); throw new Error('no'); }
        turnEnded(turn, reason) { this.write('end ' + turn.agent.id + ' ' + reason); throw new Error('no'); }
      }`;
    const script = [
      call('delegate_task', { agent_id: 'helper', task: 'x' }),
      together(call('look'), call('look', { guard: { deny: 'n' } })),
      { text: 'a' },
      { text: 'b' },
    ];
    const test = await guarded(script, {
      only: ['delegation'],
      files: {
        ...extension('warden', 'guard', diary),
        'agents/main/manifest.yaml': 'id: main\nversion: 1.0.0\nagent: { uses_tools: [delegation], delegates_to: [helper] }\n',
        'agents/helper/manifest.yaml': 'id: helper\nversion: 1.0.0\nagent: { description: Helps., uses_tools: [ext] }\n',
      },
    });
    expect((await test.run('go')).reason).toBe('done');
    const lines = (await readFile(path.join(test.sandbox, 'data/extensions/warden/diary'), 'utf8')).trim().split('\n');
    expect(lines).toEqual([
      'before delegation/delegate_task main',
      'before ext/look main>helper',
      'before ext/look main>helper',
      'after ext/look false',
      'after ext/look true',
      'end helper done',
      'after delegation/delegate_task true',
      'end main done',
    ]);
  });

  it.each(['in_process', 'process'] as const)('A3 the two examples do what their pages say: %s', async (isolation) => {
    const paths = exampleOf('sandbox/skills/extension-development/references/guard.md');
    const audit = exampleOf('docs/guards.md');
    const files = {
      'extensions/path_guard/manifest.yaml': paths.manifest,
      'extensions/path_guard/main.ts': paths.main,
      'extensions/audit_log/manifest.yaml': audit.manifest,
      'extensions/audit_log/main.ts': audit.main,
    };
    const test = await guarded([call('change', { path: 'src/../Migrations/1.sql' }), { text: 'ok' }], { isolation, files });
    const { results } = await test.run('go');
    expect(results).toMatchObject([{ ok: false, error: { message: expect.stringContaining('migrations is changed by hand only') } }]);
    expect(await one(test, 'look', { path: 'migrations/1.sql' })).toMatchObject({ ok: true });
    expect(await one(test, 'change', { list: ['.github/x.yml'] })).toMatchObject({ error: { code: 'approval_needed' } });
    const text = await readFile(path.join(test.sandbox, 'data/extensions/audit_log/calls.jsonl'), 'utf8');
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ what, tool }) => `${String(what)} ${String(tool)}`)).toEqual([
      'asked ext/change',
      'denied ext/change',
      'asked ext/look',
      'ok ext/look',
      'asked ext/change',
      'approval_needed ext/change',
    ]);
    expect(lines[0]).toMatchObject({ agents: ['main'], user: 'tester', input: { path: 'src/../Migrations/1.sql' } });
  });
});
