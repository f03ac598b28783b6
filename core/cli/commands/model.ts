import type { CommandInput, CommandIO } from '../../contract/protocols/command-provider.ts';
import type { Kernel } from '../../kernel-surface.ts';

/** With a reference: throws `model_unknown` or `model_auth` when no such model can be had. */
export async function showModel(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const reference = input.arguments['ref'];
  const { ref, why } = await (typeof reference === 'string' ? kernel.router.resolve(reference) : kernel.router.choose());
  io.json({ ref, why });
  io.print(`${ref} (${why})`);
}
