import type { Command, Diagnostic, Phase } from '../../contract/index.ts';
import type { BroughtPrompt, ModelParts } from '../extensions-port.ts';
import type { Calls } from '../calls/calls.ts';
import type { Surface } from '../calls/surface.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { ExtensionConfig } from '../settings/config-of.ts';
import type { HostParts } from '../host-parts.ts';

/** Where the code of an extension runs: inside the kernel, or in a separate process. */
export type Tier = 'in_process' | 'process';

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

/** What a generation is made of: the sources as they were declared, and the settings as they stood then. */
export interface Version {
  readonly declaration: Declaration;
  readonly config: ExtensionConfig;
}

/** A version of an extension that has been constructed and checked. One of `initialize` and `discard` is called, once; `discard` also while Pith ends during the other. */
export interface Candidate extends Version {
  readonly number: number;
  /** Made with Pith from the same sources: Pith's own code. */
  readonly shipped: boolean;
  readonly tier: Tier;
  /** Initialises it and learns what it offers. Rejects with a `Problem`; the candidate is closed then. */
  initialize(): Promise<Generation>;
  /** Releases what its construction took; ends its process, whatever that is at. Never rejects. */
  discard(): Promise<void>;
}

/** What the owner of a key under `agent:` says of a value; `usable`: that without what is wrong in it. */
export interface AgentKeyCheck {
  readonly findings: readonly AgentKeyFinding[];
  readonly usable: unknown;
}

export type AgentKeyFinding = { readonly path: string } & Pick<Diagnostic, 'severity' | 'code' | 'message'> & { readonly cure?: string };

/** A version of an extension that runs. */
export interface Generation extends Omit<Candidate, 'initialize' | 'discard'> {
  /** Replaced when its tools are described anew. */
  surface: Surface;
  readonly calls: Calls;
  /** Does work of the extension in its name, for the message that `correlationId` names. */
  run<T>(phase: Phase, work: () => T, correlationId?: string): T;
  /** Calls `start` and, where wanted, runs the service, each once. Rejects with a `Problem`. */
  start(withService: boolean): Promise<void>;
  /** Aborts the service. Never rejects: what goes wrong is recorded. */
  stopService(): Promise<void>;
  /** Calls `stop` and releases what it owns. Never rejects. */
  stop(): Promise<void>;
  /** The same code with the same settings, constructed again. Rejects with a `Problem`. */
  again(number: number): Promise<Candidate>;
  /** Checks a value under `agent:`; `path` begins with `agent.<key>`. */
  checkAgentKey(key: string, value: unknown): Promise<AgentKeyCheck>;
  /** The text of a prompt that it brought. Rejects `prompt_invalid`, and what keeps its process from answering. */
  renderPrompt(prompt: BroughtPrompt, signal: AbortSignal): Promise<string>;
  getModel(name: string, prefix: string): Promise<ModelParts>;
}

/** Stops the service, gives open calls `graceMs`, stops the rest. Never rejects. */
export async function close(generation: Generation, graceMs: number): Promise<void> {
  await generation.stopService();
  await generation.calls.drain(graceMs);
  await generation.stop();
}

/** Where an extension runs. A manifest only asks: inside the kernel runs what came with Pith, and what a person's settings let in. */
export function tierOf({ options, loader }: Pick<HostParts, 'options' | 'loader'>, declaration: Declaration): Tier {
  if (declaration.toolset) return 'process';
  const { isolation = 'granted', configOf } = options;
  if (isolation !== 'granted') return isolation;
  const { isolation: said } = configOf(declaration);
  if (said !== null) return said;
  return declaration.manifest?.isolation === 'in_process' && loader.isShipped(declaration) ? 'in_process' : 'process';
}

/** Whether nobody answers for its code as for the kernel's own: it did not come with Pith, and no person let it into the kernel. */
export function isForeign(parts: Pick<HostParts, 'options' | 'loader'>, declaration: Declaration): boolean {
  return tierOf(parts, declaration) === 'process' && !parts.loader.isShipped(declaration);
}
