import type { Command } from '../contract/protocols/command-provider.ts';
import type { DeclaredCommand } from '../host/host-options.ts';
import type { Trust } from '../trust/index.ts';
import type { KernelPort } from './kernel-port.ts';

/** What a command line works on. */
export interface Target {
  /** Absolute: the sandbox that was opened. */
  readonly sandbox: string;
  readonly trust: Trust;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: Readonly<Record<string, unknown>>;
  /** What relative paths of flags and environment are relative to; default: the process's. */
  readonly workingDirectory?: string;
}

export interface WithheldCommand {
  readonly path: string;
  readonly extensionId: string;
  /** null: it is switched off. */
  readonly reason: string | null;
}

/** Ways to what lies behind a command, cheapest first. Each imports only what it needs. */
export interface Boot {
  /** Commands that manifests declare, from the persisted index. */
  declared(target: Target): Promise<readonly DeclaredCommand[]>;
  /** Commands of extensions that cannot run, and why not. */
  withheld(target: Target): Promise<readonly WithheldCommand[]>;
  /** The code of a command that needs no kernel. */
  entry(target: Target, command: DeclaredCommand): Promise<readonly Command[]>;
  /** The kernel of this process, made once; no code of an extension is loaded by that. */
  kernel(target: Target): Promise<KernelPort>;
  /** Activates the extension. */
  commandsOf(target: Target, extensionId: string): Promise<readonly Command[]>;
  /** Stops what was booted. Never rejects. */
  close(): Promise<void>;
}

/** The commands behind a declared one, by the cheapest way that it allows. */
export function loadCommands(boot: Boot, target: Target, command: DeclaredCommand): Promise<readonly Command[]> {
  return command.needs === 'index' ? boot.entry(target, command) : boot.commandsOf(target, command.extensionId);
}
