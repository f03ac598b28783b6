import type { CommandInput, CommandIO, Places } from '../../contract/index.ts';
import type { Kernel } from '../../compose/index.ts';

/** What a command is given that decides itself whether this process opens the kernel. */
export interface Opening {
  readonly kernel: (serve?: Places['serve']) => Promise<Kernel>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly input: CommandInput;
  readonly io: CommandIO;
}
