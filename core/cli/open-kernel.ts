import type { Kernel } from '../compose/kernel.ts';
import type { Trust } from '../trust/index.ts';

/** What a command line works on. */
export interface Target {
  /** Absolute: the sandbox that was opened. */
  readonly sandbox: string;
  readonly trust: Trust;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: Readonly<Record<string, unknown>>;
  /** What relative paths of flags and environment are relative to; default: the process's. */
  readonly workingDirectory?: string;
}

/** Makes the kernel of a target: no code of an extension is loaded by that, and no database opened. */
export type OpenKernel = (target: Target) => Promise<Kernel>;

/** The kernel is imported on first use. */
export const openKernel: OpenKernel = async ({ sandbox, trust, env, flags, workingDirectory }) => {
  const [{ createKernel }, { kernelCommands }] = await Promise.all([import('../compose/compose.ts'), import('./core-commands.ts')]);
  return createKernel({ sandbox, trust, env, flags: { ...flags }, workingDirectory, commands: kernelCommands });
};
