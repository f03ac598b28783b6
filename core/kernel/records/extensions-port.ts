import type { TemplateVariables } from '@pith/guarded-templates';
import type {
  AgentsApi,
  AgentSpec,
  ApprovalQuestion,
  CompactionProvider,
  ContextParts,
  Diagnostic,
  JsonValue,
  LanguageModel,
  ModelProvider,
  Remote,
  SkillProvider,
  Tool,
  ToolCall,
  ToolResult,
  Toolset,
  TurnEndReason,
  TurnInfo,
  TurnRequest,
  TurnTool,
} from '../../contract/index.ts';

/** What the kernel keeps of a tool: plain data. */
export interface ToolDescriptor {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly effect: NonNullable<Tool['effect']>;
  /** `maybe` means that the tool must be asked with the input. */
  readonly needsApproval: 'never' | 'always' | 'maybe';
  readonly timeoutMs: number;
  readonly optIn: boolean;
  /** It also stands for each agent with `integration_mode: tool` that its caller may call. */
  readonly agentTools?: true;
  /** It gives its name up for a tool that ships. */
  readonly yields?: true;
  readonly permission: NonNullable<Tool['permission']>;
}

/** What a declared extension is at this moment. `idle`: declared and healthy, its code not loaded yet. */
export type ExtensionState = 'active' | 'idle' | 'failed' | 'blocked' | 'disabled';

export function canRun(state: ExtensionState | undefined): boolean {
  return state === 'active' || state === 'idle';
}

/** A context provider as a turn uses it: timed and isolated by the host. */
export interface ContextSource {
  readonly extensionId: string;
  readonly priority: number;
  readonly placement: 'system' | 'turn';
  /** Rejects `provider_timeout` or `provider_failed`, which the host has recorded already. */
  getContext(prompt: string, turn: TurnInfo, signal: AbortSignal): Promise<string | ContextParts | null>;
}

/** A text that comes in pieces, cleaned of secrets. */
export interface CleanStream {
  /** What can be shown of what has come until now. */
  feed(piece: string): string;
  /** The rest: nothing more comes. */
  end(): string;
}

/** Takes the values of declared secrets out of what models say: a server may repeat its key. */
export interface Cleaning {
  redact(text: string): string;
  /** null while there is nothing to hide. */
  stream(): CleanStream | null;
}

/** The prompt template of an agent that an extension brought, and the plain values for it. */
export interface BroughtPrompt {
  readonly text: string;
  readonly file: string | null;
  readonly variables: TemplateVariables;
}

