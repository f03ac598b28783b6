import type { Kernel } from '../compose/index.ts';
import type { Target } from './terminal/opened-target.ts';

/** Makes the kernel of a target: no code of an extension is loaded by that, and no database opened. */
export type OpenKernel = (target: Target) => Promise<Kernel>;

/** The kernel is imported on first use. */
export const openKernel: OpenKernel = async ({ sandbox, trust, env, switches, workingDirectory }) => {
  const [{ createKernel }, { kernelCommands }] = await Promise.all([import('../compose/index.ts'), import('./core-commands.ts')]);
  return createKernel({ sandbox, trust, env, switches, workingDirectory, commands: kernelCommands });
};
