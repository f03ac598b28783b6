import type { Command } from '../../contract/index.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { ProviderFacts, ProviderMember } from '../records/extensions-port.ts';
import { Problem } from '../records/problem.ts';
import { checkConfig } from '../settings/config-check.ts';
import type { Candidate, Generation, Version } from '../calls/generation.ts';
import { constructInProcess, importInProcess } from './in-process.ts';
import type { Runtime } from './runtime.ts';

/** Runs extensions apart from the kernel: one implementation, given by whoever composes. */
export interface ProcessTier {
  /** Bundles, and starts a process that imports, checks and constructs. Rejects with a `Problem`; no process is left then. */
  construct(version: Version, number: number): Promise<Candidate>;
  /** Holds the settings against the schema of the class; constructs nothing. Rejects with a `Problem`. */
  checkSettings(version: Version, number: number): Promise<void>;
  /** The commands of a command entry, in a process until `end`: the extension is not activated. Rejects with a `Problem`. */
  openEntry(version: Version, entry: string): Promise<{ readonly commands: readonly Command[]; end(): Promise<void> }>;
  /** Whether something holds the code of its processes; null: the settings want nothing to. */
  confinement(): Promise<Confinement | null>;
  /** Ends what a killed kernel left running. Resolves to how many there were. */
  endOrphans(): Promise<number>;
}

export type Confinement = { readonly available: true } | { readonly available: false; readonly why: string; readonly cure: string };

/** What a tier of processes tells the kernel and asks of it. */
export interface TierKernel {
  readonly runtime: Runtime;
  /** Aborts while Pith ends: nothing that begins an extension is waited for any more. */
  readonly cut: AbortSignal;
  /** A process ended by itself. `needed`: it worked or listened, and is started again without being asked. */
  lost(generation: Generation, why: Problem, needed: boolean): void;
  /** Nothing has been asked of it for long: it is stopped until it is needed again. */
  idle(generation: Generation): void;
  /** The other extensions, as one in a separate process must know them. */
  providersFor(user: Declaration): readonly ProviderFacts[];
  /** Told whenever `providersFor` may answer differently. */
  onProviders(listener: () => void): () => void;
  /** A call that the process of `user` makes of another extension. */
  callFromProcess(user: Declaration, member: ProviderMember, args: readonly unknown[]): Promise<unknown>;
}

/** In this process, or in one of its own. */
export interface Tiers extends Pick<ProcessTier, 'construct' | 'checkSettings'> {
  /** Throws a `Problem` where this kernel starts no processes. */
  processes(declaration: Declaration): ProcessTier;
}

export function createTiers(runtime: Runtime, processes: ProcessTier | undefined): Tiers {
  const isInProcess = ({ declaration }: Version): boolean => runtime.rights.tierOf(declaration) === 'in_process';
  const tiers: Tiers = {
    processes({ id, file }) {
      if (processes) return processes;
      throw new Problem('import', 'import_failed', `'${id}' runs in a separate process, and this kernel starts none`, { file });
    },
    construct: async (version, number) =>
      isInProcess(version) ? constructInProcess(runtime, version, number) : tiers.processes(version.declaration).construct(version, number),
    async checkSettings(version, number) {
      if (!isInProcess(version)) return tiers.processes(version.declaration).checkSettings(version, number);
      const { declaration, config } = version;
      const { Class } = await importInProcess(runtime, declaration, number);
      checkConfig(Class.config, config, declaration.file);
    },
  };
  return tiers;
}
