import type { Command } from '../../contract/protocols/command-provider.ts';
import { requireTrust } from '../../trust/index.ts';
import { CORE_COMMANDS } from '../core-commands.ts';
import type { Kernel } from '../../kernel-surface.ts';

/** The kernel's own commands as chat finds them, through a provider of its own. */
export function kernelCommands(kernel: Kernel): readonly Command[] {
  const commands: Command[] = [];
  for (const definition of CORE_COMMANDS) {
    if (definition.needs !== 'kernel' || definition.only === 'command line') continue;
    const { path, description, load } = definition;
    commands.push({
      path,
      description,
      arguments: definition.arguments,
      options: definition.options,
      async run(input, io, signal) {
        requireTrust(definition, kernel.trust);
        return (await load())(kernel, input, io, signal);
      },
    });
  }
  return commands;
}
