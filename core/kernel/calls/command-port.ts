import { PithError, codeOf, messageOf } from '../../contract/errors.ts';
import type { Command, CommandContext } from '../../contract/index.ts';
import { createCommandContext } from '../lifecycle/command-context.ts';
import { callProvider, running } from './handle.ts';
import { commandNames } from '../command-names.ts';
import { importCommands, type CommandEntry } from '../lifecycle/import-class.ts';
import { unavailable, type Lifecycle } from '../lifecycle/lifecycle.ts';
import { tierOf } from '../lifecycle/generation.ts';
import { Problem, placeOfError } from '../problem.ts';
import { processTier } from '../lifecycle/tier.ts';
import type { Slot } from '../lifecycle/slot.ts';
import type { HostParts } from '../host-parts.ts';
import { requireTrust } from '../../trust/index.ts';
import { runAs } from '../stray-errors.ts';

/** Its commands run where the extension runs, also in a separate process. Rejects with a `Problem` when the entry cannot be bundled or imported. */
export async function importCommandEntry(lifecycle: Lifecycle, slot: Slot, entry: string): Promise<CommandEntry> {
  const { parts } = lifecycle;
  const { declaration, id } = slot;
  if (!declaration.manifest?.commands.some((command) => command.entry === entry))
    throw new PithError('not_declared', `'${id}' declares no command entry '${entry}'`, { where: declaration.file });
  try {
    const make = await makerOf(lifecycle, slot, entry);
    return async (context) => {
      const commands = (await cleanly(parts, async () => make(context))).map((command) => owned(parts, id, command));
      return commandNames(lifecycle.slots, parts.options).under(id, commands);
    };
  } catch (error) {
    if (error instanceof Problem) parts.failures.record(id, error);
    throw parts.secrets.redactError(error);
  }
}

async function makerOf(lifecycle: Lifecycle, slot: Slot, entry: string): Promise<CommandEntry> {
  const { parts } = lifecycle;
  const { declaration } = slot;
  if (tierOf(parts, declaration) === 'in_process') return importCommands(parts, declaration, entry);
  const { commands, end } = await processTier(parts, slot).openEntry(slot, entry);
  lifecycle.endings.push(end);
  return () => commands;
}

export function commandContext({ parts }: Lifecycle, { declaration, config }: Slot): CommandContext {
  return createCommandContext(parts, declaration, config.config);
}

/** Commands of an activated extension. They are passed by reference, and each run goes to the version that runs then. */
export async function commandsOf(lifecycle: Lifecycle, slot: Slot): Promise<readonly Command[]> {
  const { id } = slot;
  if (!slot.declaration.manifest?.provides.includes('command')) throw unavailable(id, 'it provides no commands');
  const listed = await lifecycle.ready(slot);
  const commands = (await listOf(lifecycle, id)).map((command): Command => ({
    ...owned(lifecycle.parts, id, command),
    async run(input, io, signal) {
      const now = (await running(lifecycle, id)) === listed ? command : await commandNow(lifecycle, id, command.path);
      return owned(lifecycle.parts, id, now).run(input, io, signal);
    },
  }));
  return commandNames(lifecycle.slots, lifecycle.parts.options).under(id, commands);
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

/** A command whose run is the extension's: its errors name it, and tell no secrets. */
function owned(parts: Pick<HostParts, 'options' | 'owner' | 'secrets' | 'wire'>, id: string, command: Command): Command {
  const owner = parts.owner(id, 'call');
  return {
    ...parts.secrets.redactJson(command),
    run: (input, io, signal) =>
      cleanly(parts, () =>
        named(
          id,
          `the command '${command.path}'`,
          async () => {
            requireTrust(command, parts.options.trust);
            return runAs(owner, () => command.run(parts.wire.pass(input, `the input of ${command.path}`), io, signal));
          },
          signal,
        ),
      ),
  };
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
async function cleanly<T>({ secrets }: Pick<HostParts, 'secrets'>, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw secrets.redactError(error);
  }
}
