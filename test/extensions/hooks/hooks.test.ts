import fs from 'node:fs';
import path from 'node:path';
import { fakeClock, recordEvents, scriptedModel, type ScriptedStep } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Hook } from '../../../sandbox/extensions/hooks/config.ts';
import { runHook } from '../../../sandbox/extensions/hooks/run-hook.ts';
import { read } from '../../architecture/repository.ts';
import { blocks } from '../../architecture/skill-text.ts';
import { folderWith, kernelOf } from '../../places.ts';
import { call } from '../../core/agent/world.ts';
import { isAlive } from '../../core/process/hosts.ts';
import { until } from '../../waiting.ts';

const TOOLS = `import { defineTool, z } from 'pith';
const tool = (name, effect) => defineTool({ name, description: 'd', input: z.looseObject({}), effect, execute: (input) => input.text ?? input });
export default class { getTools() { return [tool('look', 'read'), tool('change', 'write')]; } }
`;

/** A kernel with these hooks; \`LOG\` in a command is a file whose text \`log\` returns. */
async function hooked(hooks: Readonly<Record<string, object>>, script: readonly ScriptedStep[] = []) {
  const file = path.join(folderWith(), 'log');
  const settings = JSON.stringify({ extensions: { hooks } }).replaceAll('LOG', file);
  const test = await kernelOf({
    only: ['hooks'],
    flags: { default_agent: 'main' },
    model: scriptedModel(script),
    files: {
      'pith.yaml': settings,
      'extensions/ext/manifest.yaml': 'id: ext\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [tool]\n',
      'extensions/ext/main.ts': TOOLS,
      'agents/main/manifest.yaml': 'id: main\nversion: 1.0.0\nagent: { uses_tools: [ext] }\n',
    },
  });
  return {
    test,
    one: (name: string, input: object = {}) => test.kernel.agents.callTool('main', name, input as never),
    log: () => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''),
  };
}
const refused = (message: string) => ({ ok: false, error: { code: 'denied', message: expect.stringContaining(message) } });

