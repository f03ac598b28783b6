import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { runProgram } from '@pith/supervised-process';
import { folderWith } from '../../places.ts';

const shell = (script: string) => ['/bin/sh', '-c', script];
const LIMITS = { mostBytes: 1000, mostMs: 30_000 };
/** Its clock: time passes when the test says so. */
function clockOf() {
  let due = (): void => undefined;
  return { clock: { after: (_ms: number, run: () => void) => ((due = run), () => undefined) }, pass: () => due() };
}

it('S10 a program that prints without end, or ends no more, is ended with all that it started', async () => {
  const flood = await runProgram({ argv: shell('yes & yes'), ...LIMITS });
  expect(flood).toMatchObject({ code: null, passed: 'bytes' });
  expect(flood.output.toString()).toBe('y\n'.repeat(500));
  const { clock, pass } = clockOf();
  const file = path.join(folderWith(), 'group');
  const idle = runProgram({ argv: shell(`echo $$ > ${file}; sleep 600 & wait`), ...LIMITS, clock });
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toMatch(/\d/);
  pass();
  expect(await idle).toMatchObject({ code: null, passed: 'time' });
  await expect.poll(() => isGone(Number(readFileSync(file, 'utf8')))).toBe(true); // who reaps it takes its time
  const ended = await runProgram({ argv: shell('sleep 600 >/dev/null 2>&1 & echo $$'), ...LIMITS });
  await expect.poll(() => isGone(Number(ended.output.toString()))).toBe(true);
  expect(await runProgram({ argv: shell('kill -SEGV $$'), ...LIMITS })).toMatchObject({ code: null, signal: 'SIGSEGV', passed: null });
});

it('S10 what it printed comes whole, in time, with its code and the end of its errors; an abort gives its reason', async () => {
  const input = 'some text';
  expect(await runProgram({ argv: shell('cat; echo wrong >&2; exit 3'), input, ...LIMITS })).toEqual({
    code: 3,
    signal: null,
    errors: 'wrong\n',
    passed: null,
    output: Buffer.from(input),
  });
  const noise = await runProgram({ argv: shell('head -c 300000 /dev/zero | tr "\\0" x >&2; echo end >&2'), ...LIMITS });
  expect([noise.errors.length, noise.errors.slice(-5)]).toEqual([65_536, 'xend\n']);
  const controller = new AbortController();
  const running = runProgram({ argv: shell('sleep 600'), ...LIMITS }, controller.signal);
  controller.abort(new Error('enough'));
  await expect(running).rejects.toThrow('enough');
  await expect(runProgram({ argv: ['/nowhere/program'], ...LIMITS })).rejects.toMatchObject({ code: 'process_not_started' });
});

function isGone(group: number): boolean {
  try {
    process.kill(-group, 0);
    return false;
  } catch {
    return true; // no process has it
  }
}
