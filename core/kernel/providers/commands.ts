import { systemCure } from '@pith/safe-files';
import {
  codeOf,
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandIO,
  messageOf,
  PithError,
} from '../../contract/index.ts';
import { createCommandContext } from '../lifecycle/extension-context.ts';
import { callProvider, COMMANDS, running } from './handle.ts';
import { keepsNames } from '../../declarations/index.ts';
import { type CommandEntry, importCommands } from '../lifecycle/extension-class.ts';
import { type Lifecycle, unavailable } from '../lifecycle/lifecycle.ts';
import { placeOfError, Problem } from '../records/failures.ts';
import type { Runtime } from '../lifecycle/runtime.ts';
import { runnable, type Slot } from '../lifecycle/actor.ts';
import { requireTrust, type Trust } from '../../trust/index.ts';
import { runAs } from '../records/stray-errors.ts';

/** The commands of extensions. Each rejects or throws `not_found` for an id that nothing declares. */
export interface Commands {
  /** What manifests declare, of extensions that can run. */
  declared(): readonly DeclaredCommand[];
  /** The commands of a command entry, which run where the extension runs; activates nothing. Rejects with a `Problem` when it cannot be bundled or imported. */
  importEntry(extensionId: string, entry: string): Promise<CommandEntry>;
  /** What a command entry is given. Its `config` is as the settings have it; no schema has been applied. */
  contextOf(extensionId: string): CommandContext;
  /** Of an activated extension. They are passed by reference, and each run goes to the version that runs then. Rejects `provider_unavailable`. */
  of(extensionId: string): Promise<readonly Command[]>;
}

export interface DeclaredCommand {
  readonly extensionId: string;
  /** What is typed. */
  readonly path: string;
  /** The path in its manifest; another than `path` where the name is somebody else's. */
  readonly declared: string;
  readonly needs: 'index' | 'initialized' | 'started' | 'served';
  /** Its own bundle, for `needs: index`. */
  readonly entry: string | undefined;
  readonly description: string;
  /** Its place in the help that lists only some; null: help with --all lists it. */
  readonly first: number | null;
  /** Help leaves it out: it is for programs. */
  readonly hidden: boolean;
  /** A line for people at the start of a chat on a terminal, or empty. */
  readonly opening: string;
}

