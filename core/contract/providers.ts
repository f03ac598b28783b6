import type { Diagnostic, JsonValue } from './errors.ts';
import type { ModelCallOptions, ModelInfo } from './model.ts';
import { constant, defineInProcess, defineProtocol, method } from './protocol.ts';
import type { ToolCall, ToolPermission, ToolResult } from './tool.ts';
import type { AgentSpec, Message, Retain, TurnEndReason, TurnInfo } from './turn.ts';

/** A whole text that a message needs, such as the instructions of a skill: `key` names it, and `digest` changes with it. */
interface ContextDocument extends Retain {
  readonly text: string;
  /** Put into the message where the text does not fit, such as how to get it; default: only that it is left out. */
  readonly fallback?: string;
  /** One line for people, shown when the text is given. */
  readonly label?: string;
}

/** Text for both places, from a provider with a stable part and one that depends on the message. */
export interface ContextParts {
  /** Part of the system text. Must not depend on the user's message: identical inputs give identical bytes. */
  readonly system?: string;
  /** Between the history and the user's text, and stored with that message. At most 400 tokens. */
  readonly turn?: string;
  /** Before the turn part; stored with the message, never cut. Those that do not fit into a quarter of the model's window are left out, as
   * the message and a notice say; `turn.started` names the others. Once `turn.compactions` has grown, they may be gone. */
  readonly documents?: readonly ContextDocument[];
}

/** Adds text for the model on every turn. */
export interface ContextProvider {
  /** Ascending order among all providers: channel 0, skill catalog 60, memory 100. */
  readonly contextPriority: number;
  /** The place of a plain string; default `system`. */
  readonly placement?: 'system' | 'turn';
  /** null adds nothing. Cut after one second; an error leaves this provider out of the turn. */
  getContext(prompt: string, turn: TurnInfo, signal?: AbortSignal): Promise<string | ContextParts | null>;
  /** Lines for people at the start of a conversation; null: nothing to say. Cut after one second. */
  banner?(signal?: AbortSignal): Promise<string | null>;
}

export const ContextProvider = defineInProcess<ContextProvider>('context', {
  contextPriority: constant(),
  placement: constant({ optional: true }),
  getContext: method({ timeoutMs: 1000, signalAt: 2 }),
  banner: method({ optional: true, timeoutMs: 1000, signalAt: 0 }),
});

/** Called when a turn begins and ends. Every turn loads it before it publishes anything. */
export interface TurnProvider {
  /** Called before the turn asks any extension, and again when it continues. Cut after one second; an error is ignored. */
  beginTurn?(turn: TurnInfo): void | Promise<void>;
  /** Called once for each `beginTurn`, unless the program was killed; `awaiting_approval`: it may continue. Cut after one second. */
  endTurn?(turn: TurnInfo, reason: TurnEndReason): void | Promise<void>;
}

export const TurnProvider = defineInProcess<TurnProvider>('turn', {
  beginTurn: method({ optional: true, timeoutMs: 1000 }),
  endTurn: method({ optional: true, timeoutMs: 1000 }),
});

/** A tool call before it runs. A copy: a guard's changes to it have no effect. */
interface GuardedCall extends Pick<ToolCall, 'turn' | 'idempotencyKey'> {
  /** `extension/tool`. */
  readonly tool: string;
  readonly input: JsonValue;
  readonly effect: 'read' | 'idempotent' | 'write';
  /** The outermost agent first, the calling one last. */
  readonly agents: readonly string[];
}

/** Checks every tool call before it runs: may refuse it, or have a person asked. While an enabled guard cannot answer, only tools that read run. */
export interface ToolGuard {
  /** The limit of each of its calls in milliseconds; default 1,000, at most 600,000. */
  readonly timeoutMs?: number;
  /** null: no objection, and nothing else is. The model and the person get the reason. Asked again when a call continues after a person's answer. */
  beforeToolCall(call: GuardedCall, signal?: AbortSignal): Verdict | Promise<Verdict>;
  /** The result of a checked call; the model reads `note` after it. An error is ignored. */
  afterToolCall?(call: GuardedCall, result: ToolResult, signal?: AbortSignal): Note | Promise<Note>;
  /** Called at the end of every turn while it runs; `awaiting_approval`: it may continue. An error is ignored. */
  turnEnded?(turn: TurnInfo, reason: TurnEndReason, signal?: AbortSignal): void | Promise<void>;
}

