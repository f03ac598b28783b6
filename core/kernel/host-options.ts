import type {
  Clock,
  Command,
  ConfinedPrograms,
  Database,
  Diagnostic,
  Events,
  KeyValue,
  Manifest,
  Phase,
  SettingsChange,
} from '../contract/index.ts';
import type { BroughtPrompt, ExtensionState, HostAgents } from './extensions-port.ts';
import type { ExtensionConfig } from './settings/config-of.ts';
import type { Settings } from './settings/settings.ts';
import type { Declaration, Discovery } from './discovery/declaration.ts';
import type { HostParts } from './host-parts.ts';
import type { ProcessTier, Tier } from './lifecycle/generation.ts';
import type { Loader } from './loader.ts';
import type { LogLevel } from './logger.ts';
import type { SecretsFile } from './secrets-file.ts';
import type { Quarantine } from './quarantine.ts';
import type { Trust } from '../trust/index.ts';

export interface Agreements {
  /** `unconfined`: the code with this digest may run where nothing holds it. */
  isAgreed(kind: 'unconfined', key: string): boolean;
}

/** Where descriptors survive a restart. A key covers sources and configuration. */
export interface SurfaceIndex {
  surface(extensionId: string, key: string): unknown;
  putSurface(extensionId: string, key: string, data: unknown): void;
}

export interface HostOptions {
  /** What a person agreed to. Absent: nothing. */
  readonly trust?: Trust;
  /** Absolute path of the sandbox. */
  readonly sandbox: string;
  /** Absolute path of the sandbox that the person opened and has not trusted; then `sandbox` is another, empty one. */
  readonly untrustedSandbox?: string | null;
  /** Absolute path of the user's home folder; null or absent: extensions are told of none. */
  readonly home?: string | null;
  /** Absolute path; everything that Pith writes is below it. */
  readonly dataDirectory: string;
  /** Absent: as the settings have them by default. */
  readonly quotas?: Settings['quotas'] | undefined;
  /** Absolute path of Pith's own package: its `dist/ext` and its npm packages. */
  readonly packageRoot: string;
  /** Reads the folders again; cheap when nothing changed. `at`: now. */
  discover(at: number): Promise<Discovery>;
  /** `changes`: as if these settings were written, too. */
  configOf(declaration: Declaration, changes?: SettingsChange): ExtensionConfig;
  /** Reads the settings files again; true when something changed. */
  renewSettings?(): Promise<boolean>;
  /** What a look at the disk changed has been replaced. */
  renewed?(): Promise<void>;
  /** Folders whose changes are worth a look: `extensions` and `agents` of every sandbox. */
  readonly watched: readonly string[];
  readonly index: SurfaceIndex;
  readonly clock: Clock;
  readonly events: Events;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Secrets that the environment does not have. */
  readonly storedSecrets?: SecretsFile;
  readonly logLevel?: LogLevel;
  readonly loader: Loader;
  /** Absent: extensions run in this process only. */
  processes?(host: HostParts): ProcessTier;
  /** What a person agreed to once. Absent: what `trust` says, else nothing. */
  readonly agreements?: Agreements;
  /** Versions that are not started, because the kernel crashed with them. */
  readonly quarantine?: Quarantine;
  /** Where extensions run: as they are granted (default), or all of them in the tier named here. */
  readonly isolation?: Tier | 'granted';
  /** Serialise every argument and result. */
  readonly wire?: boolean;
  /** Called on first use, so that an untouched store is never opened. */
  keyValue(extensionId: string): KeyValue;
  database(extensionId: string): Database;
  /** Programs that extensions run apart. Loaded on first use; throws where there can be none. */
  confined(): Promise<ConfinedPrograms>;
  readonly agents: HostAgents;
  /** Rejects `prompt_invalid`. */
  renderPrompt(prompt: BroughtPrompt): Promise<string>;
  /** The commands of the kernel by name: no extension that does not ship has one that begins as they do. */
  kernelPaths?(): readonly { readonly path: string }[];
  /** The kernel's own commands; extensions in its process find them as those of a provider called `kernel`. */
  commands?(): readonly Command[];
}

/** One extension as `pith doctor` and `pith extensions list` show it. */
export interface ExtensionStatus {
  readonly id: string;
  readonly state: ExtensionState;
  readonly provides: readonly string[];
  readonly shipped: boolean;
  /** Where it runs, or would run. */
  readonly tier: Tier;
  readonly directory: string;
  readonly version: string;
  readonly generation: number;
  /** What it declares and asks for; null when its manifest is broken. */
  readonly manifest: Manifest | null;
  /** What its manifest asks for beyond its own folder, each with whether it has it and why nobody can give it. Shipped ones ask nobody. */
  readonly asks: readonly { readonly ask: string; readonly withheld: boolean; readonly never: string | null }[];
  /** The last failure; an active extension may have one that it survived. */
  readonly phase?: Phase;
  readonly code?: string;
  readonly message?: string;
  readonly file?: string;
  readonly line?: number;
  readonly cure?: string;
  /** Findings that do not stop it: `isolation_in_process`, slow phases, … */
  readonly notes: readonly Pick<Diagnostic, 'code' | 'message' | 'file' | 'line' | 'cure'>[];
}

export interface DeclaredCommand {
  readonly extensionId: string;
  /** What is typed. */
  readonly path: string;
  /** The path in its manifest; another than `path` where the name is somebody else's. */
  readonly declared: string;
  readonly needs: 'index' | 'initialized' | 'started';
  /** Its own bundle, for `needs: index`. */
  readonly entry: string | undefined;
  readonly description: string;
}
