import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fakeClock, scriptedModel, type ScriptedStep, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { openTrustFile, trustSandbox } from '../../../core/trust/index.ts';
import { exampleOf } from '../../architecture/skill-text.ts';
import { folderWith, kernelOf, writeFiles } from '../../places.ts';
import { call, together } from './world.ts';

/** Does what the input of the call says, if that names it, and changes all that it is given. */
const GUARD = `export default class {
  async beforeToolCall(call, signal) {
    const { guard } = call.input;
    call.input.guard = 'changed';
    call.turn.userId = 'changed';
    if (guard === 'undefined') return undefined;
    if (guard === 'throw') throw new Error('it broke');
    if (guard === 'hang') await new Promise(() => {});
    if (guard === 'exit') process.exit(3);
    return guard ?? null;
  }
  afterToolCall(call, result) {
    call.turn.userId = 'changed';
    if (result.ok) result.output.guard = 'changed';
  }
}
`;
const TOOLS = `import { defineTool, z } from 'pith';
const tool = (name, effect, needsApproval = false) =>
  defineTool({ name, description: 'd', input: z.looseObject({}), effect, needsApproval, execute: (input, { turn }) => ({ ...input, user: turn.userId }) });
export default class { getTools() { return [tool('look', 'read'), tool('change', 'write'), tool('risky', 'write', true)]; } }
`;
const extension = (id: string, provides: string, main: string) => ({
  [`extensions/${id}/manifest.yaml`]: `id: ${id}\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [${provides}]\n`,
  [`extensions/${id}/main.ts`]: main,
});
/** Two lines for each call: when it is asked about, and when it has ended. */
const AUDIT_LOG = extension(
  'audit_log',
  'guard',
  `import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExtensionContext, ToolGuard, ToolResult } from 'pith';

type Call = Parameters<ToolGuard['beforeToolCall']>[0];

export default class AuditLog implements ToolGuard {
  constructor(private readonly context: ExtensionContext) {}

  async beforeToolCall(call: Call) {
    await this.#write(call, 'asked');
    return null;
  }

  async afterToolCall(call: Call, result: ToolResult) {
    await this.#write(call, result.ok ? 'ok' : result.error.code);
  }

  async #write({ tool, input, agents, turn, idempotencyKey }: Call, what: string): Promise<void> {
    const at = new Date(this.context.clock.now()).toISOString();
    const line = { at, what, call: idempotencyKey, tool, input, agents, user: turn.userId, channel: turn.channelId };
    await appendFile(path.join(this.context.dataDirectory, 'calls.jsonl'), \`\${JSON.stringify(line)}\\n\`);
  }
}
`,
);
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
        { ok: true, output: { guard: null, a: 1, user: 'local' } },
      ]);
      const [question, ...others] = await test.kernel.approvals.list();
      expect(others).toEqual([]);
      expect(question).toMatchObject({
        tool: 'ext/change',
        details: "the guard 'warden' wants a person to be asked: is it Friday?",
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
      const ways = ['throw', isolation === 'process' ? 'exit' : { block: true }, 'hang', 'nonsense', 'undefined'];
      for (const guard of ways) {
        const [refused, read] = await Promise.all([one(test, 'change', { guard }), one(test, 'look', { guard })]);
        expect(refused).toMatchObject({ ok: false, error: { code: 'denied' } });
        expect(JSON.stringify(refused)).toMatch(/the guard 'warden' cannot answer, so only tools that read run: /u);
        expect(JSON.stringify(refused)).toContain(OFF);
        expect(read).toMatchObject({ ok: true });
      }
      const { ok, extensions } = await test.kernel.doctor();
      const { code, message, cure } = extensions.find(({ id }) => id === 'warden')!;
      expect([ok, code, message]).toEqual([false, 'guard_failed', expect.stringContaining('neither null nor { deny } nor { ask }')]);
      expect(cure).toBe(`correct it (see: pith extensions show warden), or switch it off (${OFF})`);
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

  it('A3 whose manifest is wrong is one all the same, though nobody has agreed yet', async () => {
    const manifest = (id: string, text: string) => ({
      [`extensions/${id}/manifest.yaml`]: `version: 1.0.0\n${text}\n`,
      [`extensions/${id}/main.ts`]: GUARD,
    });
    const test = await guarded([], {
      files: {
        ...manifest('warden', 'id: warden\nprovides: [guard]'),
        ...manifest('astray', 'id: astray\nentrypoint: gone.ts\nprovides: [guard]'),
        ...manifest('unsure', 'id: unsure\nentrypoint: main.ts\nprovides: [guard, guess]'),
        ...manifest('other', 'id: another\nentrypoint: main.ts\nprovides: [guard]'),
        ...manifest('slip', 'id: slip\nentrypoint: main.ts\nprovides: [gaurd]'),
        ...manifest('listless', 'id: listless\nentrypoint: main.ts\nprovides: guard'),
      },
    });
    expect(await one(test, 'look', {})).toMatchObject({ ok: true });
    const refused = JSON.stringify(await one(test, 'change', {}));
    for (const id of ['warden', 'astray', 'unsure', 'other', 'slip', 'listless']) {
      expect(refused).toContain(`extensions.${id}.enabled: false in pith.yaml`);
      expect((await doctorOn(test, id)).notes).toContainEqual(expect.objectContaining({ code: 'guard_failed' }));
    }
  });

  it('A3 T10 sees nothing until a person has agreed; then it is one until they switch it off, whatever becomes of its folder', async () => {
    const [home, seen] = [folderWith(), path.join(folderWith(), 'seen')];
    const spy = GUARD.replace('const { guard }', `writeFileSync(${JSON.stringify(seen)}, 'x'); const { guard }`);
    const sandbox = path.join(folderWith({ 'sandbox/.keep': '' }), 'sandbox');
    writeFiles(sandbox, { ...BASE, ...extension('warden', 'guard', `import { writeFileSync } from 'node:fs';\n${spy}`) });
    trustSandbox(openTrustFile(home), sandbox);
    const test = await kernelOf({ only: [], flags: { default_agent: 'main' }, model: scriptedModel([]), home, sandbox, accepts: false });
    const refusal = async () => {
      expect(await one(test, 'look', {})).toMatchObject({ ok: true });
      const { ok, ...refused } = await one(test, 'change', {});
      expect([ok, (await test.kernel.doctor()).ok]).toEqual([false, false]);
      return JSON.stringify(refused);
    };
    expect(test.kernel.host.extensions.show('warden')?.asks).toEqual([{ ask: 'guard', withheld: true, never: null }]);
    expect(await refusal()).toContain(`a person can agree (pith extensions allow warden), or switch it off (${OFF})`);
    expect(existsSync(seen)).toBe(false);
    expect(JSON.stringify((await doctorOn(test)).notes)).toContain('asks to see the input of every tool call and refuse it');
    test.kernel.trust.allow('warden', ['guard']);
    await test.kernel.host.extensions.refresh();
    expect(await one(test, 'change', {})).toMatchObject({ ok: true });
    expect(existsSync(seen)).toBe(true);
    expect(await test.kernel.doctor()).toMatchObject({ ok: true });

    const manifest = await readFile(path.join(sandbox, 'extensions/warden/manifest.yaml'), 'utf8');
    for (const wrong of ['id: [', 'id: warden\nentrypoint: main.ts', `${manifest}enabled: flase\n`, null]) {
      await test.write('extensions/warden/manifest.yaml', manifest);
      await test.kernel.host.extensions.refresh();
      expect(await one(test, 'change', {})).toMatchObject({ ok: true });
      if (wrong === null) await test.remove('extensions/warden');
      else await test.write('extensions/warden/manifest.yaml', wrong);
      await test.kernel.host.extensions.refresh();
      const denied = await one(test, 'change', { guard: { deny: 'no' } }); // the version that runs goes on
      expect([wrong, denied]).toMatchObject([wrong, { ok: false, error: { message: expect.stringContaining("'warden' refuses it: no") } }]);
      await test.restart();
      expect(JSON.stringify(await one(test, 'change', { guard: { deny: 'no' } }))).toContain(
        wrong?.includes('flase') ? "'warden' refuses it: no" : OFF,
      );
    }
    expect(await refusal()).toContain(
      'a person can put its folder back, or forget it (pith extensions allow warden --revoke), or switch it off',
    );
    await test.write('extensions/warden/manifest.yaml', manifest.replace('guard]', 'tool]'));
    await test.write('extensions/warden/main.ts', 'export default class { getTools() { return []; } }');
    await test.restart();
    expect(await refusal()).toContain(
      "its manifest no longer has 'guard' in 'provides'; a person can put it back, take back all that you agreed to for it (pith extensions allow warden --revoke)",
    );
    await test.remove('extensions/warden');
    await test.kernel.host.extensions.refresh();
    await test.write('pith.yaml', 'extensions: { warden: { enabled: false } }\n');
    await test.kernel.host.extensions.refresh();
    expect(await one(test, 'change', {})).toMatchObject({ ok: true });
    expect(await test.kernel.doctor()).toMatchObject({ ok: true, notes: [] });
    await test.remove('pith.yaml');
    await test.kernel.host.extensions.refresh();
    expect(await refusal()).toContain(OFF);
    test.kernel.trust.takeBack('warden');
    await test.kernel.host.extensions.refresh();
    expect(await one(test, 'change', {})).toMatchObject({ ok: true });
    expect(test.kernel.host.extensions.show('warden')).toBeNull();
  });

  it('A3 asks also where the person has allowed such calls always, and a deny of one guard wins', async () => {
    const late = path.join(folderWith({ reason: '' }), 'reason');
    const two = extension(
      'second',
      'guard',
      `import { readFileSync } from 'node:fs';
      export default class {
        beforeToolCall({ input }) {
          const ask = input.late && readFileSync(input.late, 'utf8');
          return input.second ?? (ask ? { ask } : null);
        }
      }`,
    );
    const asking = call('risky', { n: 3, guard: { ask: 'sure?' } });
    const script = [call('risky', { n: 1 }), { text: 'ok' }, call('risky', { n: 2 }), asking, call('risky', { late })];
    const test = await guarded(script, { files: two });
    await test.run('go');
    const [first] = await test.kernel.approvals.list();
    await test.kernel.approvals.answer(first!.id, { answer: 'always', by: 'local' });
    expect((await test.run('', { resume: true })).reason).toBe('done');
    expect((await test.run('again')).reason).toBe('awaiting_approval');
    expect(await one(test, 'look', { guard: { ask: 'a?' }, second: { deny: 'b' } })).toMatchObject({
      error: { message: expect.stringContaining('b') },
    });
    // A yes that was given before a guard asked, or for another reason of it, is no answer to this one.
    const details = async () => (await test.kernel.approvals.list('late')).map((each) => each.details);
    expect((await test.run('more', { threadId: 'late' })).reason).toBe('awaiting_approval');
    for (const why of ['late 1?', 'late 2?']) {
      const [open] = await test.kernel.approvals.list('late');
      await test.kernel.approvals.answer(open!.id, { answer: 'once', by: 'local' });
      writeFiles(path.dirname(late), { reason: why });
      expect((await test.run('', { resume: true, threadId: 'late' })).reason).toBe('awaiting_approval');
      expect(await details()).toEqual([expect.stringContaining(why)]);
      expect((await test.run('', { resume: true, threadId: 'late' })).reason).toBe('awaiting_approval');
      expect(await details()).toHaveLength(1);
    }
    const asked = await one(test, 'look', { guard: { ask: 'a?' } });
    expect(asked).toMatchObject({
      ok: false,
      error: { code: 'approval_needed', message: expect.stringContaining("'warden' wants a person to be asked: a?") },
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
        clock: fakeClock(), // a turn waits until the server and the toolset are there, however long that takes
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
      call('change'),
      { text: 'c' },
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
    // Of what limits and policy refuse, it neither decides nor hears.
    const planned = await test.run('plan', { agent: 'helper', threadId: 'plan', policy: { readOnly: true } });
    expect(planned.results).toMatchObject([{ ok: false, error: { code: 'plan_mode' } }]);
    const more = (await readFile(path.join(test.sandbox, 'data/extensions/warden/diary'), 'utf8')).trim().split('\n').slice(lines.length);
    expect(more).toEqual(['end helper done']);
  });

  it.each(['in_process', 'process'] as const)(
    'A3 the example does what its page says, and another guard writes down each call with its end: %s',
    async (isolation) => {
      const paths = exampleOf('sandbox/skills/extension-development/references/guard.md');
      const files = {
        'extensions/path_guard/manifest.yaml': paths.manifest,
        'extensions/path_guard/main.ts': paths.main,
        ...AUDIT_LOG,
      };
      const test = await guarded([call('change', { path: 'src/../Migrations/1.sql' }), { text: 'ok' }], { isolation, files });
      const { results } = await test.run('go');
      expect(results).toMatchObject([{ ok: false, error: { message: expect.stringContaining('only a person may change migrations') } }]);
      expect(await one(test, 'look', { path: 'migrations/1.sql' })).toMatchObject({ ok: true });
      expect(await one(test, 'change', { paths: ['.github/x.yml'] })).toMatchObject({ error: { code: 'approval_needed' } });
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
      expect(lines[0]).toMatchObject({ agents: ['main'], user: 'local', input: { path: 'src/../Migrations/1.sql' } });
    },
  );

  it('A3 the path guard sees a folder in every field for a path and every header of a patch, and nowhere else', async () => {
    const { manifest, main } = exampleOf('sandbox/skills/extension-development/references/guard.md');
    const files = {
      'extensions/warden/manifest.yaml': manifest.replace('id: path_guard', 'id: warden'),
      'extensions/warden/main.ts': main,
      'agents/main/manifest.yaml': 'id: main\nversion: 1.0.0\nagent: { uses_tools: [ext, core_tools] }\n',
      'notes/1.sql': 'old\n',
    };
    const test = await guarded([], { only: ['core_tools'], files });
    const codeOf = async (name: string, input: object) => {
      const result = await one(test, name, input);
      return result.ok ? 'ok' : result.error.code;
    };
    const hunk = '@@ -1 +1 @@\n-old\n+../../../..\n';
    const moved = (how: string, from: string, to: string) =>
      `diff --git a/one b/two\nsimilarity index 100%\n${how} from ${from}\n${how} to ${to}\n`;
    // Each form is one that the tool takes: of a folder that is not closed it is no invalid patch.
    const patches: readonly ((folder: string) => string)[] = [
      (folder) => `--- a/${folder}/1.sql\n+++ b/${folder}/1.sql\n${hunk}`,
      (folder) => `--- ${folder}/1.sql\t2026-01-01\r\n+++ ${folder}/1.sql\t2026-01-01\r\n${hunk}`,
      (folder) => `---\u2028${folder}/1.sql\n+++\u2028${folder}/1.sql\n${hunk}`,
      (folder) => `--- a/README.md\n+++ b/README.md\n${hunk}--- a/./${folder}//1.sql\n+++ b/./${folder}//1.sql\n${hunk}`,
      (folder) => `--- a/${folder}/1.sql\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n`,
      (folder) => `--- /dev/null\n+++ b/${folder}/2.sql\n@@ -0,0 +1 @@\n+${'../'.repeat(9)}\n`,
      (folder) =>
        `--- "a/\\${folder.charCodeAt(0).toString(8)}${folder.slice(1)}/1.sql"\n+++ "b/\\${folder.charCodeAt(0).toString(8)}${folder.slice(1)}/1.sql"\n${hunk}`,
      (folder) => `diff --git a/${folder}/1.sql b/${folder}/1.sql\nold mode 100644\nnew mode 100755\n`,
      (folder) => moved('rename', `${folder}/1.sql`, 'away.sql'),
      (folder) => moved('rename', 'README.md', `${folder}/2.sql`),
      (folder) => moved('copy', 'README.md', `${folder}/2.sql`),
    ];
    for (const [at, patch] of patches.entries()) {
      expect([at, await codeOf('apply_patch', { patch: patch('migrations') })]).toEqual([at, 'denied']);
      expect([at, await codeOf('apply_patch', { patch: patch('Migrations') })]).toEqual([at, 'denied']);
      expect([at, await codeOf('apply_patch', { patch: patch('notes') })]).not.toEqual([
        at,
        expect.stringMatching(/denied|patch_invalid/u),
      ]);
    }
    for (const place of [
      'migrations',
      './migrations/1',
      'a/../MIGRATIONS/1',
      '/srv/a/migrations/1',
      '../migrations\\1',
      'file:///a/%6digrations/1',
      ' migrations/a\nb',
      'file:migrations/1',
      ':(top)migrations/1',
    ])
      for (const input of [
        { path: place },
        { files: ['x', place] },
        { edits: [{ file_path: place }] },
        { path: 'x', to: place },
        { files: { [place]: 'x' } },
        { path: { value: place } },
        { files: [{ name: place, content: 'x' }] },
        { paths: { a: place } },
        { destinationUri: place },
        { out: place },
        { dest: place },
        { patch: `\uFEFF  --- ${place.replace('\n', '')}` },
      ])
        expect([place, await codeOf('change', input)]).toEqual([place, 'denied']);
    for (const input of [
      { content: 'see migrations/1' },
      { files: [{ name: 'notes/1', content: 'see migrations/1' }] },
      { path: 'migrations2/1' },
      { patch: `--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+in migrations/1\n` },
    ])
      expect([input, await codeOf('change', input)]).toEqual([input, 'ok']);

    for (const [slip, why] of [
      ['closed: src', /extensions\.warden\.closed/u],
      ['closd: [src]', /unknown key 'closd' in 'extensions\.warden'/u],
    ] as const) {
      await test.write('pith.yaml', `extensions: { warden: { ${slip} } }\n`);
      await test.restart();
      expect(await codeOf('change', { path: 'src/1' })).toBe('denied');
      const { notes = [] } = (await doctorOn(test)) ?? {};
      expect(notes.filter(({ message }) => why.test(message))).toMatchObject([{ code: 'guard_failed' }]); // and said once
    }
  });
});
