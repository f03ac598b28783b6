import { PithError } from '../../contract/errors.ts';
import type { Command, CommandContext } from '../../contract/index.ts';
import { createCommandContext } from '../lifecycle/command-context.ts';
import { callProvider, running } from './handle.ts';
import { commandNames } from '../command-names.ts';
import { cleanly, named, owned } from './owned-command.ts';
import { importCommands, type CommandEntry } from '../lifecycle/import-class.ts';
import { unavailable, type Lifecycle } from '../lifecycle/lifecycle.ts';
import { tierOf } from '../lifecycle/generation.ts';
import { Problem } from '../problem.ts';
import { openRemoteEntry } from '../process/remote-candidate.ts';
import type { Slot } from '../lifecycle/slot.ts';

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
  const { commands, end } = await openRemoteEntry(parts, slot, entry);
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
