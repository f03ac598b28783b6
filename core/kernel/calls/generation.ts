import type { Diagnostic } from '../../contract/index.ts';
import type { Phase } from '../records/error-codes.ts';
import type { BroughtPrompt, ModelParts } from '../records/extensions-port.ts';
import type { Calls } from './calls.ts';
import type { Surface } from './surface.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { ExtensionConfig } from '../settings/config-of.ts';

/** Where the code of an extension runs: inside the kernel, or in a separate process. */
export type Tier = 'in_process' | 'process';

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
