import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { allOf } from './pith-process.ts';
import { bare } from './sandbox-files.ts';
import { ownFolder, ownServer } from './until-test-ends.ts';

const hasTerminals = process.platform === 'linux' && spawnSync('python3', ['-c', 'import pty']).status === 0;

const [DRIVER, PITH] = ['test/journeys/closed-terminal.py', 'bin/pith'].map((file) => path.resolve(file)) as [string, string];

/** `pith` on a terminal of its own, which is closed when it shows what it is to show. */
async function onTerminal(
  { wanted, typed = '', answer = '', close = true }: { wanted: string; typed?: string; answer?: string; close?: boolean },
  words: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
) {
  const argv = [DRIVER, wanted, typed, answer, close ? 'close' : 'wait', process.execPath, PITH, ...words];
  const { stdout } = await promisify(execFile)('python3', argv, {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd, TERM: 'xterm', PITH_TRUST: '1', ...env },
  });
  return JSON.parse(stdout) as {
    readonly code: number;
    readonly left: readonly number[];
    readonly restored: boolean;
    readonly shown: string;
  };
}

const HUNG_UP = { code: 129, left: [] };

it.skipIf(!hasTerminals)(
  'S11 a closed terminal ends chat, plain chat, serve and a question as a hang-up, with nothing lost and nothing left',
  async () => {
    const server = await ownServer();
    const folder = await ownFolder(bare(['cli_channel', 'http', 'openai_compatible']));
    server.script({ text: 'Noted-in-full' }, { text: 'Noted-in-full' });
    const at = { cwd: folder.path, env: server.env };
    const said = { wanted: 'leaves', typed: 'keep the word quokka-1\r', answer: 'Noted-in-full' };
    expect(await onTerminal(said, ['chat'], at)).toMatchObject(HUNG_UP);
    expect(await onTerminal({ ...said, typed: 'keep the word quokka-2\r' }, ['chat', '--plain'], at)).toMatchObject(HUNG_UP);
    expect(await onTerminal({ wanted: 'Listening' }, ['serve', '--port', '0'], at)).toMatchObject(HUNG_UP);
    expect(await onTerminal({ wanted: 'yes/no' }, ['chat'], { ...at, env: { ...server.env, PITH_TRUST: '0' } })).toMatchObject(HUNG_UP);
    const kept = await allOf(path.join(folder.sandbox, 'data'));
    for (const word of ['quokka-1', 'quokka-2']) expect(kept).toContain(word);
  },
  60_000,
);

it.skipIf(!hasTerminals)(
  'S11 an ordinary end leaves a terminal as it was',
  async () => {
    const folder = await ownFolder(bare(['cli_channel', 'http', 'openai_compatible']));
    const at = { cwd: folder.path, env: { PITH_MODEL: 'openai/test', OPENAI_API_KEY: 'sk-test' } };
    expect(await onTerminal({ wanted: 'leaves', typed: '\u0004', close: false }, ['chat'], at)).toMatchObject({
      code: 0,
      left: [],
      restored: true,
    });
  },
  60_000,
);
