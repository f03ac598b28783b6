import type { Clock, Command } from '../contract/index.ts';
import type { Trust } from '../trust/index.ts';
import type { SurfaceIndex } from './lifecycle/lifecycle.ts';
import type { Tier } from './calls/generation.ts';
import type { Folders, Rights, Services } from './lifecycle/runtime.ts';
import type { ProcessTier, TierKernel } from './lifecycle/tier.ts';
import type { Loader } from './lifecycle/loader.ts';
import type { LogLevel, LogQuota } from './records/logger.ts';
import type { SandboxSource } from './reload/refresh.ts';
import type { SecretsFile } from './records/secrets-file.ts';

export interface Agreements {
  /** `unconfined`: the code with this digest may run where nothing holds it. */
  isAgreed(kind: 'unconfined', key: string): boolean;
}

/** What a host is made of. */
export interface HostOptions {
  readonly places: Folders;
  readonly clock: Clock;
  readonly source: SandboxSource;
  readonly configOf: Rights['configOf'];
  readonly index: SurfaceIndex;
  readonly loader: Loader;
  readonly services: Services;
  readonly secrets: {
    readonly env: Readonly<Record<string, string | undefined>>;
    /** Those that the environment does not have. */
    readonly stored?: SecretsFile | undefined;
  };
  readonly log?: { readonly level?: LogLevel; readonly quota?: LogQuota };
  /** Absent: extensions run in this process only. */
  processes?(kernel: TierKernel): ProcessTier;
  /** `isolation`: where extensions run, as they are granted (default), or all of them in one tier. `wire`: serialise every argument and result. */
  readonly calls?: { readonly isolation?: Tier | 'granted' | undefined; readonly wire?: boolean | undefined };
  /** What a person agreed to. Absent: nothing. */
  readonly trust?: Trust;
  /** The kernel's own commands; extensions in its process find them as those of a provider called `kernel`. */
  commands?(): readonly Command[];
  readonly toolsets: {
    /** Absolute path of Pith's own package. */
    readonly packageRoot: string;
    /** What a person agreed to once. Absent: what `trust` says, else nothing. */
    readonly agreements?: Agreements | undefined;
  };
}
