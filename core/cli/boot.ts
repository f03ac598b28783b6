import type { Command } from '../contract/protocols/command-provider.ts';
import type { DeclaredCommand } from '../host/host-options.ts';
import type { KernelPort } from './kernel-port.ts';

/** What a command line works on. */
export interface Target {
  /** Absolute. */
  readonly sandbox: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: Readonly<Record<string, unknown>>;
}

/** Ways to what lies behind a command, cheapest first. Each imports only what it needs. */
export interface Boot {
  /** Commands that manifests declare, from the persisted index. */
  declared(target: Target): Promise<readonly DeclaredCommand[]>;
  /** The code of a command that needs no kernel. */
  entry(target: Target, command: DeclaredCommand): Promise<readonly Command[]>;
  /** No code of an extension is loaded yet. */
  kernel(target: Target): Promise<KernelPort>;
  /** Activates the extension. */
  commandsOf(kernel: KernelPort, extensionId: string): Promise<readonly Command[]>;
}
