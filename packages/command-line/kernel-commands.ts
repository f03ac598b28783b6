import { captureCommand, type CapturedCommand, type CapturedInput, type CommandSource } from './capture-command.ts';

/** Whose commands those of Pith itself are. */
const KERNEL = 'kernel';

interface OwnedCommands extends CommandSource {
  readonly extensionId: string;
}

type CommandOf<Source extends CommandSource> = Awaited<ReturnType<Source['getCommands']>>[number];

interface KernelCommands<Source extends CommandSource> {
  /** null: it is not offered here, such as in a program that embeds Pith. */
  find(path: string): Promise<CommandOf<Source> | null>;
  /** As `captureCommand`. Rejects `command_unknown` where it is not offered. */
  run(path: string, input: CapturedInput, signal: AbortSignal): Promise<CapturedCommand>;
}

/** The provider of Pith's own commands among all; none in a program that has no command line. */
export function ofKernel<Source extends OwnedCommands>(providers: readonly Source[]): readonly Source[] {
  return providers.filter(({ extensionId }) => extensionId === KERNEL);
}

/** Pith's own commands among those of all, which `find(CommandProvider)` gives. */
export function kernelCommands<Source extends OwnedCommands>(providers: readonly Source[]): KernelCommands<Source> {
  const all = async (): Promise<readonly CommandOf<Source>[]> =>
    (await Promise.all(ofKernel(providers).map(async (each) => (await each.getCommands()) as readonly CommandOf<Source>[]))).flat();
  return {
    find: async (path) => (await all()).find((each) => each.path === path) ?? null,
    run: (path, input, signal) => captureCommand({ getCommands: all }, path, input, signal),
  };
}
