import type {
  Clock,
  Command,
  Diagnostic,
  Events,
  JsonValue,
  LanguageModel,
  ToolResult,
  TurnEvent,
  TurnRequest,
} from '../contract/index.ts';
import type { DoctorReport } from './doctor.ts';
import type { Host, Settings, SettingsInput, Tier } from '../kernel/index.ts';
import type { ModelRouter } from '../models/index.ts';
import type { Trust } from '../trust/index.ts';
import type { PreviewRequest, PromptPreview, AgentRegistry, ToolUser, OfferedTool, PersonApprovals, Threads } from '../agent/index.ts';

export interface KernelOptions {
  /** Absolute path. */
  readonly sandbox: string;
  /** Whose sandbox it is; absent: as it is recorded in the home folder, so that one that nobody trusted is restricted. */
  readonly trust?: Trust;
  /** The caller vouches for the sandbox, as `--trust` does. */
  readonly accepts?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where `.pith/config.yaml` is looked for, and what extensions are told of; null: nowhere. Default the user's home. */
  readonly home?: string | null;
  /** Settings above all files and the environment. */
  readonly flags?: SettingsInput;
  /** What stood on the command line after `--`: a manifest may declare it among its `switches`. */
  readonly switches?: readonly string[];
  /** What relative paths of flags and environment are relative to; default: the process's. */
  readonly workingDirectory?: string;
  readonly clock?: Clock;
  /** Serialise every argument and result of extensions. */
  readonly wire?: boolean;
  /** Where extensions run: as they are granted (default), or all of them in the tier named here. */
  readonly isolation?: Tier | 'granted';
  /** False: without the extensions, agents and skills that ship with Pith. */
  readonly shipped?: boolean;
  /** Replaces every model. */
  readonly model?: { readonly model: LanguageModel; readonly contextWindow: number | null };
  /** The kernel's own commands, offered to extensions beside those of extensions. */
  commands?(kernel: Kernel): readonly Command[];
}

/** One sandbox, running. */
export interface Kernel {
  /** The sandbox that it works in; a restricted one is not that of `trust.opened`. */
  readonly sandbox: string;
  readonly trust: Trust;
  readonly settings: Settings;
  readonly events: Events;
  readonly clock: Clock;
  readonly threads: Threads;
  /** What people are asked, and their answers. Only a person's command may answer. */
  readonly approvals: PersonApprovals;
  readonly host: Host;
  readonly agents: AgentRegistry;
  readonly router: ModelRouter;
  /** The one way to run an agent. Never throws; the last event is `turn-end`. */
  runTurn(request: TurnRequest, signal?: AbortSignal): AsyncIterable<TurnEvent>;
  /** What a turn would send, without sending or writing anything. */
  preview(request: PreviewRequest): Promise<PromptPreview>;
  toolsOf(agentId: string): Promise<readonly OfferedTool[]>;
  /** Calls one tool as an agent would; what needs approval is refused unless `user` can ask a person. */
  callTool(user: ToolUser, name: string, input: JsonValue, signal?: AbortSignal): Promise<ToolResult>;
  /** Shortens a thread now. Rejects `thread_unknown`. */
  compact(threadId: string, signal?: AbortSignal): Promise<{ readonly tokensBefore: number; readonly tokensAfter: number }>;
  doctor(): Promise<DoctorReport>;
  /** What is wrong in the settings and with what was found. Loads nothing. */
  findings(): readonly Diagnostic[];
  /** What a person should know before a conversation: wrong settings, extensions and agents that cannot run or of which something was ignored. */
  problems(): Promise<readonly Diagnostic[]>;
  readonly restarts: Restarts;
  /** Starts services, deliveries and schedules, and watches the sandbox. */
  start(): Promise<void>;
  /** Starts only what is used, for a turn or two; what is published durably waits for a process that starts all. */
  startUsed(): Promise<void>;
  /** Releases everything, at most ten seconds. Once; never rejects. */
  stop(): Promise<void>;
}

/** Restarts of the kernel's process: asked for by whoever needs one, given by what runs it. */
export interface Restarts {
  /** False where nothing could start the kernel again. */
  ask(reason: string): boolean;
  handle(give: (reason: string) => void): () => void;
}

export function createRestarts(): Restarts {
  const givers = new Set<(reason: string) => void>();
  return {
    ask(reason) {
      for (const give of givers) give(reason);
      return givers.size > 0;
    },
    handle(give) {
      givers.add(give);
      return () => void givers.delete(give);
    },
  };
}
