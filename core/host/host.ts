import type { ContextSource, AgentDeclaration, ExtensionsPort, ExtensionState } from '../agents/ports.ts';
import { PithError } from '../contract/errors.ts';
import type {
  AgentSpec, ChannelProvider, Command, CommandContext, Diagnostic, Failure, JsonValue, ModelProvider, Off, Remote, SkillProvider, ToolCall, ToolDescriptor, ToolResult,
} from '../contract/index.ts';
import type { DeclaredCommand, DeclaredModel, ExtensionStatus, HostOptions } from './host-options.ts';

/** A bundle of its own that makes commands without activating their extension. */
export type CommandEntry = (context: CommandContext) => readonly Command[] | Promise<readonly Command[]>;

/** All extensions of a sandbox. Discovers and orders them when made; loads code when it is needed. */
export class ExtensionHost implements ExtensionsPort {
  readonly #options: HostOptions;
  private constructor(options: HostOptions) {
    this.#options = options;
  }
  static async create(options: HostOptions): Promise<ExtensionHost> {
    return new ExtensionHost(options);
  }
  ids(): readonly string[] { return todo(this.#options); }
  state(extensionId: string): ExtensionState | undefined { return todo(extensionId); }
  tools(extensionId: string): Promise<readonly ToolDescriptor[]> { return todo(extensionId); }
  callTool(extensionId: string, tool: string, input: JsonValue, call: Omit<ToolCall, 'signal'>, signal: AbortSignal): Promise<ToolResult> { return todo(extensionId, tool, input, call, signal); }
  needsApproval(extensionId: string, tool: string, input: JsonValue): Promise<boolean> { return todo(extensionId, tool, input); }
  presentTool(extensionId: string, tool: string, result: ToolResult): Promise<string | undefined> { return todo(extensionId, tool, result); }
  contexts(): Promise<readonly ContextSource[]> { return todo(); }
  skills(): Promise<Remote<SkillProvider> | null> { return todo(); }
  checkAgentKeys(spec: AgentSpec): Promise<readonly Diagnostic[]> { return todo(spec); }
  /** Every declared extension, sorted by id. Loads nothing. */
  list(): readonly ExtensionStatus[] { return todo(); }
  /** null: nothing declares this id. */
  show(extensionId: string): ExtensionStatus | null { return todo(extensionId); }
  /** Loads, constructs and initialises it with what it depends on. Never rejects: the status says what came of it. */
  activate(extensionId: string): Promise<ExtensionStatus> { return todo(extensionId); }
  /** Every enabled extension, side by side. */
  activateAll(): Promise<readonly ExtensionStatus[]> { return todo(); }
  /** By hand, also when nothing changed; closes an open breaker. Rejects `not_found`. */
  reload(extensionId: string): Promise<ExtensionStatus> { return todo(extensionId); }
  failures(): readonly Failure[] { return todo(); }
  /** What manifests declare, of enabled extensions. */
  commands(): readonly DeclaredCommand[] { return todo(); }
  /** Bundles and imports a command entry; activates nothing. Rejects with the reason. */
  importCommandEntry(extensionId: string, entry: string): Promise<CommandEntry> { return todo(extensionId, entry); }
  commandContext(extensionId: string): CommandContext { return todo(extensionId); }
  /** The commands of an activated extension. Rejects `provider_unavailable`. */
  commandsOf(extensionId: string): Promise<readonly Command[]> { return todo(extensionId); }
  agents(): readonly AgentDeclaration[] { return todo(); }
  models(): readonly DeclaredModel[] { return todo(); }
  /** Models are passed by reference. Rejects `provider_unavailable`. */
  modelProvider(extensionId: string): Promise<ModelProvider> { return todo(extensionId); }
  channels(): Promise<readonly Remote<ChannelProvider>[]> { return todo(); }
  /** Looks at the disk and reloads what changed. Returns the ids of extensions and agents that did. */
  refresh(): Promise<ReadonlySet<string>> { return todo(); }
  /** As `refresh`, when the last look began longer ago; does not wait for a reload that hangs. */
  refreshIfOlderThan(ms: number): Promise<void> { return todo(ms); }
  /** Refreshes when a folder changes, and every five seconds, until `stop`. */
  watch(): Promise<void> { return todo(); }
  /** Starts what has `start` or a service, now and for what is activated later. */
  startServices(): Promise<void> { return todo(); }
  /** Told the ids of extensions and agents whose declaration or state changed. */
  onChange(listener: (ids: ReadonlySet<string>) => void): Off { return todo(listener); }
  /** Stops all, dependents first; never rejects. */
  stop(): Promise<void> { return todo(); }
}

function todo(...parts: unknown[]): never {
  throw new PithError('internal', `not built yet (${parts.length})`);
}