type Verdict = null | { readonly deny: string } | { readonly ask: string };
type Note = void | null | { readonly note: string };

export const ToolGuard = defineInProcess<ToolGuard>('guard', {
  timeoutMs: constant({ optional: true }),
  beforeToolCall: method({ timeoutMs: 1000, signalAt: 1 }),
  afterToolCall: method({ optional: true, timeoutMs: 1000, signalAt: 2 }),
  turnEnded: method({ optional: true, timeoutMs: 1000, signalAt: 2 }),
});

interface CompactedMessage {
  readonly message: Message;
  /** Its complete texts: in tool results under the ids of their calls, elsewhere under any name. */
  readonly retain: Readonly<Record<string, Retain>>;
}

interface CompactionRequest extends Pick<ModelInfo, 'contextWindow'> {
  /** Oldest first, as the model gets them. A document with a user's text is a part with `providerOptions.pith.document`. */
  readonly messages: readonly (CompactedMessage & { readonly tokens: number; readonly isSummary: boolean })[];
  /** Tokens of the system text and the tools, which precede the messages. */
  readonly fixedTokens: number;
  /** A person requested it, or the model refused the prompt: shorten as much as possible. */
  readonly force: boolean;
}

interface CompactionRecipe {
  /** How many of the oldest messages `messages` replaces. A call and its result stay together. */
  readonly replaced: number;
  readonly messages: readonly CompactedMessage[];
  /** A request to the agent's model. Its answer, else `otherwise`, becomes the second part of the first of `messages`, a user's. null: none. */
  readonly summary: { readonly ask: Pick<ModelCallOptions, 'prompt' | 'maxOutputTokens'>; readonly otherwise: string } | null;
}

/** Says how to shorten a conversation that fills its model's window. Only one is asked: shipped, or let into the kernel by a person. */
export interface CompactionProvider {
  /** null: nothing to gain. The kernel asks the model, and writes the messages if they are shorter than before. */
  compact(request: CompactionRequest, signal?: AbortSignal): Promise<CompactionRecipe | null>;
}

export const CompactionProvider = defineInProcess<CompactionProvider>('compaction', { compact: method({ signalAt: 1 }) });

interface SkillContent {
  readonly id: string;
  readonly name: string;
  readonly version: string | null;
  /** Hex digest of the bytes of SKILL.md. */
  readonly sha256: string;
  /** All after the frontmatter, byte for byte. Data, never a template. */
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

/** Finds skills by id. Publishes `provider.changed` when they change. */
export interface SkillProvider {
  /** Accepts an id or a unique name. Rejects `skill_not_found`, `skill_not_offered` (with state and cure) or `skills_disabled`. */
  getSkillContent(id: string, signal?: AbortSignal): Promise<SkillContent>;
  /** All skills in every state, sorted by id. */
  listSkills(signal?: AbortSignal): Promise<readonly SkillSummary[]>;
  /** Ids of the skills that this agent may read, sorted. Without it, an agent made at run time gets only its creator's bound ones. */
  readableSkills?(agent: AgentSpec, signal?: AbortSignal): Promise<readonly string[]>;
  /** Lint findings for the folder at `path`; never rejects. */
  validateSkill(path: string, signal?: AbortSignal): Promise<readonly Diagnostic[]>;
}

export const SkillProvider = defineProtocol<SkillProvider>('skill', {
  getSkillContent: method({ signalAt: 1 }),
  listSkills: method({ signalAt: 0 }),
  readableSkills: method({ optional: true, signalAt: 1 }),
  validateSkill: method({ signalAt: 1 }),
});

/** Background work while the kernel serves or chats. */
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
  /** Whom it concerns and what it tells of, where that is known. */
  readonly userId?: string;
  readonly threadId?: string;
  readonly about?: Readonly<Record<'kind' | 'id', string>>;
  /** The question for `pith approvals`: a channel that shows it already need not show it again. */
  readonly approvalId?: string;
}

