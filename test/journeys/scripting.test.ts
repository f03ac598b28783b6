import { spawn } from 'node:child_process';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { until } from '../waiting.ts';
import { pithHere } from './pith-here.ts';
import { startPith, type Ended, type Folder, type PithProcess } from './pith-process.ts';
import { bare } from './sandbox-files.ts';
import { ownFolder, ownServer, type OwnServer } from './until-test-ends.ts';

let folder: Folder;
let server: OwnServer;
beforeEach(async () => {
  folder = await ownFolder({
    ...bare(['cli_channel', 'openai_compatible'], { default_agent: 'main' }),
    'agents/main/manifest.yaml': 'id: main\nagent: { uses_tools: [] }\n',
  });
  server = await ownServer();
});

const pith = (argv: readonly string[], input = '') => pithHere(argv, { cwd: folder.path, env: server.env, input });
const asked = () =>
  server.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.stringify(body.messages.at(-1)?.content));

/** A line of a shell, in which `pith` is the command. */
function shell(line: string): Promise<Ended> {
  const script = `pith() { "$NODE" "$PITH" "$@"; }; ${line}`;
  const paths = { PATH: process.env['PATH'], HOME: folder.path, PITH_TRUST: '1', NODE: process.execPath, PITH: path.resolve('bin/pith') };
  const child = spawn('/bin/sh', ['-c', script], { cwd: folder.path, env: { ...paths, ...server.env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, out, err })));
}

describe('pith in a script', () => {
  it.each([`printf 'a\\nb\\n' | pith "why?"`, `printf 'a\\nb\\n' > log; pith -p 'why?' < log`])(
    'U30 %s sends the input along',
    async (line) => {
      server.script({ text: 'because' });
      expect(await shell(line)).toEqual({ code: 0, signal: null, out: 'because\n', err: '' });
      expect(asked()).toEqual([expect.stringContaining('<attachment name=\\"stdin\\">\\na\\nb\\n\\n</attachment>')]);
      expect(asked()[0]).toContain('why?');
    },
  );

  it('U30 a pipe is waited for to its end, however late it speaks', async () => {
    server.script({ text: 'one' }, { text: 'two' });
    expect(await shell(`pith "first" < /dev/null | pith "second"`)).toMatchObject({ code: 0, out: 'two\n' });
    expect(asked()[1]).toContain('\\none\\n');
  });

  it('U30 input alone is one message; with --lines each line is one', async () => {
    server.script({ text: 'whole' }, { text: 'first' }, { text: 'second' });
    expect(await pith([], 'a\nb\n')).toMatchObject({ code: 0, out: 'whole\n', err: '' });
    expect(await pith(['--lines'], 'a\nb\n')).toMatchObject({ code: 0, out: 'first\nsecond\n', err: '' });
    expect(asked()).toEqual([expect.stringContaining('a\\nb'), expect.stringContaining('"a"'), expect.stringContaining('"b"')]);
  });

  it('U30 endless input is cut, and its writer ended', async () => {
    server.script({ text: 'much' });
    const { code, out, err } = await shell(`yes | pith "how much?"`);
    expect({ code, out, err }).toEqual({
      code: 0,
      out: 'much\n',
      err: 'standard input is longer than 1 MB: its beginning is sent, and the rest is left out\n',
    });
  });
});

describe('exit codes', () => {
  it.each([
    [['hello there'], 0],
    [['-p', 'hi', '--model', 'nope/x'], 1],
    [['threads', 'show', 'nothing'], 1],
    [['-p', ''], 2],
    [['agnts'], 2],
    [['agents', 'list', '--al'], 2],
    [[], 2],
  ])('U35 pith %j ends with %i', async (argv, code) => {
    server.script({ text: 'ok' });
    expect((await pith(argv)).code).toBe(code);
  });

  async function inTurn(): Promise<PithProcess> {
    server.script({ text: ['never', ' ends'], stallAfter: 2 });
    const process = startPith(['wait', 'for it', '--thread', 't1'], { cwd: folder.path, env: server.env });
    await until(() => server.requests.some(({ method }) => method === 'POST'));
    return process;
  }

  it.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('U35 %s in a turn ends with %i', async (signal, code) => {
    const { child, ended } = await inTurn();
    child.kill(signal);
    expect(await ended).toMatchObject({ code, signal: null });
  });

  it('W17 a message to a conversation in which another process answers says so, waits, and is answered', async () => {
    const { child, ended } = await inTurn();
    server.script({ text: 'at last' });
    const second = startPith(['-p', 'and now?', '--thread', 't1'], { cwd: folder.path, env: server.env, input: null });
    let err = '';
    second.child.stderr.on('data', (text) => (err += String(text)));
    await until(() => err.includes('the message waits for it'));
    expect(err).toMatch(/^another process answers in this conversation now; to end that: pith threads stop t1\n/u);
    expect((await pith(['threads', 'show', 't1'])).out).toContain('another process answers in this conversation now');
    expect(err).toContain('Ctrl-C takes the message back; to stop the other: pith threads stop t1\n');
    child.kill('SIGINT');
    await ended;
    expect(await second.ended).toMatchObject({ code: 0, out: 'at last\n' });
    expect((await pith(['threads', 'show', 't1'])).out).not.toContain('another process');
  });

  it.each([[['--quiet']], [['--json']], [['--quiet', '--json']]])(
    'W17 U35 so is told whoever asks with %j, and SIGINT ends the waiting with 130',
    async (words) => {
      const { child, ended } = await inTurn();
      const second = startPith(['-p', 'and now?', '--thread', 't1', ...words], { cwd: folder.path, env: server.env, input: null });
      let err = '';
      second.child.stderr.on('data', (text) => (err += String(text)));
      await until(() => err.includes('the message waits for it'));
      second.child.kill('SIGINT');
      expect(await second.ended).toMatchObject({ code: 130 });
      expect(child.exitCode).toBeNull(); // the other one works on
      child.kill('SIGINT');
      await ended;
    },
  );

  it('U35 SIGINT in a turn ends with 130; U30 meanwhile nobody deletes the conversation', async () => {
    const { child, ended } = await inTurn();
    expect(await pith(['threads', 'delete', 't1', '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining("thread 't1' is in use by another process"),
    });
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 130, signal: null });
    expect(await pith(['threads', 'delete', 't1', '--yes'])).toMatchObject({ code: 0, out: 'Deleted t1\n' });
  });
});