/** `kernelPaths`: the commands of the kernel by name; no extension that does not ship has one that begins as they do. `trust`: what a person agreed to. */
export function createCommands(
  lifecycle: Lifecycle,
  kernelPaths: () => readonly { readonly path: string }[],
  trust: Trust | undefined,
): Commands {
  const { runtime, slots, tiers, wire } = lifecycle;

  async function makerOf({ declaration, config }: Slot, entry: string): Promise<CommandEntry> {
    lifecycle.refuseForeignContracts(declaration);
    if (runtime.rights.tierOf(declaration) === 'in_process') return importCommands(runtime, declaration, entry);
    const { commands, end } = await tiers.processes(declaration).openEntry({ declaration, config }, entry);
    lifecycle.onEnd(end);
    return () => commands;
  }

  /** A command whose run is the extension's: its errors name it, and neither they nor what it prints tell secrets. */
  function owned(id: string, command: Command): Command {
    const owner = runtime.owner(id, 'call');
    const run = (input: CommandInput, io: CommandIO, signal: AbortSignal) => async () => {
      requireTrust(command, trust);
      return runAs(owner, () => command.run(wire.pass(input, `the input of ${command.path}`), withoutSecrets(runtime, io), signal));
    };
    return {
      ...runtime.secrets.redactJson(command),
      run: (input, io, signal) => cleanly(runtime, () => named(id, `the command '${command.path}'`, run(input, io, signal), signal)),
    };
  }

  return {
    declared() {
      const names = commandNames(slots, kernelPaths);
      return runnable(slots).flatMap(({ id: extensionId, declaration }) =>
        (declaration.manifest?.commands ?? []).map(({ path, needs, entry, description, first, hidden, opening }) => ({
          extensionId,
          path: names.of(extensionId, path),
          declared: path,
          needs,
          entry,
          description,
          first: keepsNames(declaration) ? (first ?? null) : null,
          hidden,
          opening: keepsNames(declaration) ? opening : '',
        })),
      );
    },
    contextOf(id) {
      const { declaration, config } = lifecycle.slotOf(id);
      return createCommandContext(runtime, declaration, config.config);
    },
    async importEntry(id, entry) {
      const slot = lifecycle.slotOf(id);
      const { declaration } = slot;
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
    async of(id) {
      const slot = lifecycle.slotOf(id);
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

/**
 * Under which names the commands of extensions are reached: `of` gives the path, or `<extension>:<path>`. The words by which commands of the kernel and of what ships begin stay theirs, whether these run or not: a stranger's command that begins
 * so has its extension in front. So has a path that two strangers declare. A colon is in no id and in no declared word.
 */
function commandNames(slots: ReadonlyMap<string, Slot>, kernelPaths: () => readonly { readonly path: string }[]) {
  const declared = [...slots.values()].flatMap(({ id, declaration }) =>
    (declaration.manifest?.commands ?? []).map(({ path }) => ({ id, path, isKept: keepsNames(declaration) })),
  );
  const kept = new Set([...kernelPaths(), ...declared.filter(({ isKept }) => isKept)].map(firstWord));
  const isStranger = (id: string): boolean => {
    const slot = slots.get(id);
    return slot !== undefined && !keepsNames(slot.declaration);
  };
  const of = (id: string, path: string): string => {
    if (!isStranger(id)) return path;
    const isShared = declared.some((other) => other.path === path && other.id !== id);
    return isShared || kept.has(firstWord({ path })) || path.includes(':') ? prefixed(id, path) : path;
  };
  return {
    of,
    /** Those of an extension under their names. */
    under: (id: string, commands: readonly Command[]): readonly Command[] =>
      commands.map((command) => {
        const { prefixed: _, ...own } = command; // only the kernel says it
        return { ...own, path: of(id, command.path), ...(isStranger(id) ? { prefixed: prefixed(id, command.path) } : {}) };
      }),
  };
}

function prefixed(extensionId: string, path: string): string {
  return `${extensionId}:${path}`;
}

export function firstWord({ path }: { readonly path: string }): string {
  return path.split(' ', 1)[0] ?? path;
}

async function listOf(lifecycle: Lifecycle, id: string): Promise<readonly Command[]> {
  const list = () => callProvider(lifecycle, id, COMMANDS, []).catch(unwrap);
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

/** Adds the extension's id and the line of its source to errors that were not written for people. */
export async function named<T>(id: string, what: string, run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (signal?.aborted || error instanceof PithError || error instanceof Problem) throw error;
    const { file, line } = placeOfError(error);
    const place = file === undefined ? '' : ` in ${file}${line === undefined ? '' : `:${line}`}`;
    throw new PithError('provider_failed', `${what} of the extension '${id}' failed${place}: ${messageOf(error)}`, {
      cause: error,
      cure: cureOf(error, id),
    });
  }
}

/** What a person can do about an error of an extension: its own cure, the system's, or else a change of the source. */
export function cureOf(error: unknown, id: string): string {
  const own = error instanceof PithError ? error.cure : undefined;
  return own ?? (OF_THE_DISK.has(codeOf(error, '')) ? systemCure(error) : undefined) ?? `correct the source of ${id}`;
}

/** What no change of the source can repair: the disk is full, read-only or another's. */
const OF_THE_DISK: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM']);

/** What it reads stays as lazy as it is. */
function withoutSecrets({ secrets }: Pick<Runtime, 'secrets'>, io: CommandIO): CommandIO {
  const clean = (say: (value: never) => void) => ({ enumerable: true, value: (value: never) => say(secrets.redactJson(value)) });
  return Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(io),
      print: clean((text) => io.print(text)),
      error: clean((text) => io.error(text)),
      json: clean((value) => io.json(value)),
      ask: { enumerable: true, value: (...asked: Parameters<CommandIO['ask']>) => askCleanly(secrets, io, asked) },
    },
  ) as CommandIO;
}

/** The answer is the choice as the command gave it, however it was shown. */
async function askCleanly(secrets: Runtime['secrets'], io: CommandIO, [question, options]: Parameters<CommandIO['ask']>) {
  const shown = secrets.redactJson(options);
  const answer = await io.ask(secrets.redactJson(question), shown);
  const chosen = answer === null ? undefined : shown?.choices?.indexOf(answer);
  return options?.choices?.[chosen ?? -1] ?? answer;
}

/** What is thrown goes to the terminal as it is: it must not tell secrets. */
async function cleanly<T>({ secrets }: Pick<Runtime, 'secrets'>, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw secrets.redactError(error);
  }
}
