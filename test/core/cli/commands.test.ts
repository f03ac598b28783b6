import { describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import type { CommandIO } from '../../../core/contract/index.ts';
import type { DoctorReport } from '../../../core/compose/index.ts';
import { cli, fakeOpen, fakeKernel } from './fakes.ts';

describe("the kernel's commands", () => {
  it('extensions reload: exit code 1 when the version before the edit goes on', async () => {
    const old = { id: 'kv', state: 'active', phase: 'reload', message: 'bundle failed', provides: [], asks: [], notes: [] };
    const kernel = { host: { extensions: { show: () => old, reload: async () => old } } };
    expect(await cli(['extensions', 'reload', 'kv'], { openKernel: fakeOpen({ kernel }) })).toEqual({
      code: 1,
      out: '',
      err: 'pith: kv was not reloaded: bundle failed\n',
    });
  });

  it('K72: threads list shows the conversations of people, and with --all those of calls, tasks and schedules too', async () => {
    const ids = ['tasks/abcdefghij', 't1/call-0', 'schedules/x/1', 't1', 'tasks/bcdefghijk', 't2', 't3'];
    const all = ids.map((id) => ({ id, agentId: 'main', title: '', createdAt: 0, updatedAt: 0 }));
    const threads = { list: (limit: number) => all.slice(0, limit) };
    const listed = async (...more: string[]) => {
      const { out } = await cli(['threads', 'list', '--json', ...more], { openKernel: fakeOpen({ kernel: { threads } }) });
      return (JSON.parse(out) as { id: string }[]).map(({ id }) => id);
    };
    expect(await listed()).toEqual(['t1', 't2', 't3']);
    expect(await listed('--limit', '1')).toEqual(['t1']);
    expect(await listed('--all', '--limit', '5')).toEqual(ids.slice(0, 5));
  });
});

it.each([
  ['threads', 'list', '-n', '0'],
  ['threads', 'list', '--limit', '-3'],
  ['threads', 'show', 't1', '-n', '1.5'],
  ['approvals', '--lines', '0'],
])('refuses a number that counts nothing: %j %j %j %j', async (...argv) => {
  const openKernel = fakeOpen({ kernel: { threads: { load: () => ({}) } } });
  expect(await cli(argv, { openKernel })).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('must be a whole number from 1'),
  });
});

describe('what doctor prints', () => {
  const doctor = async (report: { readonly [Member in keyof DoctorReport]?: unknown }): Promise<string> => {
    const sound = await fakeKernel().doctor();
    return (await cli(['doctor'], { openKernel: fakeOpen({ kernel: { doctor: async () => ({ ...sound, ...report }) } }) })).out;
  };

  it('says that all is well only when there is no finding', async () => {
    expect(await doctor({})).toContain('All is well');
    const survived = await doctor({ extensions: [{ id: 'kv', state: 'active', code: 'tool_failed', message: 'get: gone' }] });
    expect(survived).toContain('Working, with 1 finding above');
    expect(survived).not.toContain('All is well');
  });

  it('U-4 problems come first, and what is sound is one line, or with --all a list', async () => {
    const states = {
      extensions: [
        { id: 'kv', state: 'active' },
        { id: 'mcp', state: 'failed', code: 'x', message: 'broke' },
      ],
    };
    const notes = [
      { severity: 'info', code: 'i', message: 'by the way' },
      { severity: 'error', code: 'model_unreachable', message: 'no message can be sent' },
    ];
    const out = await doctor({ ok: false, ...states, notes });
    expect(out).not.toMatch(/^kv/mu);
    expect(out).toMatch(/no message can be sent[^]*^mcp +failed[^]*by the way[^]*Sound +1 extensions and/mu);
    const sound = await fakeKernel().doctor();
    const open = fakeOpen({ kernel: { doctor: async () => ({ ...sound, ...states }) as unknown as DoctorReport } });
    expect((await cli(['doctor', '--all'], { openKernel: open })).out).toMatch(/^kv +active/mu);
  });

  it('names the sandbox, every finding of an agent, and each finding by its severity', async () => {
    const error = (message: string) => ({
      severity: 'error' as const,
      code: 'name_unknown',
      message,
      file: '/s/a.yaml',
      line: 3,
      cure: 'fix it',
    });
    const out = await doctor({
      ok: false,
      agents: [{ id: 'main', state: 'failed', ...error('one'), notes: [error('one'), error('two')] }],
      notes: [{ severity: 'error', code: 'skill_invalid', message: "skill 'x': bad" }],
    });
    expect(out).toContain('Sandbox  /s\n');
    expect(out).toContain('/s/a.yaml:3: one; fix it');
    expect(out).toContain('error: main: /s/a.yaml:3: two; fix it');
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

  it('S73 shows in red, on terminals only, and counts what a person let run without a sandbox', async () => {
    const notes = [
      { code: 'unconfined', message: 'programs run as you' },
      { code: 'phase_slow', message: 'slow' },
    ];
    const report = { ...(await fakeKernel().doctor()), extensions: [{ id: 'kv', state: 'active' as const, notes }] };
    const printed = (terminal: boolean) => cli(['doctor'], { openKernel: fakeOpen({ kernel: { doctor: async () => report } }), terminal });
    const { code, out } = await printed(false);
    expect(code).toBe(0);
    for (const line of ['warning: kv: programs run as you', 'note: kv: slow']) expect(out).toContain(line);
    expect(out).toMatch(/Working, with \d+ findings? above/u);
    expect(out).not.toContain('\u001b[');
    expect((await printed(true)).out).toContain('\u001b[31mwarning: kv: programs run as you\u001b[39m');
  });

  it('says once what several extensions have in common', async () => {
    const notes = [{ code: 'isolation_in_process', message: 'runs in the process' }];
    const out = await doctor({ extensions: ['a', 'b'].map((id) => ({ id, state: 'active' as const, notes })) });
    expect(out).toContain('note: a, b: runs in the process');
    expect(out.match(/runs in the process/gu)).toHaveLength(1);
  });
});

describe('the same commands in chat', () => {
  it('K47 has agents, tools, context, compact, threads, approvals, doctor and model, and none that only make files', () => {
    const paths = kernelCommands(fakeKernel()).map(({ path }) => path);
    for (const path of ['agents list', 'tools list', 'context', 'compact', 'threads list', 'approvals', 'doctor', 'model'])
      expect(paths).toContain(path);
    expect(paths).not.toContain('init');
  });

  it('context needs a conversation', async () => {
    const context = kernelCommands(fakeKernel()).find(({ path }) => path === 'context')!;
    const run = context.run({ arguments: {}, options: {} }, {} as CommandIO, new AbortController().signal);
    await expect(run).rejects.toMatchObject({ code: 'usage' });
  });
});
