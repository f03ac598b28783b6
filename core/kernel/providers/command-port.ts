import {
  codeOf,
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandIO,
  messageOf,
  PithError,
} from '../../contract/index.ts';
import { createCommandContext } from '../lifecycle/command-context.ts';
import { callProvider, running } from './handle.ts';
import { commandNames, declaredCommands, type DeclaredCommand } from './command-names.ts';
import { importCommands, type CommandEntry } from '../lifecycle/import-class.ts';
import { unavailable, type Lifecycle } from '../lifecycle/lifecycle.ts';
import { Problem, placeOfError } from '../records/problem.ts';
import type { Runtime } from '../lifecycle/runtime.ts';
import type { Slot } from '../lifecycle/slot.ts';
import { requireTrust, type Trust } from '../../trust/index.ts';
import { runAs } from '../records/stray-errors.ts';

/** The commands of extensions. */
export interface CommandPort {
  /** What manifests declare, of extensions that can run. */
  declared(): readonly DeclaredCommand[];
  /** The commands of a command entry, which run where the extension runs; activates nothing. Rejects with a `Problem` when it cannot be bundled or imported. */
  importEntry(slot: Slot, entry: string): Promise<CommandEntry>;
  /** What a command entry is given. Its `config` is as the settings have it; no schema has been applied. */
  contextOf(slot: Slot): CommandContext;
  /** Of an activated extension. They are passed by reference, and each run goes to the version that runs then. */
  of(slot: Slot): Promise<readonly Command[]>;
}

export interface CommandOptions {
  /** What a person agreed to. Absent: nothing. */
  readonly trust?: Trust | undefined;
  /** The commands of the kernel by name: no extension that does not ship has one that begins as they do. */
  kernelPaths(): readonly { readonly path: string }[];
}

export function createCommandPort(lifecycle: Lifecycle, { trust, kernelPaths }: CommandOptions): CommandPort {
  const { runtime, slots, tiers, wire } = lifecycle;

  async function makerOf({ declaration, config }: Slot, entry: string): Promise<CommandEntry> {
    if (runtime.rights.tierOf(declaration) === 'in_process') return importCommands(runtime, declaration, entry);
    const { commands, end } = await tiers.processes(declaration).openEntry({ declaration, config }, entry);
    lifecycle.endings.push(end);
    return () => commands;
  }

  /** A command whose run is the extension's: its errors name it, and tell no secrets. */
  function owned(id: string, command: Command): Command {
    const owner = runtime.owner(id, 'call');
    const run = (input: CommandInput, io: CommandIO, signal: AbortSignal) => async () => {
      requireTrust(command, trust);
      return runAs(owner, () => command.run(wire.pass(input, `the input of ${command.path}`), io, signal));
    };
    return {
      ...runtime.secrets.redactJson(command),
      run: (input, io, signal) => cleanly(runtime, () => named(id, `the command '${command.path}'`, run(input, io, signal), signal)),
    };
  }

  return {
    declared: () => declaredCommands(slots, kernelPaths),
    contextOf: ({ declaration, config }) => createCommandContext(runtime, declaration, config.config),
    async importEntry(slot, entry) {
      const { id, declaration } = slot;
      if (!declaration.manifest?.commands.some((command) => command.entry === entry))
        throw new PithError('not_declared', `'${id}' declares no command entry '${entry}'`, { where: declaration.file });
      try {
        const make = await makerOf(slot, entry);
        return async (context) => {
          const commands = (await cleanly(runtime, async () => make(context))).map((command) => owned(id, command));
          return commandNames(slots, kernelPaths).under(id, commands);
        };
      } catch (error) {
        if (error instanceof Problem) runtime.failures.record(id, error);
        throw runtime.secrets.redactError(error);
      }
    },
    async of(slot) {
      const { id } = slot;
      if (!slot.declaration.manifest?.provides.includes('command')) throw unavailable(id, 'it provides no commands');
      const listed = await lifecycle.ready(slot);
      const commands = (await listOf(lifecycle, id)).map((command): Command => ({
        ...owned(id, command),
        async run(input, io, signal) {
          const now = (await running(lifecycle, id)) === listed ? command : await commandNow(lifecycle, id, command.path);
          return owned(id, now).run(input, io, signal);
        },
      }));
      return commandNames(slots, kernelPaths).under(id, commands);
    },
  };
}

async function listOf(lifecycle: Lifecycle, id: string): Promise<readonly Command[]> {
  const list = () => callProvider(lifecycle, id, 'command.getCommands', [], true).catch(unwrap);
  return (await named(id, 'the commands', list)) as readonly Command[];
}

async function commandNow(lifecycle: Lifecycle, id: string, path: string): Promise<Command> {
  const command = (await listOf(lifecycle, id)).find((each) => each.path === path);
  if (command) return command;
  throw new PithError('command_unknown', `'${id}' has no command '${path}' any more`, { cure: 'see: pith --help' });
}

/** What the extension threw, where the wire only gave it a code. */
function unwrap(error: unknown): never {
  throw error instanceof PithError && error.cause instanceof Error && error.cause.message === error.message ? error.cause : error;
}

/** What nobody meant to be read names nothing: this gives it the extension's name and the line. */
export async function named<T>(id: string, what: string, run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (signal?.aborted || error instanceof PithError || error instanceof Problem) throw error;
    const { file, line } = placeOfError(error);
    const place = file === undefined ? '' : ` in ${file}${line === undefined ? '' : `:${line}`}`;
    throw new PithError('provider_failed', `${what} of the extension '${id}' failed${place}: ${messageOf(error)}`, {
      cause: error,
      cure: ofTheDisk(error) ?? `correct the source of ${id}`,
    });
  }
}

/** What no change of the source can repair. */
function ofTheDisk(error: unknown): string | null {
  const place = error instanceof Error && 'path' in error && typeof error.path === 'string' ? ` that holds ${error.path}` : '';
  switch (codeOf(error, '')) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `make room on the disk${place}`;
    case 'EROFS':
      return `make the disk${place} writable`;
    default:
      return null;
  }
}

/** What is thrown goes to the terminal as it is: it must not tell secrets. */
async function cleanly<T>({ secrets }: Pick<Runtime, 'secrets'>, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw secrets.redactError(error);
  }
}
