import { describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/commands/index.ts';
import type { DoctorReport } from '../../../core/doctor.ts';
import { cli, fakeOpen, fakeKernel } from './fakes.ts';

const json = async (...argv: string[]): Promise<unknown> => JSON.parse((await cli([...argv, '--json'])).out);

describe("JSON of the kernel's commands", () => {
  it('agents list', async () => {
    expect(await json('agents', 'list')).toMatchObject([
      { id: 'main', name: 'main', description: 'Answers', state: 'active', default: true },
      { id: 'odd', state: 'failed', default: false, diagnostics: [{ code: 'unknown_key', line: 4 }] },
    ]);
  });

  it('agents prompt: {system, messages, tools, tokens}', async () => {
    expect(await json('agents', 'prompt', 'main', '--text', 'Hi')).toEqual({
      system: 'You are main on cli.',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      tools: [{ name: 'kv_get', description: 'Gets', inputSchema: { type: 'object' } }],
      tokens: {
        total: 12,
        parts: [
          { name: 'instructions', tokens: 7 },
          { name: 'tools', tokens: 5 },
        ],
      },
    });
  });

  it('tools list', async () => {
    expect(await json('tools', 'list')).toEqual([
      {
        name: 'kv_get',
        extension: 'kv',
        description: 'Gets a value',
        effect: 'read',
        needsApproval: 'never',
        inputSchema: { type: 'object' },
      },
    ]);
  });

  it('tools call: {ok, output} or {ok, error: {code, message}}', async () => {
    expect(await cli(['tools', 'call', 'echo', '--input', '{"a":[1]}', '--json'])).toEqual({
      code: 0,
      out: '{"ok":true,"output":{"a":[1]}}\n',
      err: '',
    });
    expect(await cli(['tools', 'call', 'other', '--json'])).toEqual({
      code: 1,
      out: `{"ok":false,"error":{"code":"tool_unknown","message":"no tool 'other'"}}\n`,
      err: '',
    });
    expect(await cli(['tools', 'call', 'other'])).toEqual({ code: 1, out: '', err: "pith: other: no tool 'other' (tool_unknown)\n" });
    expect(await cli(['tools', 'call', 'echo', '--input', '{a}'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^pith: --input is not JSON: .*; write it as: --input/u),
    });
  });

  it('extensions list, show and reload', async () => {
    expect(await json('extensions', 'list')).toMatchObject([
      { id: 'kv', state: 'idle', provides: ['tool'] },
      { id: 'broken', state: 'failed', phase: 'import', code: 'import_failed', file: '/s/broken/main.ts', line: 3 },
    ]);
    expect((await cli(['extensions', 'show', 'broken'])).code).toBe(1);
    expect(await cli(['extensions', 'reload', 'kv'])).toEqual({ code: 0, out: 'Reloaded kv\n', err: '' });
    expect(await cli(['extensions', 'reload', 'broken'])).toEqual({
      code: 1,
      out: '',
      err: 'pith: broken was not reloaded: /s/broken/main.ts:3: no default export; Export the class\n',
    });
  });

  it('doctor: exit code 1 when something failed', async () => {
    const ran = await cli(['doctor', '--json']);
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toEqual({
      ok: false,
      model: { ref: 'offline/librarian', why: 'no model is set up' },
      extensions: [
        { id: 'kv', state: 'active' },
        {
          id: 'broken',
          state: 'failed',
          phase: 'import',
          code: 'import_failed',
          message: 'no default export',
          file: '/s/broken/main.ts',
          line: 3,
          cure: 'Export the class',
        },
      ],
      agents: [{ id: 'main', state: 'active' }],
      skills: { offered: 3, invalid: 1 },
    });
    expect(
      (
        await cli(['doctor'], {
          openKernel: fakeOpen({ kernel: { doctor: async () => ({ ...(await fakeKernel().doctor()), ok: true }) } }),
        })
      ).code,
    ).toBe(0);
  });

  it('extensions reload: exit code 1 when the version before the edit goes on', async () => {
    const old = { ...fakeKernel().extensions.show('kv')!, state: 'active' as const, phase: 'reload' as const, message: 'bundle failed' };
    const kernel = { extensions: { ...fakeKernel().extensions, reload: async () => old } };
    expect(await cli(['extensions', 'reload', 'kv'], { openKernel: fakeOpen({ kernel }) })).toEqual({
      code: 1,
      out: '',
      err: 'pith: kv was not reloaded: bundle failed\n',
    });
  });

  it('K72: threads list shows the conversations of people, and with --all those of calls, tasks and schedules too', async () => {
    const [one] = fakeKernel().threads.list(1);
    const ids = ['tasks/abcdefghij', 't1/call-0', 'schedules/x/1', 't1', 'tasks/bcdefghijk', 't2', 't3'];
    const all = ids.map((id) => ({ ...one!, id }));
    const threads = { ...fakeKernel().threads, list: (limit: number) => all.slice(0, limit) };
    const listed = async (...more: string[]) => {
      const { out } = await cli(['threads', 'list', '--json', ...more], { openKernel: fakeOpen({ kernel: { threads } }) });
      return (JSON.parse(out) as { id: string }[]).map(({ id }) => id);
    };
    expect(await listed()).toEqual(['t1', 't2', 't3']);
    expect(await listed('--limit', '1')).toEqual(['t1']);
    expect(await listed('--all', '--limit', '5')).toEqual(ids.slice(0, 5));
  });

  it('threads list, show and compact; approvals list', async () => {
    expect(await json('threads', 'list')).toMatchObject([{ id: 't1', agentId: 'main', title: 'Hello there' }]);
    expect(await json('threads', 'show', 't1', '--last', '1')).toMatchObject({
      id: 't1',
      agentId: 'main',
      messages: [{ role: 'assistant', text: 'Hi' }],
    });
    expect(await json('threads', 'compact', 't1')).toEqual({ thread: 't1', tokensBefore: 100, tokensAfter: 40 });
    expect(await json('approvals', 'list')).toEqual([]);
  });
});

it.each([
  ['threads', 'list', '-n', '0'],
  ['threads', 'list', '--limit', '-3'],
  ['threads', 'show', 't1', '-n', '1.5'],
])('refuses a number that counts nothing: %j %j %j %j', async (...argv) => {
  expect(await cli(argv)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('must be a whole number from 1') });
});