/** What agents need of extensions; the host implements it. */
export interface ExtensionsPort {
  readonly cleaning: Cleaning;
  /** Ids of all declared extensions, sorted. */
  ids(): readonly string[];
  /** undefined: nothing declares this id. */
  state(extensionId: string): ExtensionState | undefined;
  /** Whether its code is neither shipped nor let into the kernel by a person. */
  isForeign(extensionId: string): boolean;
  /** Whether what it names, an agent or an extension, ships under this id: an equal name of others gives way. */
  keepsNames(id: string): boolean;
  /** Digest of the sources that run, or would; null: nothing declares this id. */
  sourceOf(extensionId: string): string | null;
  /** From the index where it is valid, else by loading the extension. Rejects `provider_unavailable` with the reason. */
  tools(extensionId: string): Promise<readonly ToolDescriptor[]>;
  /** Ids of those that this agent names and that have tools of one turn, sorted. Loads none that is known to have no such tools. */
  turnToolProviders(agent: AgentSpec): Promise<readonly string[]>;
  /** What `getTurnTools` says, in its shape. Rejects `provider_timeout` or `provider_failed`, which the host has recorded already. */
  turnTools(extensionId: string, turn: TurnInfo, signal: AbortSignal): Promise<readonly TurnTool[]>;
  /**
   * The tools of a toolset, loaded where it is not yet; `extensionId` is `toolset:<id>`. `notes` say which of its modules bring none, and
   * why. Rejects with the reason where none does.
   */
  openToolset(
    providerId: string,
    toolset: Toolset,
  ): Promise<{ readonly extensionId: string; readonly tools: readonly ToolDescriptor[]; readonly notes?: readonly Diagnostic[] }>;
  /** Never fails: a throw is `tool_failed`, a cut `tool_timeout`, an abort `aborted`, a reload under way `interrupted`, a missing tool `tool_gone`. */
  callTool(extensionId: string, tool: string, input: JsonValue, call: Omit<ToolCall, 'signal'>, signal: AbortSignal): Promise<ToolResult>;
  /** A text or a question means yes, and is for the person who is asked. */
  needsApproval(extensionId: string, tool: string, input: JsonValue, turn: TurnInfo): Promise<boolean | string | ApprovalQuestion>;
  /** Why the tool's schema refuses this input; null when it takes it, or could not be asked. */
  refusal(extensionId: string, tool: string, input: JsonValue): Promise<string | null>;
  /** The tool's own line for a terminal; undefined where it has none or throws. */
  presentTool(extensionId: string, tool: string, result: ToolResult): Promise<string | undefined>;
  /** All context providers that can run now, sorted by priority, then id. Those that fail to load are recorded and left out. */
  contexts(): Promise<readonly ContextSource[]>;
  /** Tells an extension that provides `turn`; nothing else is asked. Never rejects: what fails is recorded. */
  beginTurn(extensionId: string, turn: TurnInfo): Promise<void>;
  endTurn(extensionId: string, turn: TurnInfo, reason: TurnEndReason): Promise<void>;
  /** null when no extension that can run provides it. */
  compaction(): Promise<Remote<CompactionProvider> | null>;
  /** null when no extension that can run provides skills. */
  skills(): Promise<Remote<SkillProvider> | null>;
  /** Renders where the code of `extensionId` runs: never in the kernel, unless that code runs there too. Rejects `prompt_invalid`. */
  renderPrompt(extensionId: string, prompt: BroughtPrompt, signal: AbortSignal): Promise<string>;
  /** Checks `agent.keys` with the extensions that own them; `keys`: without what is wrong in them. */
  checkAgentKeys(spec: AgentSpec): Promise<{ readonly notes: readonly Diagnostic[]; readonly keys: AgentSpec['keys'] }>;
}

/** An agent as a file declares it. `spec` is null when the file is broken; then `diagnostics` say why. */
export interface AgentDeclaration {
  readonly id: string;
  readonly spec: AgentSpec | null;
  readonly diagnostics: readonly Diagnostic[];
  readonly file: string;
  /** `[line, column]` of every key and item of `file`, by its path joined with dots, where they are known. */
  readonly positions?: Readonly<Record<string, readonly [number, number]>>;
}

/** The extension outside the kernel that asks for a turn. The host writes it; nothing that such an extension sends can. */
export interface TurnOrigin {
  readonly extensionId: string;
  /** Agents that a person lets it start. */
  readonly agents: readonly string[];
}

/** A request as the kernel passes it on: with who made it, where that is not the kernel's own code. */
export type OriginalRequest = TurnRequest & { readonly origin?: TurnOrigin };

/** `AgentsApi` with the origin of a request, which the host writes. */
export interface HostAgents extends Omit<AgentsApi, 'run'> {
  run(request: OriginalRequest, signal?: AbortSignal): ReturnType<AgentsApi['run']>;
}

/** A prefix that an extension offers models under, in the words of its manifest. */
export interface DeclaredModel {
  readonly extensionId: string;
  /** Of an extension that ships, or of one by which a person replaces it. */
  readonly shipped: boolean;
  readonly prefix: string;
  /** Chosen without settings when all of these are set. */
  readonly when_env: readonly string[];
  /** Chosen without settings when the extension finds a local server. */
  readonly when_local: boolean;
  /** Higher wins. */
  readonly rank: number;
  /** The model taken when only the prefix is known; absent: the first that the provider lists. */
  readonly default?: string;
}

export interface ModelParts {
  readonly model: LanguageModel;
  readonly contextWindow: number | null;
}

/** The models of one extension. Each call goes to the version that runs then. */
export interface RoutedProvider extends Pick<ModelProvider, 'models' | 'findLocal'> {
  getModel(name: string, prefix: string): Promise<ModelParts>;
}

/** Another extension, as `context.use` and `context.find` must know it without waiting. */
export interface ProviderFacts {
  readonly id: string;
  readonly provides: readonly string[];
  readonly constants: Readonly<Record<string, unknown>>;
  /** It runs or could run now. */
  readonly reachable: boolean;
}

/** One member of a provider, as code in a separate process asks for it. */
export interface ProviderMember {
  readonly extensionId: string;
  readonly protocol: string;
  readonly name: string;
}
