import type { KernelCommand } from '../../host/host-options.ts';
import { CORE_COMMANDS } from '../core-commands.ts';
import type { KernelPort } from '../kernel-port.ts';

/** The kernel's own commands as chat finds them, through a provider of its own. */
export function kernelCommands(kernel: KernelPort): readonly KernelCommand[] {
  const commands: KernelCommand[] = [];
  for (const definition of CORE_COMMANDS) {
    if (definition.needs !== 'kernel' || definition.only === 'command line') continue;
    const { path, description, load, granted } = definition;
    commands.push({
      path,
      description,
      arguments: definition.arguments,
      options: definition.options,
      granted,
      run: async (input, io, signal) => (await load())(kernel, input, io, signal),
    });
  }
  return commands;
}