describe('hooks', () => {
  it('A3 refuse a call with what they write to standard error, have it asked, or let it go on, for the tools that they name', async () => {
    const { test, one, log } = await hooked({
      protect: {
        on: 'before_tool',
        tools: ['ext/ch*'],
        command: 'cat >> LOG; grep -q secret LOG && { echo "not that file" >&2; exit 2; }; exit 0',
      },
      careful: {
        on: 'before_tool',
        tools: ['change'],
        command: `grep -q risky && echo '{"decision":"ask","reason":"it is risky"}'; exit 0`,
      },
    });
    expect(await one('change', { a: 1 })).toMatchObject({ ok: true, output: { a: 1 } });
    const facts = {
      hook_event_name: 'before_tool',
      tool_name: 'change',
      tool: 'ext/change',
      tool_input: { a: 1 },
      effect: 'write',
      agents: ['main'],
    };
    expect(JSON.parse(log())).toMatchObject(facts);
    expect(await one('look', { text: 'secret' })).toMatchObject({ ok: true }); // it is not about this tool
    expect(await one('change', { a: 'risky' })).toMatchObject({
      ok: false,
      error: { code: 'approval_needed', message: expect.stringContaining('it is risky') },
    });
    expect(await one('change', { a: 'secret' })).toMatchObject(refused("the guard 'hooks' refuses it: not that file (hook 'protect')"));
    const before = log();
    expect(await test.kernel.doctor()).toMatchObject({ ok: true }); // and runs none
    expect(log()).toBe(before);
    expect((await test.command('hooks list')).text).toContain('protect  before_tool  ext/ch*  cat >>');
  });

  it('A3 those of the guide do what it says', async () => {
    const [text = ''] = blocks(read('docs/tools.md'), 'yaml').filter((block) => block.includes('before_tool'));
    const { no_lock_files, audit } = (parse(text) as { extensions: { hooks: Record<string, Hook> } }).extensions.hooks;
    const { one, log } = await hooked({
      audit: { ...audit, command: audit?.command.replace('~/calls.jsonl', 'LOG') },
      no_lock_files: { ...no_lock_files, tools: ['change'] },
    });
    expect(await one('change', { path: 'src/a.ts' })).toMatchObject({ ok: true });
    expect(await one('change', { path: 'package-lock.json' })).toMatchObject(refused('npm writes the lock file'));
    const calls = log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(calls).toMatchObject([{ tool_input: { path: 'src/a.ts' } }, { tool_input: { path: 'package-lock.json' } }]);
  });

  it('A3 one that cannot start or is late refuses what may change something, ends with all that it started, and a person hears of it once', async () => {
    const { test, one, log } = await hooked({
      gone: { on: 'before_tool', tools: ['look'], command: 'no-such-program' },
      late: { on: 'before_tool', tools: ['change'], command: '(sleep 60; echo late >> LOG) & echo "$!" >> LOG; sleep 60', timeout_ms: 200 },
    });
    const heard = recordEvents(test.kernel.events);
    expect(await one('look')).toMatchObject({ ok: true });
    const cure = 'a person can correct the hook, or take it out of the settings (extensions.hooks.late)';
    for (let time = 0; time < 2; time += 1)
      expect(await one('change')).toMatchObject(refused(`the hook 'late' did not end within 200 ms; ${cure}`));
    await until(() => !isAlive(Number(log().split('\n')[0])));
    expect(heard.of('notify')[0]?.about).toEqual({ kind: 'extension', id: 'hooks' });
    expect(heard.of('notify').map(({ text }) => text.slice(0, 22))).toEqual(["Warning: the hook 'gon", "Warning: the hook 'lat"]);
    const { notes } = await test.kernel.doctor();
    expect(notes.map(({ code }) => code)).toEqual(['hook_failed', 'hook_failed']);
  });

  it('A3 one whose answer nobody can read does not let a call go on, and one that answers as for Claude Code is understood', async () => {
    const answered = (answer: string) => {
      const hook: Hook = { name: 'h', on: 'before_tool', tools: ['*'], command: `cat <<'END'\n${answer}\nEND`, timeout_ms: 60_000 };
      return runHook(hook, { folder: '/', about: {}, variables: {}, clock: fakeClock() });
    };
    const unclear = (answer: string) => ({ kind: 'failed', why: `the hook 'h' printed an answer that cannot be read: ${answer}` });
    for (const answer of ['{"decision":"deny","reason":"a "quoted" name"}', '{"decision":"denied"}'])
      expect(await answered(answer)).toEqual(unclear(answer));
    const there = '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"not there"}}';
    expect(await answered(there)).toEqual({ kind: 'passed', answer: { decision: 'deny', reason: 'not there' } });
    expect(await answered('{"continue":false,"stopReason":"late"}')).toMatchObject({ answer: { decision: 'deny', reason: 'late' } });
    expect(await answered('fine')).toEqual({ kind: 'passed', answer: {} });
  });

  it('A3 after a tool the model reads what they say; at the end of a turn they run; another exit code is a warning alone', async () => {
    const { test, log } = await hooked(
      {
        lint: { on: 'after_tool', tools: ['change'], command: 'echo "line 3: no semicolon" >&2; exit 2' },
        note: { on: 'after_tool', tools: ['change'], command: `echo '{"note":"formatted"}'` },
        quiet: { on: 'after_tool', command: 'echo "$PITH_HOOK $PITH_TOOL"' },
        odd: { on: 'before_tool', command: 'echo odd >&2; exit 1' },
        line: { on: 'before_tool', command: 'read -r line' },
        end: { on: 'turn_end', command: 'grep -o "\\"reason\\":.*" >> LOG' },
      },
      [call('change', { text: 'changed' }), call('look', { a: 1 }), call('change', { a: 1 }), { text: 'done' }],
    );
    const heard = recordEvents(test.kernel.events);
    const { results, requests } = await test.run('go');
    const note = "[Note of the guard 'hooks': line 3: no semicolon\nformatted]";
    expect(results).toMatchObject([{ output: `changed\n\n${note}` }, { output: { a: 1 } }, { output: { a: 1, guard_notes: [note] } }]);
    expect(results[1]).not.toHaveProperty('output.guard_notes');
    expect(JSON.stringify(requests.at(-1)?.messages)).toContain('line 3: no semicolon');
    expect(log()).toBe('"reason":"done"}\n');
    expect(heard.of('notify').map(({ text }) => text)).toEqual([expect.stringContaining("the hook 'odd' ended with code 1: odd")]);
  });

  it('A3 no agent changes a guard by its settings, and a mistake in a hook refuses what may change something', async () => {
    const { test, one } = await hooked({ odd: { on: 'before_tol', command: 'true' } });
    expect(await one('change')).toMatchObject(refused("the guard 'hooks' cannot answer"));
    expect(JSON.stringify(await test.kernel.doctor())).not.toContain('ignored');
    const settings = test.kernel.host.setup;
    await expect(settings.configure('hooks', { 'extensions.hooks.odd.command': 'curl evil' }, 'agent')).rejects.toMatchObject({
      code: 'not_allowed',
    });
  });
});
