/** `pith chat` on a terminal of its own, by util-linux's `script`. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished } from 'vitest';

const SCRIPT = '/usr/bin/script';
export const HAS_TERMINALS = existsSync(SCRIPT);

/** Without spaces: a terminal moves the cursor in place of writing them, and breaks lines where it likes. */
const closed = (text: string) => text.replace(/\s+/gu, '');

export interface TerminalChat {
  /** As keys; `\r` is Enter. */
  type(keys: string): void;
  /** What it has shown until now, without spaces. */
  shown(): string;
  /** Waits until it shows each of these; an expression is asked of what stands there without spaces. */
  sees(...texts: readonly (string | RegExp)[]): Promise<void>;
}

/** It ends with the test. `window`: rows and columns, where they matter. */
export function terminalChat(cwd: string, env: Readonly<Record<string, string>>, window = ''): TerminalChat {
  const command = `${window}"${process.execPath}" "${path.resolve('bin/pith')}" chat`;
  const child = spawn(SCRIPT, ['-qec', command, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'], PITH_TRUST: '1', HOME: cwd, TERM: 'xterm', ...env },
  });
  let [raw, shown] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (shown = closed(stripVTControlCharacters((raw += chunk.toString())))));
  child.stdin.on('error', () => undefined);
  onTestFinished(async () => {
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.stdin.end('\u0004');
    if (child.exitCode === null) await ended;
  });
  const isSeen = (text: string | RegExp) => (typeof text === 'string' ? shown.includes(closed(text)) : text.test(shown));
  return {
    type: (keys) => void child.stdin.write(keys),
    shown: () => shown,
    async sees(...texts) {
      for (const text of texts) await expect.poll(() => isSeen(text) || shown, { interval: 20 }).toBe(true);
    },
  };
}
