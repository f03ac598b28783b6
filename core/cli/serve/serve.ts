import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { Boot, Target } from '../boot.ts';
import { SUPERVISED } from './messages.ts';

/** Under a supervisor it is the kernel, else it is the supervisor. */
export async function serve(boot: Boot, target: Target, _input: CommandInput, io: CommandIO, signal: AbortSignal): Promise<number> {
  if (target.env[SUPERVISED] !== undefined && process.send !== undefined) {
    const { serveKernel } = await import('./served-kernel.ts');
    return serveKernel(boot, target, io, signal);
  }
  const { supervise } = await import('./supervisor.ts');
  return supervise(target.env, io, signal);
}
