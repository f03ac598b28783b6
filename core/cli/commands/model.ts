import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { KernelPort } from '../kernel-port.ts';

/** With a reference: throws `model_unknown` or `model_auth` when no such model can be had. */
export async function showModel(kernel: KernelPort, input: CommandInput, io: CommandIO): Promise<void> {
  const reference = input.arguments['ref'];
  if (typeof reference === 'string') await kernel.router.resolve(reference);
  const choice = typeof reference === 'string' ? { ref: reference, why: 'asked for' } : await kernel.router.choose();
  io.json({ ref: choice.ref, why: choice.why });
  io.print(`${choice.ref}: ${choice.why}`);
}