describe('what doctor prints', () => {
  const doctor = async (report: { readonly [Member in keyof DoctorReport]?: unknown }): Promise<string> => {
    const sound = { ...(await fakeKernel().doctor()), ok: true, extensions: [{ id: 'kv', state: 'active' as const }] };
    return (await cli(['doctor'], { openKernel: fakeOpen({ kernel: { doctor: async () => ({ ...sound, ...report }) } }) })).out;
  };

  it('says that all is well only when there is no finding', async () => {
    expect(await doctor({})).toContain('All is well');
    const survived = await doctor({ extensions: [{ id: 'kv', state: 'active', code: 'tool_failed', message: 'get: gone' }] });
    expect(survived).toContain('Working, with 1 finding above');
    expect(survived).not.toContain('All is well');
  });

  it('names the sandbox, every finding of an agent, and each finding by its severity', async () => {
    const error = (message: string) => ({
      severity: 'error' as const,
      code: 'name_unknown',
      message,
      file: '/s/a.yaml',
      line: 3,
      cure: 'mend it',
    });
    const out = await doctor({
      ok: false,
      agents: [{ id: 'main', state: 'failed', ...error('one'), notes: [error('one'), error('two')] }],
      notes: [{ severity: 'error', code: 'skill_invalid', message: "skill 'x': bad" }],
    });
    expect(out).toContain('Sandbox  /s\n');
    expect(out).toContain('/s/a.yaml:3: one; mend it');
    expect(out).toContain('error: main: /s/a.yaml:3: two; mend it');
    expect(out).toContain("error: skill 'x': bad");
    expect(out).not.toContain('note:');
  });

  it('breaks lines between words in a terminal, and in a pipe not at all', async () => {
    const message = 'extraordinary '.repeat(20).trim();
    const report = { ...(await fakeKernel().doctor()), notes: [{ severity: 'error' as const, code: 'x', message }] };
    const wordy = fakeOpen({ kernel: { doctor: async () => report } });
    const { out } = await cli(['doctor'], { openKernel: wordy, terminal: true, env: { NO_COLOR: '1' } });
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(out.split('\n').filter((line) => line.includes('extra') && !/^(?:error: )?(?:extraordinary ?)+$/u.test(line))).toEqual([]);
    expect((await cli(['doctor'], { openKernel: wordy })).out).toContain(message);
    const lost = await cli(['agents', 'show', 'extraordinary '.repeat(8)], { terminal: true });
    expect(lost.err.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('says once what several extensions have in common', async () => {
    const notes = [{ code: 'isolation_in_process', message: 'runs in the process' }];
    const out = await doctor({ extensions: ['a', 'b'].map((id) => ({ id, state: 'active' as const, notes })) });
    expect(out).toContain('note: a, b: runs in the process');
    expect(out.match(/runs in the process/gu)).toHaveLength(1);
  });
});

describe('what a person reads', () => {
  it('is aligned tables that leave empty columns out', async () => {
    expect((await cli(['agents', 'list'])).out).toBe(
      [
        'AGENT   STATE   MODEL    DESCRIPTION',
        'main *  active  default  Answers',
        "odd     failed           unknown key 'tols'",
        '',
        '* answers when no agent is named',
        '',
      ].join('\n'),
    );
  });

  it('is cut to the terminal, and in a pipe to nothing', async () => {
    const wide = fakeOpen({
      kernel: {
        toolsOf: async () =>
          (await fakeKernel().toolsOf('main')).map((tool) => ({
            ...tool,
            descriptor: { ...tool.descriptor, description: 'word '.repeat(40) },
          })),
      },
    });
    const [, row = ''] = (await cli(['tools', 'list'], { openKernel: wide, terminal: true, env: { NO_COLOR: '1' } })).out.split('\n');
    expect(row).toHaveLength(80);
    expect(row).toMatch(/…$/u);
    expect((await cli(['tools', 'list'], { openKernel: wide })).out.split('\n')[1]?.length).toBeGreaterThan(200);
  });

  it('is the exact prompt for agents prompt', async () => {
    expect((await cli(['agents', 'prompt', 'main', '--text', 'Hi', '--quiet'])).out).toBe(
      '── system ──\nYou are main on cli.\n── user ──\nHi\n── tools ──\nkv_get: Gets\n{"type":"object"}\n',
    );
  });
});

describe('the same commands in chat', () => {
  it('K47 has agents, tools, context, compact, threads, approvals, doctor and model, and none that only make files', () => {
    const paths = kernelCommands(fakeKernel()).map(({ path }) => path);
    for (const path of ['agents list', 'tools list', 'context', 'compact', 'threads list', 'approvals list', 'doctor', 'model'])
      expect(paths).toContain(path);
    expect(paths).not.toContain('init');
  });

  it('K47 context shows what the conversation would send, with tokens per part', async () => {
    const printed: string[] = [];
    const context = kernelCommands(fakeKernel()).find(({ path }) => path === 'context');
    const io = {
      print: (text: string) => void printed.push(text),
      error: () => undefined,
      json: () => undefined,
      ask: async () => null,
      input: { async *[Symbol.asyncIterator]() {} },
      interactive: false,
      wantsJson: false,
      quiet: false,
      colour: false,
      columns: 80,
      workingDirectory: '/',
      session: { threadId: 't1', agentId: 'main', send: () => undefined },
    };
    await context?.run({ arguments: {}, options: {} }, io, new AbortController().signal);
    expect(printed.join('\n')).toContain('You are main on cli.');
    expect(printed.join('\n')).toMatch(/instructions +7\n.*tools +5\n.*total +12/u);
    await expect(
      context?.run({ arguments: {}, options: {} }, { ...io, session: undefined }, new AbortController().signal),
    ).rejects.toMatchObject({ code: 'usage' });
  });
});
