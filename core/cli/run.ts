import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCommandInput } from '../contract/command-line.ts';
import { PithError } from '../contract/errors.ts';
import { once } from '../contract/once.ts';
import type { Command, CommandInput, CommandIO } from '../contract/protocols/command-provider.ts';
import type { DeclaredCommand } from '../host/host-options.ts';
import { loadCommands, type Boot, type Target } from './boot.ts';
import { takeCommonOptions } from './common-options.ts';
import type { CoreCommand } from './core-commands.ts';
import type { KernelPort } from './kernel-port.ts';
import { packageRoot } from '../host/package-version.ts';
import { isElsewhere, locateSandbox } from './locate.ts';
import { requireTrust } from '../trust/index.ts';
import { openTarget, type NamedTarget } from './opened-target.ts';
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

/** One command line as it runs. */
interface Line {
  readonly boot: Boot;
  readonly cwd: string;
  readonly io: CommandIO;
  readonly signal: AbortSignal;
  readonly named: () => NamedTarget;
  /** Opens the sandbox when something of it is first needed: a person may be asked about it. */
  readonly target: () => Promise<Target>;
}

/** Runs one command line. Never rejects; what went wrong is on the error stream and in the exit code. */
export async function runCli(options: CliOptions, signal: AbortSignal): Promise<number> {
  const { stdio, env, cwd } = options;
  try {
    const common = takeCommonOptions(options.argv);
    const { json, quiet, flags, words } = common;
    const io = terminalIO(stdio, { json, quiet, noColour: Boolean(env['NO_COLOR']), workingDirectory: cwd });
    if (common.version) return printVersion(stdio);
    const named = once((): NamedTarget => ({
      sandbox: locateSandbox(common.sandbox ?? env['PITH_SANDBOX'] ?? null, cwd),
      env,
      flags,
      workingDirectory: cwd,
      accepts: common.trust || env['PITH_TRUST'] === '1',
    }));
    const helps = common.help || words.length === 0;
    const target = once(() => openTarget(named(), io, !helps));
    if (helps) {
      const { showHelp } = await import('./show-help.ts');
      return await showHelp(words, options.boot, target, io, stdio);
    }
    return await runWords(words, { boot: tellingSettingsErrors(options.boot, stdio, words), cwd, io, signal, named, target });
  } catch (error) {
    writeError(stdio, describeError(error));
    return exitCodeOf(error);
  } finally {
    await options.boot.close();
  }
}

async function runWords(words: readonly string[], line: Line): Promise<number> {
  const { boot, target } = line;
  const found = await resolveCommand(words, {
    declared: async () => boot.declared(await target()),
    withheld: async () => boot.withheld(await target()),
  });
  return found.kind === 'core' ? runCore(found.command, found.rest, line) : runDeclared(found.command, words, line);
}

async function runCore(command: CoreCommand, rest: readonly string[], { boot, cwd, io, signal, named, target }: Line): Promise<number> {
  const input = parseCommandInput(command, rest); // before anything is booted: wrong use is told at once
  if (command.needs === 'nothing') return (await (await command.load())(cwd, input, io, signal)) ?? EXIT.done;
  if (command.needs === 'target') return (await command.load())(named(), input, io);
  if (command.needs === 'boot') return (await command.load())(boot, await target(), input, io, signal);
  const opened = await target();
  requireTrust(command, opened.trust);
  const [run, kernel] = await Promise.all([command.load(), boot.kernel(opened)]);
  return (await run(kernel, input, io, signal)) ?? EXIT.done;
}

async function runDeclared(declared: DeclaredCommand, words: readonly string[], line: Line): Promise<number> {
  const { boot, cwd, io, signal } = line;
  const target = await line.target();
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
