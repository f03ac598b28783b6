import type { Diagnostic, Events, JsonValue, Logger, ToolDescriptor, ToolResult, TurnEvent, TurnRequest } from '../contract/index.ts';
import type { AgentRegistry, AgentStatus } from '../agents/registry/registry.ts';
import type { Discovery } from '../host/discovery/declaration.ts';
import type { ToolUser } from '../agents/tools/tool-caller.ts';
import type { ExtensionStatus } from '../host/host-options.ts';
import type { ProbeReport } from '../host/probe/report.ts';
import type { Unconfined } from '../host/toolsets/toolsets.ts';
import type { Settings } from '../host/settings/settings.ts';
import type { SetupPort } from '../host/setup/setup-port.ts';
import type { Choice } from '../models/choice.ts';
import type { Restarts } from '../restarts.ts';
import type { AttendedApprovals } from '../threads/attendance.ts';
import type { Trust } from '../trust/index.ts';
import type { Threads } from '../threads/thread.ts';

/** What the commands use of the kernel. `Kernel` has it all; tests may have less. */
export interface KernelPort {
  readonly sandbox: string;
  readonly trust: Pick<Trust, 'level' | 'opened' | 'why' | 'allow' | 'agree'>;
  readonly settings: Pick<Settings, 'default_agent' | 'data_dir' | 'extensions' | 'origins'>;
  readonly events: Pick<Events, 'handle'>;
  readonly threads: Pick<Threads, 'list' | 'load' | 'unfinished'>;
  readonly approvals: AttendedApprovals;
  readonly extensions: ExtensionsOfKernel;
  readonly agents: Pick<AgentRegistry, 'list'>;
  readonly router: { choose(): Promise<Choice>; resolve(reference: string): Promise<Choice> };
  runTurn(request: TurnRequest, signal?: AbortSignal): AsyncIterable<TurnEvent>;
  preview(request: {
    readonly agent: string;
    readonly input: string;
    readonly threadId?: string;
    readonly channelId?: string;
  }): Promise<Preview>;
  toolsOf(
    agentId: string,
  ): Promise<readonly { readonly modelName: string; readonly extensionId: string; readonly descriptor: ToolDescriptor }[]>;
  callTool(user: ToolUser, name: string, input: JsonValue, signal?: AbortSignal): Promise<ToolResult>;
  compact(threadId: string, signal?: AbortSignal): Promise<{ readonly tokensBefore: number; readonly tokensAfter: number }>;
  doctor(): Promise<Doctor>;
  probe(directory: string, signal?: AbortSignal): Promise<ProbeReport>;
  /** Why no sandbox holds the code of a trial; null: one does. */
  unconfined(): Promise<string | null>;
  findings(): readonly Diagnostic[];
  /** What asks for a restart of this process, and who can give it. */
  readonly restarts: Restarts;
  start(): Promise<void>;
  startUsed(): Promise<void>;
  stop(): Promise<void>;
}

export interface ExtensionsOfKernel {
  list(): readonly ExtensionStatus[];
  show(extensionId: string): ExtensionStatus | null;
  reload(extensionId: string): Promise<ExtensionStatus>;
  waitingToolset(skillId: string): Promise<Unconfined | null>;
  readonly discovery: Pick<Discovery, 'declarations'>;
  logger(name: string): Logger;
  readonly setup: Omit<SetupPort, 'stored'>;
}

/** DESIGN's shape of `agents prompt --json`. */
export interface Preview {
  readonly system: string;
  readonly messages: readonly JsonValue[] | readonly object[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly inputSchema: unknown }[];
  readonly tokens: { readonly total: number; readonly parts: readonly { readonly name: string; readonly tokens: number }[] };
}

/** The shape of `doctor --json`. */
export interface Doctor {
  readonly ok: boolean;
  readonly model: Choice;
  readonly extensions: readonly (Pick<ExtensionStatus, 'id' | 'state' | 'phase' | 'code' | 'message' | 'file' | 'line' | 'cure'> &
    Partial<Pick<ExtensionStatus, 'notes' | 'tier'>>)[];
  readonly agents: readonly {
    readonly id: string;
    readonly state: AgentStatus['state'];
    readonly code?: string;
    readonly message?: string;
    readonly file?: string;
    readonly line?: number;
    readonly cure?: string;
    readonly notes?: readonly Diagnostic[];
  }[];
  readonly skills: { readonly [state: string]: number | undefined };
  readonly notes?: readonly Diagnostic[];
}
