import { endpointOf } from '@pith/genai-spans';
import { untilAborted, once } from '@pith/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandOption, matchCommand, parseCommandInput } from '@pith/command-line';
import { type Command, type CommandInput, messageOf, PithError, type Places } from '../contract/index.ts';
import type { DeclaredCommand } from '../kernel/index.ts';
import { packageRoot, userIn } from '../declarations/index.ts';
import { COMMON_OPTIONS, commandFirst, switchesIn, switchesOf, takeCommonOptions, withoutSwitches } from './common-options.ts';
import { type CoreCommand, kernelCommands } from './core-commands.ts';
import type { Exporting, Kernel } from '../compose/index.ts';
import { type Target, openTarget, type Line, type NamedTarget } from './terminal/opened-target.ts';
import { locateTarget } from './terminal/locate.ts';
import { requireTrust } from '../trust/index.ts';
import { describeError, EXIT, exitCodeOf } from './terminal/report.ts';
import {
  type CommandSource,
  HELP,
  isMessage,
  loadCommands,
  type Resolved,
  resolveCommand,
  resolveLoaded,
  TALK,
} from './resolve-command.ts';
import { isSupervised, portOfLine } from './serve/supervised.ts';
import { terminalIO, writeError, type Stdio } from './terminal/terminal-io.ts';

export interface CliOptions {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdio: Stdio;
  readonly openKernel: OpenKernel;
}

/** Creates the kernel of a target, without loading an extension's code or opening a database. */
export type OpenKernel = (target: Target) => Promise<Kernel>;

/** The kernel is imported on first use. */
export const openKernel: OpenKernel = async ({ sandbox, trust, env, switches, serve, workingDirectory }) => {
  const { createKernel } = await import('../compose/index.ts');
  return createKernel({ sandbox, trust, env, switches, serve, workingDirectory, commands: kernelCommands });
};

/** Runs one command line. Never rejects; errors appear on the error stream and in the exit code. */
export async function runCli(options: CliOptions, signal: AbortSignal): Promise<number> {
  const { stdio, env, cwd } = options;
  let opened: Promise<Kernel> | undefined;
  let spans = null as Exporting | null;
  try {
    const common = takeCommonOptions(options.argv);
    const { json, quiet, words } = common;
    const who = { workingDirectory: cwd, userId: userIn(env) };
    const io = terminalIO(stdio, { json, quiet, noColour: Boolean(env['NO_COLOR']), dumb: env['TERM'] === 'dumb', ...who });
    if (common.version) return printVersion(stdio);
    const named = once((): NamedTarget => ({
      ...locateTarget(common.sandbox ?? env['PITH_SANDBOX'] ?? null, cwd),
      env,
      switches: switchesIn(words),
      workingDirectory: cwd,
      accepts: common.trust || env['PITH_TRUST'] === '1',
    }));
    const helps = common.help || commandFirst(words)[0] === HELP;
    const target = once(() => openTarget(named(), io, { asks: !helps, reports: !isSupervised(env) }));
    const kernel = (serve: Places['serve'] = isSupervised(env) ? { port: portOfLine(words) } : null): Promise<Kernel> =>
      (opened ??= target().then(async (found) => {
        if (endpointOf(env) !== null) spans = (await import('../compose/index.ts')).exportSpans(env, found.trust);
        return options.openKernel({ ...found, serve });
      }));
    if (helps) {
      const { showHelp } = await import('./show-help.ts');
      const named = commandFirst(words);
      return await showHelp(named[0] === HELP ? named.slice(1) : named, kernel, io, stdio);
    }
    return await runWords(words, { cwd, io, signal, named, target, kernel });
  } catch (error) {
    if (!signal.aborted) writeError(stdio, describeError(error));
    return exitCodeOf(error);
  } finally {
    await opened?.then(
      (kernel) => kernel.stop(),
      () => undefined,
    ); // a kernel that could not be created has been reported
    await spans?.end();
  }
}

/** Commands that show problems themselves. */
const SHOWING: readonly string[] = ['doctor'];

async function runWords(words: readonly string[], line: Line): Promise<number> {
  const found = await resolveWords(words, async () => (await line.kernel()).host);
  return found.kind === 'core' ? runCore(found.command, found.rest, line) : runDeclared(found.command, found.words, line);
}

/** The command of a line. A line without one that begins with an option or is a message means chat. */
async function resolveWords(typed: readonly string[], host: () => Promise<CommandSource>): Promise<Resolved> {
  const words = commandFirst(typed);
  const talk = () => resolveCommand([TALK, ...typed], host);
  if (words[0] === undefined || words[0].startsWith('-')) return talk();
  try {
    return await resolveCommand(words, host);
  } catch (error) {
    if (exitCodeOf(error) !== EXIT.usage) throw error;
    const source = await host();
    const switches = switchesOf(source.extensions.list());
    const rest = withoutSwitches(words, switches); // a switch may be between the words
    const found = rest.length < words.length ? await resolveCommand(rest, host).catch(() => null) : null; // the first error names what was typed
    if (found !== null) return found;
    const isOption = typed[0]?.startsWith('--') === true && withoutSwitches(typed.slice(0, 1), switches).length > 0; // its value is the next word
    if (isOption || (await isMessage(rest, source))) return talk();
    throw error;
  }
}

