import type { Diagnostic, JsonValue } from './errors.ts';
import type { ModelCallOptions, ModelInfo } from './model.ts';
import { constant, defineInProcess, defineProtocol, method } from './protocol.ts';
import type { ToolCall, ToolPermission, ToolResult } from './tool.ts';
import type { AgentSpec, Message, Retain, TurnEndReason, TurnInfo } from './turn.ts';

/** A whole text that a message needs, such as the instructions of a skill: `key` names it, and `digest` changes with it. */
interface ContextDocument extends Retain {
  readonly text: string;
  /** Said in the message where the text has no room, such as how it can be had; else only that it is left out. */
  readonly fallback?: string;
  /** One line for people, shown when the text is given. */
  readonly label?: string;
}

/** Text for both places at once, for a provider that has a stable part and one that depends on the message. */
export interface ContextParts {
  /** Part of the system text. Must not depend on the user's message: identical inputs give identical bytes. */
  readonly system?: string;
  /** Comes after the history, before the user's text, and is stored with that message. At most 400 tokens. */
  readonly turn?: string;
  /**
   * Come before the turn part and are stored with the message, never cut. Those that do not fit a quarter of the model's window are left out,
   * as the message and a notice say; `turn.started` names the others. Once `turn.compactions` has grown, they may be gone.
   */
  readonly documents?: readonly ContextDocument[];
}

/** Puts text before the model on every turn. */
export interface ContextProvider {
  /** Ascending order among all providers: channel 0, skill catalog 60, memory 100. */
  readonly contextPriority: number;
  /** Where a plain string goes; default `system`. */
  readonly placement?: 'system' | 'turn';
  /** null adds nothing. Cut after one second; a throw leaves this provider out of the turn. */
  getContext(prompt: string, turn: TurnInfo, signal?: AbortSignal): Promise<string | ContextParts | null>;
  /** Lines for people where a conversation begins; null: nothing to say. Cut after one second. */
  banner?(signal?: AbortSignal): Promise<string | null>;
}

export const ContextProvider = defineInProcess<ContextProvider>('context', {
  contextPriority: constant(),
  placement: constant({ optional: true }),
  getContext: method({ timeoutMs: 1000, signalAt: 2 }),
  banner: method({ optional: true, timeoutMs: 1000, signalAt: 0 }),
});

/** Notified where each turn begins and ends. Every turn loads it before it publishes anything. */
export interface TurnProvider {
  /** Comes before the turn asks any extension, and again where it goes on after a question or a restart. Cut after one second; a throw changes nothing. */
  beginTurn?(turn: TurnInfo): void | Promise<void>;
  /** Comes once for each `beginTurn`, unless the program was killed; `awaiting_approval`: it may go on. Cut after one second. */
  endTurn?(turn: TurnInfo, reason: TurnEndReason): void | Promise<void>;
}

export const TurnProvider = defineInProcess<TurnProvider>('turn', {
  beginTurn: method({ optional: true, timeoutMs: 1000 }),
  endTurn: method({ optional: true, timeoutMs: 1000 }),
});

/** A tool call that the gate looks at. Plain data of its own: what a guard changes in it changes nothing. */
interface GuardedCall extends Pick<ToolCall, 'turn' | 'idempotencyKey'> {
  /** `extension/tool`. */
  readonly tool: string;
  readonly input: JsonValue;
  readonly effect: 'read' | 'idempotent' | 'write';
  /** The outermost agent first, the calling one last. */
  readonly agents: readonly string[];
}

/** Looks at every tool call before it runs, and may only narrow: refuse it, or have a person asked. While one that is switched on cannot answer, only tools that read run. */
export interface ToolGuard {
  /** null: no objection, and nothing else is. The reason reaches the model and the person. Asked again when a call that waited for a person goes on. Cut after one second. */
  beforeToolCall(call: GuardedCall, signal?: AbortSignal): Verdict | Promise<Verdict>;
  /** What came of a call that it was asked about. Cut after one second; a throw changes nothing. */
  afterToolCall?(call: GuardedCall, result: ToolResult): void | Promise<void>;
  /** Comes at the end of every turn while it runs; `awaiting_approval`: it may go on. Cut after one second; a throw changes nothing. */
  turnEnded?(turn: TurnInfo, reason: TurnEndReason): void | Promise<void>;
}

