import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCommandInput } from '../contract/command-line.ts';
import { PithError } from '../contract/errors.ts';
import type { Command, CommandInput, CommandIO } from '../contract/protocols/command-provider.ts';
import type { DeclaredCommand } from '../host/host-options.ts';
import { AnswerRecord } from './answers/answer-record.ts';
import { loadCommands, type Boot, type Target } from './boot.ts';
import { takeCommonOptions } from './common-options.ts';
import type { CoreCommand } from './core-commands.ts';
import type { KernelPort } from './kernel-port.ts';
import { systemClock } from '../host/system-clock.ts';
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
  /** The folder of the files that this runs from, where answers are kept for it; absent: they are not. */
  readonly installation?: string | undefined;
}

/** One command line, what it has printed so far, and when it began. */
type Line = CliOptions & { readonly record: AnswerRecord; readonly began: number };

/** Runs one command line. Never rejects; what went wrong is on the error stream and in the exit code. */
export async function runCli(options: CliOptions, signal: AbortSignal): Promise<number> {
  const { stdio, env } = options;
  const record = new AnswerRecord();
  const began = systemClock().now();
  try {
    const common = takeCommonOptions(options.argv);
    const io = terminalIO(stdio, {
      json: common.json,
      quiet: common.quiet,
      noColour: Boolean(env['NO_COLOR']),
      workingDirectory: options.cwd,
      record,
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
    return await runWords(
      common.words,
      { ...options, boot: tellingSettingsErrors(options.boot, stdio, common.words), record, began },
      target,
      io,
      signal,
    );
  } catch (error) {
    writeError(stdio, describeError(error));
    return exitCodeOf(error);
  } finally {
    await options.boot.close();
  }
}

async function runWords(words: readonly string[], line: Line, target: () => Target, io: CommandIO, signal: AbortSignal): Promise<number> {
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
  line: Line,
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
  const code = (await command.run(input, io, signal)) ?? EXIT.done;
  if (code === EXIT.done && declared.needs === 'index') await keep(line, target, declared.extensionId, io);
  return code;
}

/** Keeps what was printed, for the next who asks the same, where the command said what it was made from. */
async function keep(
  { boot, record, began, installation, argv, cwd, env }: Line,
  target: Target,
  extensionId: string,
  io: CommandIO,
): Promise<void> {
  const taken = installation === undefined ? null : record.taken();
  if (taken === null || installation === undefined) return;
  const found = await boot.seen?.(target, extensionId);
  if (!found) return;
  const { keepAnswer } = await import('./answers/keep-answer.ts');
  const { interactive, colour, columns } = io;
  keepAnswer({
    question: { argv, workingDirectory: cwd, env, sandbox: target.sandbox, interactive, colour, columns, installation },
    output: taken.output,
    seen: [...found.files, ...taken.seen],
    dataDirectory: found.dataDirectory,
    began,
  });
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
