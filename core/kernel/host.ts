import {
  canRun,
  type AgentDeclaration,
  type ContextSource,
  type ExtensionsPort,
  type ExtensionState,
  type DeclaredModel,
} from './records/extensions-port.ts';
import {
  type AgentSpec,
  type ChannelProvider,
  ChannelProvider as ChannelProtocol,
  type Command,
  type CommandContext,
  CompactionProvider,
  type Diagnostic,
  ExtensionSettings,
  type Failure,
  type JsonValue,
  type Logger,
  type Off,
  PithError,
  type Remote,
  type SkillProvider,
  SkillProvider as SkillProtocol,
  type ToolResult,
  type TurnEndReason,
  type TurnInfo,
} from '../contract/index.ts';
import type { ToolDescriptor } from './records/extensions-port.ts';
import { didYouMean } from '@pith/plain-text';
import { checkAgentKeys } from './providers/agent-key-check.ts';
import type { CommandEntry } from './lifecycle/import-class.ts';
import { keepsNames, type Discovery } from './discovery/declaration.ts';
import type { HostOptions } from './host-options.ts';
import { type ExtensionStatus, declaredAgents, declaredModels, statusOf } from './providers/status.ts';
import type { DeclaredCommand } from './providers/command-names.ts';
import { createHostShell, type HostShell } from './host-shell.ts';
import { recorded, type Lifecycle } from './lifecycle/lifecycle.ts';
import { renderBrought } from './providers/prompt-port.ts';
import { activeRemotes, contextSources, modelProvider, runningRemotes } from './providers/provider-port.ts';
import { createEventHandlers, type EventHandlers } from './providers/event-handlers.ts';
import { extensionFindings } from './providers/findings.ts';
import { notesOnSandbox } from './providers/confinement-notes.ts';
import type { Refresh } from './reload/refresh.ts';
import { createReloadWatch, type ReloadWatch } from './reload/reload-watch.ts';
import type { Slot } from './lifecycle/slot.ts';
import { createSetupPort, settingsOf, type SetupPort } from './providers/setup-port.ts';
import { runOutside } from './records/stray-errors.ts';
import { tellOfTurn, turnToolProviders, turnTools } from './providers/turn-tools.ts';
import type { Unconfined } from '../toolsets/toolsets.ts';
import { callTool, knownTools, needsApproval, presentTool, refusal, toolsOf } from './providers/tool-port.ts';

/** All extensions of a sandbox. Discovers and orders them when made; loads code when it is needed. */
export class ExtensionHost implements ExtensionsPort {
  readonly #shell: HostShell;
  readonly #lifecycle: Lifecycle;
  readonly cleaning: ExtensionsPort['cleaning'];
  readonly #refresh: Refresh;
  readonly #watch: ReloadWatch;
  /** Settings and secrets, as a person changes them. */
  readonly setup: SetupPort;
  #stopping: Promise<void> | undefined;
  /** Handlers and schedules that manifests declare, and calls of them. */
  readonly handlers: EventHandlers;

  private constructor(options: HostOptions, shell: HostShell) {
    this.#shell = shell;
    this.#lifecycle = shell.lifecycle;
    this.cleaning = shell.secrets;
    this.#refresh = shell.refresh;
    this.handlers = createEventHandlers(shell.lifecycle);
    this.setup = createSetupPort(shell.lifecycle, options.secrets, (id) => this.reload(id));
    shell.spoken.set(
      ExtensionSettings.id,
      settingsOf(this.setup, () => this.list()),
    );
    this.#watch = createReloadWatch(shell.lifecycle, shell.refresh, options.source.watched);
  }

  static async create(options: HostOptions): Promise<ExtensionHost> {
    return new ExtensionHost(options, createHostShell(options, await options.source.discover(options.clock.now())));
  }

  /** As the last look at the disk found it. */
  get discovery(): Discovery {
    return this.#refresh.discovery;
  }

  /** Writes to the log of this sandbox. */
  logger(name: string): Logger {
    return this.#shell.log.logger(name);
  }

  /** `value` with the declared secrets replaced by their names; itself where there is nothing to hide. */
  readonly withoutSecrets = <T>(value: T): T => this.#shell.secrets.redactJson(value);

