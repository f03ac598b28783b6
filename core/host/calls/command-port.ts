import { messageOf, PithError } from '../../contract/errors.ts';
import type { Command, CommandContext } from '../../contract/index.ts';
import { placeOfError } from '../bundles/source-place.ts';
import { createCommandContext } from '../lifecycle/extension-context.ts';
import { callProvider, running } from './handle.ts';
import type { HostParts } from '../host-parts.ts';
import { importEntry } from '../lifecycle/import-class.ts';
import { unavailable, type Lifecycle } from '../lifecycle/lifecycle.ts';
import { Problem } from '../problem.ts';
import { runAs } from '../stray-errors.ts';
import type { Slot } from '../lifecycle/slot.ts';

/** The default export of a command entry: makes commands without activating their extension. */
export type CommandEntry = (context: CommandContext) => readonly Command[] | Promise<readonly Command[]>;

/** Rejects with a `Problem` when the entry cannot be bundled or imported. */
export async function importCommandEntry(lifecycle: Lifecycle, slot: Slot, entry: string): Promise<CommandEntry> {
  const { parts } = lifecycle;
  const { declaration, id } = slot;
  if (!declaration.manifest?.commands.some((command) => command.entry === entry))
    throw new PithError('not_declared', `'${id}' declares no command entry '${entry}'`, { where: declaration.file });
  const owner = parts.owner(id, 'import');
  try {
    const { module } = await importEntry(parts, declaration, entry, 1, owner);
    const make = module['default'];
    if (typeof make !== 'function')
      throw new Problem('import', 'import_failed', `${entry} has no function as its default export`, {
        file: `${declaration.directory}/${entry}`,
        cure: 'export default (context) => [commands]',
      });
    return async (context) => {
      const list = await cleanly(parts, () => runAs(owner, () => (make as CommandEntry)(context)));
      return list.map((command) => owned(parts, id, command));
    };
  } catch (error) {
    if (error instanceof Problem) parts.failures.record(id, error);
    throw parts.secrets.redactError(error);
  }
}

export function commandContext({ parts }: Lifecycle, { declaration, config }: Slot): CommandContext {
  return createCommandContext(parts, declaration, config.config);
}

/** Commands of an activated extension. They are passed by reference, and each run goes to the version that runs then. */
export async function commandsOf(lifecycle: Lifecycle, slot: Slot): Promise<readonly Command[]> {
  const { id } = slot;
  if (!slot.declaration.manifest?.provides.includes('command')) throw unavailable(id, 'it provides no commands');
  const listed = await lifecycle.ready(slot);
  return (await listOf(lifecycle, id)).map((command) => ({
    ...owned(lifecycle.parts, id, command),
    async run(input, io, signal) {
      const now = (await running(lifecycle, id)) === listed ? command : await commandNow(lifecycle, id, command.path);
      return owned(lifecycle.parts, id, now).run(input, io, signal);
    },
  }));
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

function owned(parts: HostParts, id: string, command: Command): Command {
  const owner = parts.owner(id, 'call');
  return {
    ...parts.secrets.redactJson(command),
    run: (input, io, signal) =>
      cleanly(parts, () =>
        named(
          id,
          `the command '${command.path}'`,
          () => runAs(owner, () => command.run(parts.wire.pass(input, `the input of ${command.path}`), io, signal)),
          signal,
        ),
      ),
  };
}

/** What the extension threw, where the wire only gave it a code. */
function unwrap(error: unknown): never {
  throw error instanceof PithError && error.cause instanceof Error && error.cause.message === error.message ? error.cause : error;
}

/** What nobody meant to be read names nothing: this gives it the extension's name and the line. */
async function named<T>(id: string, what: string, run: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (signal?.aborted || error instanceof PithError || error instanceof Problem) throw error;
    const { file, line } = placeOfError(error);
    const place = file === undefined ? '' : ` in ${file}${line === undefined ? '' : `:${line}`}`;
    throw new PithError('provider_failed', `${what} of the extension '${id}' failed${place}: ${messageOf(error)}`, {
      cause: error,
      cure: `correct the source of ${id}`,
    });
  }
}

/** What is thrown goes to the terminal as it is: it must not tell secrets. */
async function cleanly<T>({ secrets }: HostParts, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw secrets.redactError(error);
  }
}
