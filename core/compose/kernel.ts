import type { Command, Conversations, Diagnostic, Events } from '../contract/index.ts';
import type { DoctorReport } from './doctor.ts';
import type { SandboxOptions } from './sandbox-reading.ts';
import type { JobService } from '../durable/index.ts';
import type { Host } from '../kernel/index.ts';
import type { Settings } from '../declarations/index.ts';
import type { ModelRouter } from '../models/index.ts';
import type { Trust } from '../trust/index.ts';
import type { Agents, PersonApprovals, Threads } from '../agent/index.ts';

export interface KernelOptions extends Omit<SandboxOptions, 'env' | 'home'> {
  readonly env?: SandboxOptions['env'];
  /** Where `.pith/config.yaml` is looked for, and what extensions are told of; null: nowhere. Default the user's home. */
  readonly home?: string | null;
  /** The kernel's own commands, offered to extensions beside those of extensions. */
  commands?(kernel: Kernel): readonly Command[];
}

/** One sandbox, running. */
export interface Kernel {
  readonly trust: Trust;
  readonly settings: Settings;
  readonly events: Events;
  readonly threads: Threads;
  /** What people are asked, and their answers. Only a person's command may answer. */
  readonly approvals: PersonApprovals;
  /** As extensions reach them; null: a program keeps them itself. */
  readonly conversations: Conversations | null;
  /** Durable work, which a person sees and changes. */
  readonly jobs: Pick<JobService, 'store' | 'info' | 'wake'>;
  readonly host: Host;
  readonly agents: Agents;
  readonly router: ModelRouter;
  doctor(): Promise<DoctorReport>;
  /** What is wrong in the settings and with what was found. Loads nothing. */
  findings(): readonly Diagnostic[];
  /** As `Findings.problems`: what comes later is published. */
  problems(agentId?: string): Promise<readonly Diagnostic[]>;
  readonly restarts: Restarts;
  /** Starts services, deliveries and schedules, and watches the sandbox; or only what is `used`, for a turn or two: what is published durably waits for a process that starts all. */
  start(which?: 'all' | 'used'): Promise<void>;
  /** Releases everything, at most ten seconds; once `late` aborts, no extension is waited for. Once; never rejects. */
  stop(late?: AbortSignal): Promise<void>;
}

/** Restarts of the kernel's process: asked for by whoever needs one, given by what runs it. */
export interface Restarts {
  /** False where nothing could start the kernel again. */
  ask(reason: string): boolean;
  handle(give: (reason: string) => void): () => void;
}

export function createRestarts(): Restarts {
  const handlers = new Set<(reason: string) => void>();
  return {
    ask(reason) {
      for (const give of handlers) give(reason);
      return handlers.size > 0;
    },
    handle(give) {
      handlers.add(give);
      return () => void handlers.delete(give);
    },
  };
}
