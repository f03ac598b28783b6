import { vi } from 'vitest';
import { openKernel } from '../../core/cli/index.ts';
import { cli, type Ran } from '../core/cli/fakes.ts';
import type { PithOptions } from './pith-process.ts';

/** As `runPith`, within this process, which takes a third of the time: for commands where the process is not what matters. */
export function pithHere(argv: readonly string[], { cwd, env = {}, input }: PithOptions): Promise<Ran> {
  vi.stubEnv('HOME', env['HOME'] ?? cwd);
  return cli(argv, { cwd, openKernel, env: { PATH: process.env['PATH'] ?? '', HOME: cwd, ...env }, input: input ?? '' });
}