/** Delivers to people outside a turn: notices, questions, results of runs. `filters`: values of `channelId` in its turns, besides `kinds`. */
export interface ChannelProvider {
  /** The targets that it reaches: `terminal`, `web`, … */
  readonly kinds: readonly string[];
  /** Returns a reference to the delivered message. Rejects when nobody could be reached. */
  deliver(message: ChannelMessage, target: string): Promise<string>;
  react?(reference: string, emoji: string): Promise<void>;
  /** What was delivered about this is out of date: it is shown no longer. */
  settle?(about: NonNullable<ChannelMessage['about']>): Promise<void>;
  filters?(): Promise<readonly string[]>;
}

export const ChannelProvider = defineProtocol<ChannelProvider>('channel', {
  kinds: constant(),
  deliver: method(),
  react: method({ optional: true }),
  settle: method({ optional: true }),
  filters: method({ optional: true }),
});

export interface SetupSchema {
  readonly title: string;
  readonly fields: readonly {
    /** snake_case; also the name in `--set name=value`. */
    readonly name: string;
    readonly description: string;
    readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'secret';
    readonly choices?: readonly string[];
    /** For `secret`: the declared name that stores the value; the extension gets it by `getSecret` alone. */
    readonly secret?: string;
    /** The present value; null: nothing is set. Absent for secrets. */
    readonly current?: JsonValue;
  }[];
}

/** Settings by dotted path: `extensions.<id>.…`, and of its own models `providers.<prefix>.…` and `models.…`. null removes one. */
export type SettingsChange = Readonly<Record<string, JsonValue>>;

/** A kind of model server that a person can choose. */
interface ModelServer {
  readonly title: string;
  readonly prefix: string;
  /** The name of its key; null: it needs none, or gets a name with its first one. */
  readonly secret: string | null;
  readonly asksAddress: boolean;
  readonly address?: string; // as the settings have it
  /** Its extension uses it without a setting, so choosing it removes `base_url` from the settings. */
  readonly isDefault?: true;
  /** It runs on this machine, where `findLocal` finds it. */
  readonly isLocal: boolean;
}