type Verdict = null | { readonly deny: string } | { readonly ask: string };

export const ToolGuard = defineInProcess<ToolGuard>('guard', {
  beforeToolCall: method({ timeoutMs: 1000, signalAt: 1 }),
  afterToolCall: method({ optional: true, timeoutMs: 1000 }),
  turnEnded: method({ optional: true, timeoutMs: 1000 }),
});

interface CompactedMessage {
  readonly message: Message;
  /** What is whole in it: in the results of tools under the ids of their calls, elsewhere under any name. */
  readonly retain: Readonly<Record<string, Retain>>;
}

interface CompactionRequest extends Pick<ModelInfo, 'contextWindow'> {
  /** Oldest first, as the model is sent them. A document next to a user's text is a part with `providerOptions.pith.document`. */
  readonly messages: readonly (CompactedMessage & { readonly tokens: number; readonly isSummary: boolean })[];
  /** Of the system text and the tools, which are before the messages. */
  readonly fixedTokens: number;
  /** A person asks for it, or the model has refused the prompt: do all that can be done. */
  readonly force: boolean;
}

interface CompactionRecipe {
  /** How many of the oldest messages are replaced, by `messages`. A call and its result stay together. */
  readonly replaced: number;
  readonly messages: readonly CompactedMessage[];
  /** What the agent's model is asked first. Its answer, or `otherwise` where it has none, becomes the second part of the first of `messages`, a user's. null: nothing. */
  readonly summary: { readonly ask: Pick<ModelCallOptions, 'prompt' | 'maxOutputTokens'>; readonly otherwise: string } | null;
}

/** Says how to shorten a conversation that fills its model's window. One extension is asked; of several, one that ships or that a person let into the kernel. */
export interface CompactionProvider {
  /** null: nothing to gain. The kernel asks the model, and writes the messages where they are shorter than before. */
  compact(request: CompactionRequest, signal?: AbortSignal): Promise<CompactionRecipe | null>;
}

export const CompactionProvider = defineInProcess<CompactionProvider>('compaction', { compact: method({ signalAt: 1 }) });

interface SkillContent {
  readonly id: string;
  readonly name: string;
  readonly version: string | null;
  /** Hex digest of the bytes of SKILL.md. */
  readonly sha256: string;
  /** What follows the frontmatter, byte for byte. Data, never a template. */
  readonly body: string;
  /** Set when the skill is gone or broken and this is the last good body. */
  readonly stale?: string;
}