/** Looks for extensions' switches only where the command opens the sandbox and does not know an option. */
async function inputOf(command: CoreCommand, rest: readonly string[], { kernel }: Line): Promise<CommandInput> {
  const known = (command.options ?? []).map(({ name }) => name);
  const isUnknown = switchesIn(rest).some((name) => !known.includes(name.split('=', 1)[0] as string));
  return readInput(command, rest, isUnknown && command.needs !== 'nothing' ? switchesOf((await kernel()).host.extensions.list()) : []);
}

/** The words after a command, without switches of extensions. */
function readInput(command: Command | CoreCommand, rest: readonly string[], switches: readonly CommandOption[]): CommandInput {
  const others = [...COMMON_OPTIONS, ...switches].map(({ name }) => name);
  return parseCommandInput(command, withoutSwitches(rest, switches, command), others);
}

async function runCore(command: CoreCommand, given: readonly string[], line: Line): Promise<number> {
  const { io, signal } = line;
  const input = await inputOf(command, given, line); // parsed before anything is opened, as far as its options are known, so that wrong use is reported at once
  if (command.needs !== undefined) return (await (await command.load())(line, input)) ?? EXIT.done;
  requireTrust(command, (await line.target()).trust);
  const [run, kernel] = await Promise.all([command.load(), line.kernel()]);
  if (!SHOWING.includes(command.path)) (await import('./terminal/problems.ts')).reportWrongSettings(kernel, io);
  return (await run(kernel, input, io, signal)) ?? EXIT.done;
}

async function runDeclared(declared: DeclaredCommand, words: readonly string[], line: Line): Promise<number> {
  const { io, signal } = line;
  if (declared.needs === 'served' && isSupervised((await line.target()).env)) return (await import('./serve/serve.ts')).serveAgain(line);
  const kernel = await line.kernel();
  const loaded = await loadCommands(kernel.host, declared);
  // A switch may be between the words of a command.
  const switches = switchesOf(kernel.host.extensions.list());
  const typed = matchCommand(loaded, words) ? words : withoutSwitches(words, switches);
  const { command, rest } = await resolveLoaded(typed, loaded, kernel.host);
  const input = readInput(command, rest, switches);
  if (declared.needs === 'started') return converse(kernel, command, input, line); // last, so that wrong use starts no service
  (await import('./terminal/problems.ts')).reportWrongSettings(kernel, io);
  if (declared.needs === 'served') return (await import('./serve/serve.ts')).runServing(command, input, line);
  return (await command.run(input, io, signal)) ?? EXIT.done;
}

/**
 * Runs a command on a started kernel; reports known problems before it, and new ones after it. What is piped waits only for what its agent
 * needs, and a person at a terminal for nothing before the prompt: services run where somebody stays, or a program that says line by line.
 */
async function converse(kernel: Kernel, command: Command, input: CommandInput, { io, signal }: Line): Promise<number> {
  const { Problems } = await import('./terminal/problems.ts');
  const problems = new Problems(kernel, io);
  let stays = false;
  const start = async () => {
    stays = true;
    await untilAborted(kernel.start(), signal);
    return io.interactive ? untilAborted(problems.summary(), signal) : null;
  };
  const startTalk = async () => {
    const found = await start();
    const lines = io.interactive && !io.quiet ? openingLines(kernel) : [];
    return [found ?? [], lines].flat().join('\n') || null;
  };
  if (io.interactive && !command.runBeforeStart) {
    const summary = await start();
    if (summary !== null) io.print(summary);
    return (await command.run(input, io, signal)) ?? EXIT.done;
  }
  await untilAborted(kernel.start('used'), signal);
  if (!io.interactive) {
    problems.follow();
    await untilAborted(problems.report(String(input.options['agent'] ?? kernel.settings.default_agent)), signal);
  }
  try {
    const { quietIO } = problems;
    const run = command.runBeforeStart?.(input, quietIO, startTalk, signal) ?? command.run(input, quietIO, signal);
    return (await run) ?? EXIT.done;
  } catch (error) {
    if (!problems.hasReported(messageOf(error))) throw error;
    return exitCodeOf(error);
  } finally {
    if (!signal.aborted && !(stays && io.interactive)) await problems.report();
  }
}

/** What extensions tell a person who begins, by their manifests alone. */
function openingLines({ host }: Kernel): readonly string[] {
  return host.providers.commands.declared().flatMap(({ opening }) => opening || []);
}

function printVersion(stdio: Stdio): number {
  const read: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  if (typeof read !== 'object' || read === null || !('version' in read)) throw new PithError('internal', 'package.json has no version');
  stdio.output.write(`${String(read.version)}\n`);
  return EXIT.done;
}
