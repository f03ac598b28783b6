import type { Clock, Logger, Off, Phase, Protocol, Remote } from '../contract/index.ts';
import type { Loader } from './loader.ts';
import type { Declaration } from './discovery/declaration.ts';
import type { Failures } from './failures.ts';
import type { HostOptions } from './host-options.ts';
import type { Generation, ProcessTier } from './lifecycle/generation.ts';
import type { Problem } from './problem.ts';
import type { BroughtPrompt, ProviderFacts } from './extensions-port.ts';
import type { Secrets } from './secrets.ts';
import type { Owner } from './stray-errors.ts';
import type { ProviderMember } from './calls/handle.ts';
import type { Wire } from './calls/wire.ts';

/** What the parts of the host share. Made once, in order, by `ExtensionHost.create`. */
export interface HostParts {
  readonly options: HostOptions;
  readonly clock: Clock;
  readonly loader: Loader;
  /** undefined: extensions run in this process only. */
  processes(): ProcessTier | undefined;
  readonly secrets: Secrets;
  readonly failures: Failures;
  readonly wire: Wire;
  /** The text of a prompt that the code of this process brought. Rejects `prompt_invalid`. */
  renderPrompt(prompt: BroughtPrompt): Promise<string>;
  /** Aborts while Pith ends: nothing that begins an extension is waited for any more. */
  readonly cut: AbortController;
  logger(name: string): Logger;
  /** Whose code runs, and in which phase. */
  owner(extensionId: string, phase: Phase): Owner;
  /** Whether the code that is about to run came with Pith. */
  loaded(extensionId: string, shipped: boolean): void;
  /** Keeps a finding that does not stop the extension. */
  note(extensionId: string, code: string, message: string): void;
  /** A service that rejected or an error that nobody caught: three in five minutes stop the extension. */
  crashed(extensionId: string, problem: Problem): void;
  /** Its process ended by itself. `needed`: it worked or listened, and is started again without being asked. */
  lost(generation: Generation, why: Problem, needed: boolean): void;
  /** Nothing has been asked of it for long: it is stopped until it is needed again. */
  idle(generation: Generation): void;
  /** The other extensions, as one in a separate process must know them. */
  providersFor(user: Declaration): readonly ProviderFacts[];
  /** Told whenever `providersFor` may answer differently. */
  onProviders(listener: () => void): Off;
  /** A call that the process of `user` makes of another extension. */
  callFromProcess(user: Declaration, member: ProviderMember, args: readonly unknown[]): Promise<unknown>;
  use<T extends object>(user: Declaration, protocol: Protocol<T>): Remote<T>;
  find<T extends object>(user: Declaration, protocol: Protocol<T>): readonly Remote<T>[];
}