  /** On processes that run without the sandbox that the settings want. */
  readonly sandboxNotes = async (): Promise<readonly Diagnostic[]> => [
    ...(await notesOnSandbox(this.#shell.processes, this.list())),
    ...[...this.#shell.toolsets.unconfined().values()].map(({ diagnostic }) => diagnostic),
  ];

  /** What extensions that run say is wrong in their own matters. Loads the skills, and no further extension. Never rejects. */
  async findings(): Promise<readonly Diagnostic[]> {
    await activeRemotes(this.#lifecycle, SkillProtocol);
    return extensionFindings(this.#lifecycle);
  }

  /** Without toolsets, which nobody declares. */
  readonly ids = (): readonly string[] => idsOf([...this.#lifecycle.slots.values()].filter(({ declaration }) => !declaration.toolset));

  readonly isForeign = (extensionId: string): boolean => {
    const slot = this.#lifecycle.slots.get(extensionId);
    return slot !== undefined && this.#lifecycle.runtime.rights.isForeign(slot.declaration);
  };

  readonly keepsNames = (id: string): boolean => {
    const declaration = this.discovery.declarations.get(id);
    return declaration !== undefined && keepsNames(declaration);
  };

  readonly sourceOf = (extensionId: string): string | null => this.#lifecycle.slots.get(extensionId)?.declaration.digest ?? null; // of what runs

  state(extensionId: string): ExtensionState | undefined {
    const slot = this.#lifecycle.slots.get(extensionId);
    return slot && this.#lifecycle.stateOf(slot);
  }

  readonly tools = (extensionId: string): Promise<readonly ToolDescriptor[]> => toolsOf(this.#lifecycle, extensionId);

  /** As far as they are known without loading it. */
  readonly knownTools = (extensionId: string): readonly ToolDescriptor[] => knownTools(this.#lifecycle, extensionId);

  readonly turnToolProviders = (agent: AgentSpec): Promise<readonly string[]> => turnToolProviders(this.#lifecycle, agent);

  readonly turnTools = (id: string, turn: TurnInfo, signal: AbortSignal) => turnTools(this.#lifecycle, id, turn, signal);

  readonly openToolset: ExtensionsPort['openToolset'] = (providerId, toolset) => this.#shell.toolsets.open(providerId, toolset);

  readonly callTool: ExtensionsPort['callTool'] = (...call) => callTool(this.#lifecycle, ...call);

  readonly needsApproval = (id: string, tool: string, input: JsonValue, turn: TurnInfo) =>
    needsApproval(this.#lifecycle, id, tool, input, turn);

  readonly refusal = (id: string, tool: string, input: JsonValue): Promise<string | null> => refusal(this.#lifecycle, id, tool, input);

  readonly presentTool = (id: string, tool: string, result: ToolResult) => presentTool(this.#lifecycle, id, tool, result);

  readonly beginTurn = (id: string, turn: TurnInfo) => tellOfTurn(this.#lifecycle, id, 'turn.beginTurn', [turn]);

  readonly endTurn = (id: string, turn: TurnInfo, reason: TurnEndReason) => tellOfTurn(this.#lifecycle, id, 'turn.endTurn', [turn, reason]);

  readonly contexts = (): Promise<readonly ContextSource[]> => contextSources(this.#lifecycle);

  async compaction(): Promise<Remote<CompactionProvider> | null> {
    const found = await activeRemotes(this.#lifecycle, CompactionProvider);
    return found.find(({ extensionId }) => !this.isForeign(extensionId)) ?? found[0] ?? null;
  }

  async skills(): Promise<Remote<SkillProvider> | null> {
    const provider = (await activeRemotes(this.#lifecycle, SkillProtocol))[0];
    if (provider === undefined) return null;
    // Bodies stand in prompts.
    return { ...provider, getSkillContent: async (id, signal) => this.withoutSecrets(await provider.getSkillContent(id, signal)) };
  }

  readonly renderPrompt: ExtensionsPort['renderPrompt'] = (...asked) => renderBrought(this.#lifecycle, ...asked);

  checkAgentKeys(spec: AgentSpec): ReturnType<ExtensionsPort['checkAgentKeys']> {
    return checkAgentKeys(this.#lifecycle, spec, this.discovery.declarations.get(spec.id));
  }

  /** Every declared extension and every toolset in use, sorted by id. Loads nothing. */
  list(): readonly ExtensionStatus[] {
    return idsOf(this.#lifecycle.slots.values()).flatMap((id) => this.show(id) ?? []);
  }

  /** null: nothing declares this id. */
  show(extensionId: string): ExtensionStatus | null {
    const slot = this.#lifecycle.slots.get(extensionId);
    return slot ? statusOf(this.#lifecycle, slot) : null;
  }

  /** Loads, constructs and initialises it after what it depends on. The status says what came of it; rejects `not_found`. */
  async activate(extensionId: string): Promise<ExtensionStatus> {
    const slot = this.#slot(extensionId);
    await this.#lifecycle.ready(slot).catch(recorded);
    return statusOf(this.#lifecycle, slot);
  }

  /** Every enabled extension, side by side, then every toolset of a skill that is offered. */
  async activateAll(): Promise<readonly ExtensionStatus[]> {
    const slots = [...this.#lifecycle.slots.values()].filter((slot) => canRun(this.#lifecycle.stateOf(slot)));
    await Promise.all(slots.map((slot) => this.#lifecycle.ready(slot).catch(recorded)));
    await this.#shell.toolsets.openAll();
    return this.list();
  }

  /** By hand, also when nothing changed, here and in other processes; closes an open breaker. Rejects `not_found`. */
  async reload(extensionId: string): Promise<ExtensionStatus> {
    const { ids, settled } = await this.#refresh.look();
    await settled;
    const slot = this.#slot(extensionId);
    if (!ids.has(extensionId) || !slot.current) await runOutside(() => this.#refresh.reloadByHand(extensionId));
    await this.#watch.ask(extensionId);
    return statusOf(this.#lifecycle, slot);
  }

  /** What keeps declarations from running, then what went wrong while they ran, oldest first. */
  failures(): readonly Failure[] {
    const declared = [...this.discovery.failures.values()].filter(({ extensionId }) => this.#lifecycle.slots.has(extensionId));
    return [...declared, ...this.#lifecycle.runtime.failures.all()];
  }

  /** The toolset of a skill that waits for a person, because nothing would hold its code; null: none of that id does. Opens all. */
  async waitingToolset(skillId: string): Promise<Unconfined | null> {
    await this.activateAll();
    return this.#shell.toolsets.unconfined().get(skillId) ?? null;
  }

  /** What manifests declare, of extensions that can run. */
  readonly commands = (): readonly DeclaredCommand[] => this.#shell.commands.declared();

  /** Bundles and imports a command entry; activates nothing. Rejects with the reason. */
  async importCommandEntry(extensionId: string, entry: string): Promise<CommandEntry> {
    return this.#shell.commands.importEntry(this.#slot(extensionId), entry);
  }

  /** Its `config` is as the settings have it; no schema has been applied. Throws `not_found`. */
  commandContext(extensionId: string): CommandContext {
    return this.#shell.commands.contextOf(this.#slot(extensionId));
  }

  /** The commands of an activated extension. Rejects `provider_unavailable`. */
  async commandsOf(extensionId: string): Promise<readonly Command[]> {
    return this.#shell.commands.of(this.#slot(extensionId));
  }

  /** Every enabled agent that a file declares, sorted by id. */
  readonly agents = (): readonly AgentDeclaration[] => declaredAgents(this.#lifecycle, this.discovery);

  readonly models = (): readonly DeclaredModel[] => declaredModels(this.#lifecycle);

  /** Models are passed by reference. Rejects `provider_unavailable`. */
  modelProvider(extensionId: string): ReturnType<typeof modelProvider> {
    return modelProvider(this.#lifecycle, extensionId);
  }

  /** Looks at the disk and reloads what changed. Returns the ids of extensions and agents that did. */
  async refresh(): Promise<ReadonlySet<string>> {
    const { ids, settled } = await this.#refresh.look();
    await settled;
    return ids;
  }

  /** As `refresh`, when the last look began `ms` ago or earlier; does not wait for a reload that hangs. */
  async refreshIfOlderThan(ms: number): Promise<void> {
    await this.#refresh.lookIfOlderThan(ms);
  }

  /** Refreshes when a folder changes, every five seconds, and when another process asks for a reload, until `stop`. */
  async watch(): Promise<void> {
    if (!this.#stopping) await runOutside(() => this.#watch.begin());
  }

  /** Starts what has `start` or a service, now and for what is activated later; with `used` no services, nor what nothing asks for. */
  startServices(which: 'used' | 'all' = 'all'): Promise<void> {
    return runOutside(() => this.#lifecycle.startServices(which));
  }

  /** Those that run now; loads none. */
  readonly channels = (): readonly Remote<ChannelProvider>[] => runningRemotes(this.#lifecycle, ChannelProtocol);

  /** Told the ids of extensions and agents whose declaration or state changed. */
  onChange(listener: (ids: ReadonlySet<string>) => void): Off {
    return this.#shell.onChange(listener);
  }

  /** Stops all, dependents first. Never rejects; what does not end within the limits is left behind. */
  stop(): Promise<void> {
    this.#stopping ??= runOutside(async () => {
      await this.#watch.close();
      await this.#lifecycle.stopAll();
      await this.#shell.close();
    });
    return this.#stopping;
  }

  #slot(extensionId: string): Slot {
    const slot = this.#lifecycle.slots.get(extensionId);
    if (slot) return slot;
    const message = `no extension '${extensionId}': nothing declares it${didYouMean(extensionId, this.ids())}`;
    throw new PithError('not_found', message, { cure: 'see: pith extensions list' });
  }
}

function idsOf(slots: Iterable<Slot>): readonly string[] {
  return [...slots].map(({ id }) => id).sort();
}
