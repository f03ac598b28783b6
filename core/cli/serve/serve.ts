import type { CommandIO } from '../../contract/index.ts';
import type { Kernel } from '../../compose/index.ts';
import { SUPERVISED } from './kernel-process.ts';

/** Under a supervisor it is the kernel, else it is the supervisor. */
export async function serve(
  kernel: () => Promise<Kernel>,
  env: Readonly<Record<string, string | undefined>>,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  if (env[SUPERVISED] !== undefined && process.send !== undefined) {
    const { serveKernel } = await import('./served-kernel.ts');
    return serveKernel(kernel, env, io, signal);
  }
  const { supervise } = await import('./supervisor.ts');
  return supervise(env, io, signal);
}
