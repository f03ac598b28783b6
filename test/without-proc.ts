import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished, vi } from 'vitest';

export const SYSTEMS = ['with /proc', 'without /proc'] as const;

/** What the system seems to have until the test ends. */
export function systemIs(system: (typeof SYSTEMS)[number]): void {
  const entered = vi.spyOn(process, 'chdir');
  onTestFinished(() => entered.mockRestore());
  if (system === 'with /proc') return;
  const exists = fs.existsSync;
  const spy = vi.spyOn(fs, 'existsSync').mockImplementation((file) => file !== '/proc/self/fd' && exists(file));
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
}

/** Whether files were reached by the working folder since `systemIs`. */
export function wentWithoutProc(): boolean {
  return vi.mocked(process.chdir).mock.calls.length > 0;
}
