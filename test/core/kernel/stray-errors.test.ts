import { afterEach, expect, it, vi } from 'vitest';
import { guardProcess, type Owner, runAs } from '../../../core/kernel/index.ts';

let lift = () => {};
afterEach(() => lift());

function guarded(isShipped: boolean) {
  const told: unknown[] = [];
  const owner: Owner = { extensionId: 'offline', isShipped, report: (_code, error) => told.push(error) };
  lift = guardProcess();
  const stray = process.listeners('unhandledRejection').at(-1) as (error: unknown) => void;
  return { told, owner, stray };
}

function errorFrom(file: string): Error {
  const error = new Error('forgotten');
  error.stack = `Error: forgotten\n    at later (${file}:1:1)`;
  return error;
}

it.each(['ext/offline/main.mjs', 'chunks/offline.terms-ABCDEF12.mjs'])(
  'K5 lays a stray error of a shipped extension at its door, by the file it came from: %s',
  (file) => {
    const { told, owner, stray } = guarded(true);
    runAs(owner, () => undefined);
    const error = errorFrom(`/opt/pith/dist/0123456789abcdef/${file}`);
    stray(error);
    expect(told).toEqual([error]);
  },
);

it('K5 lays a stray error of any other extension at its door, wherever it was made', () => {
  const { told, owner, stray } = guarded(false);
  const error = errorFrom('/opt/elsewhere.js');
  runAs(owner, () => stray(error));
  expect(told).toEqual([error]);
});

it.each([process.pid, 0, -1, -process.pid, -process.ppid, `${process.pid}`])('K5 refuses kill(%s), which reaches Pith', (pid) => {
  const { told, owner } = guarded(false);
  expect(() => runAs(owner, () => process.kill(pid as number, 'SIGWINCH'))).toThrow('refused');
  expect(told).toHaveLength(1);
  expect(runAs(owner, () => process.kill(process.pid, 0))).toBe(true);
});

it('K5 refuses to end the process for extensions that are not shipped', () => {
  const { told, owner } = guarded(false);
  expect(() => runAs(owner, () => process.exit(0))).toThrow('refused');
  expect(told).toHaveLength(1);
});

it('K61 a stray error that belongs to nobody ends the process without telling the secrets of any kernel', () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
  const alone = vi.spyOn(process, 'listenerCount').mockReturnValue(1);
  let written = '';
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((written += String(text)), true));
  const lifts = ['one', 'two'].map((secret) => guardProcess((text) => text.replaceAll(`key-${secret}`, '[secret]')));
  try {
    const stray = process.listeners('uncaughtException').at(-1) as (error: unknown) => void;
    stray(new Error('failed with key-one and key-two'));
    expect(exit).toHaveBeenCalledWith(1);
  } finally {
    for (const each of lifts) each();
    for (const spy of [stderr, alone, exit]) spy.mockRestore();
  }
  expect(written).toContain('failed with [secret] and [secret]');
  expect(written).not.toContain('key-');
});