interface SkillSummary {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly path: string;
  readonly state: 'offered' | 'draft' | 'shadowed' | 'disabled' | 'untrusted' | 'invalid';
  /** Estimated from the file's size until the body has been read. */
  readonly tokens: number;
  readonly version?: string;
  readonly reason?: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** Knows skills by id. Publishes `provider.changed` when they change. */
export interface SkillProvider {
  /** Accepts an id or a unique name. Rejects `skill_not_found`, `skill_not_offered` (with state and cure) or `skills_disabled`. */
  getSkillContent(id: string, signal?: AbortSignal): Promise<SkillContent>;
  /** All skills in every state, sorted by id. */
  listSkills(signal?: AbortSignal): Promise<readonly SkillSummary[]>;
  /** Ids of the skills that this agent may read, sorted. Without it an agent made at run time gets none but its creator's bound ones. */
  readableSkills?(agent: AgentSpec, signal?: AbortSignal): Promise<readonly string[]>;
  /** Findings of lint mode for the folder at `path`; never rejects. */
  validateSkill(path: string, signal?: AbortSignal): Promise<readonly Diagnostic[]>;
}

export const SkillProvider = defineProtocol<SkillProvider>('skill', {
  getSkillContent: method({ signalAt: 1 }),
  listSkills: method({ signalAt: 0 }),
  readableSkills: method({ optional: true, signalAt: 1 }),
  validateSkill: method({ signalAt: 1 }),
});

/** Work in the background while the kernel serves or chats. */
export interface ServiceProvider {
  /** Resolves when `signal` aborts. A rejection restarts it with back-off; three in five minutes stop it. */
  runBackground(signal: AbortSignal): Promise<void>;
}

export const ServiceProvider = defineInProcess<ServiceProvider>('service', { runBackground: method({ timeoutMs: null }) });

export interface ChannelMessage {
  /** The same for each attempt to deliver it; absent: it is delivered once. */
  readonly key?: string;
  readonly text: string;
  readonly kind: string;
  readonly threadId?: string;
  /** The question that `pith approvals` answers: a channel that shows it already need not show it again. */
  readonly approvalId?: string;
}

/** Reaches people outside a turn: notices, questions, results of runs. */
export interface ChannelProvider {
  /** Targets it can reach: `terminal`, `web`, … */
  readonly kinds: readonly string[];
  /** Returns a reference to what was delivered. Rejects when nobody could be reached. */
  deliver(message: ChannelMessage, target: string): Promise<string>;
  react?(reference: string, emoji: string): Promise<void>;
  filters?(): Promise<readonly string[]>;
}

export const ChannelProvider = defineProtocol<ChannelProvider>('channel', {
  kinds: constant(),
  deliver: method(),
  react: method({ optional: true }),
  filters: method({ optional: true }),
});

export interface SetupSchema {
  readonly title: string;
  readonly fields: readonly {
    /** snake_case; also what `--set name=value` says. */
    readonly name: string;
    readonly description: string;
    readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'secret';
    readonly choices?: readonly string[];
    /** For `secret`: the declared name under which the value is kept; it reaches the extension by `getSecret` alone. */
    readonly secret?: string;
    /** What is set now; null: nothing. Absent for secrets. */
    readonly current?: JsonValue;
  }[];
}

/** Settings by dotted path: `extensions.<id>.…`, and of models that it offers `providers.<prefix>.…` and `models.…`. null takes one out. */
export type SettingsChange = Readonly<Record<string, JsonValue>>;

/** A kind of server with models, as a person chooses it. */
interface ModelServer {
  readonly title: string;
  readonly prefix: string;
  /** The declared name under which its key is kept; null: it takes none. */
  readonly secret: string | null;
  readonly asksAddress: boolean;
  /** It is where its extension looks without a setting: choosing it takes `base_url` out of the settings. */
  readonly isDefault?: true;
  /** It runs on this machine, where `findLocal` finds it. */
  readonly isLocal: boolean;
}

/** Can be set up by a person (`pith setup ID`) or by an agent that a person approves. */
export interface SetupProvider {
  getSetupSchema(): SetupSchema | Promise<SetupSchema>;
  /** What a value of a field means for the settings. The kernel checks and writes it. Rejects with why the value is refused. */
  applyConfig(name: string, value: JsonValue): SettingsChange | Promise<SettingsChange>;
  /** Called when all has been written and the extension reloaded: a line for the person, or null. Rejects with what does not work yet. */
  onSetupComplete(): Promise<string | null> | string | null;
  /** Servers whose models it reaches, for a person who connects one (`pith setup`). */
  getModelServers?(): readonly ModelServer[] | Promise<readonly ModelServer[]>;
  /** Models that a server has now, by what a person has typed; null: as it is set; an empty address: as without a setting. Rejects `model_auth` and `model_unreachable`. */
  askModels?(
    asked: { readonly prefix: string; readonly address: string | null; readonly key: string | null },
    signal?: AbortSignal,
  ): Promise<readonly string[]>;
}

export const SetupProvider = defineInProcess<SetupProvider>('setup', {
  getSetupSchema: method(),
  applyConfig: method(),
  onSetupComplete: method({ timeoutMs: 30_000 }),
  getModelServers: method({ optional: true }),
  askModels: method({ optional: true, signalAt: 1, timeoutMs: 30_000 }),
});

interface ExtensionFacts {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly state: string;
  readonly provides: readonly string[];
  readonly finding: Diagnostic | null;
}

/** Settings and secrets of extensions, as a person changes them. The kernel answers it to what runs in its process: `context.use(ExtensionSettings)`. */
export interface ExtensionSettings {
  /** Every extension, sorted by id. `finding`: what keeps it, or what was written of it last, from running. */
  list(): Promise<readonly ExtensionFacts[]>;
  /**
   * Checks by the schema of the extension, writes settings, reloads and resolves the file that was written. `agent`: neither rights nor what says
   * who gets a secret may be set. Rejects `not_found`, `not_allowed` and `config_invalid`, also where the person's own settings keep what is to be taken out.
   */
  write(extensionId: string, changes: SettingsChange, by: 'person' | 'agent'): Promise<string>;
  /** Keeps a declared secret for those to whom this extension sends it now. Rejects `not_declared`. */
  keepSecret(extensionId: string, name: string, value: string): Promise<void>;
}

export const ExtensionSettings = defineInProcess<ExtensionSettings>('settings', { list: method(), write: method(), keepSecret: method() });

/** `spec` is null where `diagnostics` say why there is none. */
interface DynamicAgent {
  readonly id: string;
  readonly spec: (Omit<AgentSpec, 'limits'> & { readonly limits?: Partial<AgentSpec['limits']> }) | null;
  readonly diagnostics: readonly Diagnostic[];
  /** What a person edits to change it. */
  readonly file: string;
  /** `[line, column]` in `file` by the dotted path of a manifest (`agent.uses_tools.0`), where they are known. */
  readonly positions?: Readonly<Record<string, readonly [number, number]>>;
}

/** Declares agents beside those of manifests. Publishes `provider.changed` when they change without a file of `agent_files` being edited. */
export interface AgentProvider {
  /** All its agents as they are now, asked when one is named that no manifest declares, and when all are listed. `files`: those of its `agent_files` that count, absolute. */
  listAgents(files: readonly string[], signal?: AbortSignal): Promise<readonly DynamicAgent[]>;
}

export const AgentProvider = defineInProcess<AgentProvider>('agents', { listAgents: method({ timeoutMs: 5000, signalAt: 1 }) });

/** An extension that another one declares: in a separate process, with tools, and with nothing that it may ask for. */
export interface DynamicDeclaration {
  /** Absolute: where its modules are, which none leaves, and what people correct. */
  readonly folder: string;
  readonly file: string;
  /** `id`: `<word>:<name>`, which `*` in `uses_tools` does not mean. With `@` and 12 hex digits behind it, it is a version: what rules say of `<word>:<name>` holds for it too. */
  readonly manifest: { readonly id: string; readonly name?: string; readonly description?: string };
  /** The text of its entrypoint, which imports `pith`, the contract of who declares it, and modules of `folder`. An `import()` of a faulty one rejects. */
  readonly main: string;
}

/** Declares extensions beside those of folders. Publishes `provider.changed` when some of them change or go. */
export interface DeclarationProvider {
  /** All that it can declare, or the one of that id where it is there. `digest`: of the code that may run. Rejects with the reason why that one may not. */
  declarations(id: string | null): Promise<readonly (DynamicDeclaration & { readonly digest: string })[]>;
  /** What came of one that was opened: its tools, and what is wrong with it, as sentences. */
  opened(id: string, tools: readonly string[], problems: readonly string[]): Promise<void> | void;
}

export const DeclarationProvider = defineInProcess<DeclarationProvider>('declarations', {
  declarations: method({ timeoutMs: 60_000 }),
  opened: method(),
});

/** Makes bundles of what an extension in the kernel's process declares: `context.use(Bundler)`. */
export interface Bundler {
  /** Bundles the code as it is now and runs nothing. `unconfined`: why no sandbox will confine it; null when one does, or when a person switched that off. */
  inspect(
    declaration: DynamicDeclaration,
  ): Promise<{ readonly digest: string; readonly unconfined: { readonly why: string; readonly cure: string } | null }>;
}

export const Bundler = defineInProcess<Bundler>('bundler', { inspect: method() });

/** A tool, the version of its extension, and what it asks of those who name it. */
interface RegisteredTool {
  readonly extensionId: string;
  readonly version: string;
  readonly name: string;
  readonly description: string;
  readonly permission: ToolPermission;
}

/** Who may do what is kept for administrators, and which tools there are. The kernel answers it inside its process. */
export interface Permissions {
  /** Whether the settings name this user under `admins`; where they name nobody, it is the user `local`. */
  isAdmin(userId: string): Promise<boolean>;
  /** The tools of every extension that can run, loading those that are not known. What an extension that failed would have is not among them. */
  tools(): Promise<readonly RegisteredTool[]>;
}

export const Permissions = defineInProcess<Permissions>('permissions', { isAdmin: method(), tools: method({ timeoutMs: 30_000 }) });
