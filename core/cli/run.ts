import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCommandInput } from '../contract/command-line.ts';
import { PithError } from '../contract/errors.ts';
import type { Command, CommandInput, CommandIO } from '../contract/protocols/command-provider.ts';
import type { DeclaredCommand } from '../host/host-options.ts';
import { loadCommands, type Boot, type Target } from './boot.ts';
import { takeCommonOptions } from './common-options.ts';
import type { CoreCommand } from './core-commands.ts';
import type { KernelPort } from './kernel-port.ts';
import { packageRoot } from '../host/package-version.ts';
import { isElsewhere, locateSandbox } from './locate.ts';
import { describeError, EXIT, exitCodeOf } from './report.ts';
import { resolveCommand, resolveLoaded } from './resolve-command.ts';
import { tellingSettingsErrors } from './settings-errors.ts';
import { terminalIO, writeError, type Stdio } from './terminal-io.ts';

export interface CliOptions {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdio: Stdio;
  readonly boot: Boot;
}

/** Runs one command line. Never rejects; what went wrong is on the error stream and in the exit code. */
export async function runCli(options: CliOptions, signal: AbortSignal): Promise<number> {
  const { stdio, env } = options;
  try {
    const common = takeCommonOptions(options.argv);
    const io = terminalIO(stdio, {
      json: common.json,
      quiet: common.quiet,
      noColour: Boolean(env['NO_COLOR']),
      workingDirectory: options.cwd,
    });
    if (common.version) return printVersion(stdio);
    const target = (): Target => ({
      sandbox: locateSandbox(common.sandbox ?? env['PITH_SANDBOX'] ?? null, options.cwd),
      env,
      flags: common.flags,
      workingDirectory: options.cwd,
    });
    if (common.help || common.words.length === 0) {
      const { showHelp } = await import('./show-help.ts');
      return await showHelp(common.words, options.boot, target, io, stdio);
    }
    return await runWords(common.words, { ...options, boot: tellingSettingsErrors(options.boot, stdio, common.words) }, target, io, signal);
  } catch (error) {
    writeError(stdio, describeError(error));
    return exitCodeOf(error);
  } finally {
    await options.boot.close();
  }
}

async function runWords(
  words: readonly string[],
  line: CliOptions,
  target: () => Target,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  const { boot, cwd } = line;
  const found = await resolveCommand(words, {
    declared: () => boot.declared(target()),
    withheld: () => boot.withheld(target()),
  });
  if (found.kind === 'core') return runCore(found.command, found.rest, boot, cwd, target, io, signal);
  return runDeclared(found.command, words, line, target(), io, signal);
}

async function runCore(
  command: CoreCommand,
  rest: readonly string[],
  boot: Boot,
  cwd: string,
  target: () => Target,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  const input = parseCommandInput(command, rest); // before anything is booted: wrong use is told at once
  if (command.needs === 'nothing') return (await (await command.load())(cwd, input, io, signal)) ?? EXIT.done;
  if (command.needs === 'boot') return (await command.load())(boot, target(), input, io, signal);
  const [run, kernel] = await Promise.all([command.load(), boot.kernel(target())]);
  return (await run(kernel, input, io, signal)) ?? EXIT.done;
}

async function runDeclared(
  declared: DeclaredCommand,
  words: readonly string[],
  line: CliOptions,
  target: Target,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  const { boot, cwd } = line;
  const { command, rest } = await resolveLoaded(words, await loadCommands(boot, target, declared), () => boot.declared(target));
  const input = parseCommandInput(command, rest);
  if ((io.interactive || declared.path === 'chat') && !io.quiet && isElsewhere(target.sandbox, cwd))
    io.error(`sandbox: ${target.sandbox} (there is none here)`);
  if (declared.needs === 'started') await start(await boot.kernel(target), command, input); // last: wrong use starts no service
  return (await command.run(input, io, signal)) ?? EXIT.done;
}

function start(kernel: KernelPort, { unservedWith = [] }: Command, { options }: CommandInput): Promise<void> {
  return unservedWith.some((name) => options[name] !== undefined) ? kernel.startUsed() : kernel.start();
}

function printVersion(stdio: Stdio): number {
  const read: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  if (typeof read !== 'object' || read === null || !('version' in read)) throw new PithError('internal', 'package.json has no version');
  stdio.output.write(`${String(read.version)}\n`);
  return EXIT.done;
}
