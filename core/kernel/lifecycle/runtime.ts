import type {
  Clock,
  Events,
  ExtensionContext,
  Job,
  JsonValue,
  Logger,
  Protocol,
  Remote,
  SettingsChange,
  TurnRequest,
  Places,
} from '../../contract/index.ts';
import type { Phase } from '../records/error-codes.ts';
import type { Declaration, ExtensionConfig } from '../../declarations/index.ts';
import type { Failures, Problem } from '../records/failures.ts';
import type { Secrets } from '../../trust/index.ts';
import type { Owner } from '../records/stray-errors.ts';
import type { Scope } from './scope.ts';
import type { Tier } from '../calls/generation.ts';

/** The extension outside the kernel that asks for a turn. The host writes it; nothing that such an extension sends can. */
export interface TurnOrigin {
  readonly extensionId: string;
  /** Agents that a person lets it start. */
  readonly agents: readonly string[];
}

/** A request as the kernel passes it on: with who made it, where that is not the kernel's own code. `failed`: called before the `turn-end` that says so with the error, without secrets. */
export type OriginalRequest = TurnRequest & { readonly origin?: TurnOrigin; failed?(error: unknown): void };

/** `ExtensionContext['agents']` with the origin of a request, which the host writes. */
export interface HostAgents extends Omit<ExtensionContext['agents'], 'run'> {
  run(request: OriginalRequest, signal?: AbortSignal): ReturnType<ExtensionContext['agents']['run']>;
}

/** Absolute paths. What is absent is not there. */
export interface Folders extends Partial<Omit<Places, 'sandbox' | 'shippedSandbox'>>, Pick<Places, 'sandbox'> {
  /** `sandbox` holds what Pith keeps for a project that has none. */
  readonly isBare?: boolean;
  /** Everything that Pith writes is below it. */
  readonly dataDirectory: string;
}

/** What extensions are given beside the kernel. Stores are asked for on first use, so that an untouched one is never opened. */
export interface Services {
  readonly events: Events;
  readonly agents: HostAgents;
  keyValue(extensionId: string): ExtensionContext['kv'];
  database(extensionId: string): ExtensionContext['database'];
  jobs(declaration: Declaration): HostJobs;
}

/** The jobs of one extension, beside its handlers. */
export interface HostJobs extends Omit<ExtensionContext['jobs'], 'define' | 'again' | 'wait'> {
  /** Rejects `lease_lost` once another process has the job. */
  note(job: Pick<Job, 'id' | 'fence'>, data: JsonValue): Promise<void>;
}

/** Where what an extension does and says is kept. */
export interface Reports {
  readonly failures: Pick<Failures, 'record'>;
  logger(name: string): Logger;
  /** Whose code runs, and in which phase. */
  owner(extensionId: string, phase: Phase): Owner;
  /** Whether the code that is about to run came with Pith. */
  loaded(extensionId: string, shipped: boolean): void;
  /** Keeps a finding that does not stop the extension. */
  note(extensionId: string, code: string, message: string): void;
  /** A service that rejected or an error that nobody caught: three in five minutes stop the extension. */
  crashed(extensionId: string, problem: Problem): void;
}

/** What its declaration, its origin and the settings give an extension. */
export interface Rights {
  /** `changes`: as if these settings were written, too. */
  configOf(declaration: Declaration, changes?: SettingsChange): ExtensionConfig;
  /** Where it runs. A manifest only asks. */
  tierOf(declaration: Declaration): Tier;
  /** True when its code neither ships nor was let into the kernel by a person. */
  isForeign(declaration: Declaration): boolean;
}

/** What extensions reach of each other. */
export interface OtherExtensions {
  use<T extends object>(user: Declaration, protocol: Protocol<T>, scope: Scope): Remote<T>;
  find<T extends object>(user: Declaration, protocol: Protocol<T>, scope: Scope): readonly Remote<T>[];
}

/** What running the code of an extension takes, in the kernel's process and in its own. */
export interface Runtime extends Reports {
  readonly clock: Clock;
  readonly places: Folders;
  readonly loader: Loader;
  readonly secrets: Secrets;
  readonly services: Services;
  readonly rights: Rights;
  readonly others: OtherExtensions;
}

/** In the kernel's process, which keeps what is recorded. */
export interface KernelRuntime extends Runtime {
  readonly failures: Failures;
}

/** Inside the kernel runs what came with Pith and asks for that, and what a person's settings let in. */
export function grantedTier(configOf: Rights['configOf'], { isShipped }: Pick<Loader, 'isShipped'>): Rights['tierOf'] {
  return (declaration) => {
    if (declaration.dynamic) return 'process';
    const { isolation } = configOf(declaration);
    return isolation ?? (declaration.manifest?.isolation === 'in_process' && isShipped(declaration) ? 'in_process' : 'process');
  };
}

export interface Bundle {
  readonly file: string;
  /** Made with Pith from the same sources: Pith's own code. */
  readonly shipped: boolean;
}

/** Makes modules of the sources of extensions, and imports them. */
export interface Loader {
  /** By source digest: what came with Pith, else what was made before, else a new one. Throws a `Problem` of phase `bundle`. */
  bundle(declaration: Declaration, entry: string): Promise<Bundle>;
  /** Whether its sources are those that Pith's own bundle was made from. */
  isShipped(declaration: Declaration): boolean;
  /** Whether Pith was built with other files of it, or that build is damaged. */
  isAltered(declaration: Declaration): boolean;
  /** The digest of a dynamic declaration: of the bundle of its code as it is now, which is made for it. Runs nothing. */
  digestOf(declaration: Declaration): Promise<string>;
  /** After a bundle could not be imported: the next one is rebuilt. */
  forget(bundle: Bundle): Promise<void>;
  /** Its exports. Each later generation is evaluated afresh. */
  import(file: string, generation: number): Promise<Readonly<Record<string, unknown>>>;
}