/** Can be set up by a person (`pith setup ID`), or by an agent with a person's approval. */
export interface SetupProvider {
  getSetupSchema(): SetupSchema | Promise<SetupSchema>;
  /** The settings for a field's value. The kernel checks and writes them. Rejects with why the value is refused. */
  applyConfig(name: string, value: JsonValue): SettingsChange | Promise<SettingsChange>;
  /** Called after the settings are written and the extension is reloaded: a line for the person, or null. Rejects with what does not work. */
  onSetupComplete(): Promise<string | null> | string | null;
  /** The servers whose models it offers, for a person who connects one (`pith setup`). */
  getModelServers?(): readonly ModelServer[] | Promise<readonly ModelServer[]>;
  /** A server's models, by what a person typed; null: as set; an empty address: no setting. Rejects `model_auth`, `model_unreachable`. */
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

/** Extensions' settings and secrets, for a person's changes. The kernel answers it inside its process: `context.use(ExtensionSettings)`. */
export interface ExtensionSettings {
  /** Every extension, sorted by id. `finding`: why it, or its latest edit, cannot run. */
  list(): Promise<readonly ExtensionFacts[]>;
  /** Checks by the extension's schema, writes settings, reloads and resolves the written file. `agent`: may set neither rights nor who gets
   * a secret. Rejects `not_found`, `not_allowed` and `config_invalid`, also where the person's own settings keep what is to be removed. */
  write(extensionId: string, changes: SettingsChange, by: 'person' | 'agent'): Promise<string>;
  /** Stores a declared secret; empty: none is needed. `use`: where it goes; default: the present recipients. Rejects `not_declared`. */
  keepSecret(extensionId: string, name: string, value: string, use?: { readonly part?: string; readonly to: string }): Promise<void>;
}

export const ExtensionSettings = defineInProcess<ExtensionSettings>('settings', { list: method(), write: method(), keepSecret: method() });

/** `spec` is null where `diagnostics` say why there is none. */
interface DynamicAgent {
  readonly id: string;
  readonly spec: (Omit<AgentSpec, 'limits'> & { readonly limits?: Partial<AgentSpec['limits']> }) | null;
  readonly diagnostics: readonly Diagnostic[];
  /** The file that a person edits to change it. */
  readonly file: string;
  /** `[line, column]` in `file` by the dotted path of a manifest (`agent.uses_tools.0`), if known. */
  readonly positions?: Readonly<Record<string, readonly [number, number]>>;
}

/** Declares agents beside those of manifests. Publishes `provider.changed` when they change without an edit of a file in `agent_files`. */
export interface AgentProvider {
  /** All its present agents; asked when one is named that no manifest declares, and when all are listed. `files`: the relevant ones of its `agent_files`, absolute. */
  listAgents(files: readonly string[], signal?: AbortSignal): Promise<readonly DynamicAgent[]>;
}

export const AgentProvider = defineInProcess<AgentProvider>('agents', { listAgents: method({ timeoutMs: 5000, signalAt: 1 }) });

/** An extension that another one declares: it has tools, runs in a separate process and can request nothing. */
export interface DynamicDeclaration {
  /** Absolute: contains its modules, none of which leaves it; people correct errors here. */
  readonly folder: string;
  readonly file: string;
  /** `id`: `<word>:<name>`, not included in `*` of `uses_tools`. With `@` and 12 hex digits after it, it is a version: rules for `<word>:<name>` apply to it too. */
  readonly manifest: { readonly id: string; readonly name?: string; readonly description?: string };
  /** The text of its entrypoint, which imports `pith`, its declarer's contract and modules of `folder`. `import()` of a faulty one rejects. */
  readonly main: string;
}

/** Declares extensions beside those of folders. Publishes `provider.changed` when some change or disappear. */
export interface DeclarationProvider {
  /** All that it can declare, or the one with that id if it exists. `digest`: of the code that may run. Rejects with why that may not. */
  declarations(id: string | null): Promise<readonly (DynamicDeclaration & { readonly digest: string })[]>;
}

export const DeclarationProvider = defineInProcess<DeclarationProvider>('declarations', { declarations: method({ timeoutMs: 60_000 }) });

/** Bundles what an extension in the kernel's process declares: `context.use(Bundler)`. */
export interface Bundler {
  /** Bundles the present code and runs nothing. `unconfined`: why no sandbox confines it; null when one does, or a person disabled that. */
  inspect(
    declaration: DynamicDeclaration,
  ): Promise<{ readonly digest: string; readonly unconfined: { readonly why: string; readonly cure: string } | null }>;
}

export const Bundler = defineInProcess<Bundler>('bundler', { inspect: method() });

/** A tool, its extension's version, and its requirements for saved skills, defaults included. */
interface RegisteredTool {
  readonly extensionId: string;
  readonly version: string;
  readonly name: string;
  readonly description: string;
  readonly permission: ToolPermission;
}

/** Who is an administrator, and which tools exist. The kernel answers it inside its process. */
export interface Permissions {
  /** Whether the settings name this user under `admins`; where they name nobody, it is the user `local`. */
  isAdmin(userId: string): Promise<boolean>;
  /** The tools of every extension that can run; loads unknown ones. Excludes those of failed extensions. */
  tools(): Promise<readonly RegisteredTool[]>;
}

export const Permissions = defineInProcess<Permissions>('permissions', { isAdmin: method(), tools: method({ timeoutMs: 30_000 }) });
