import {
  type AgentSpec,
  type CommandProvider,
  type ContextParts,
  type ContextProvider,
  type Diagnostic,
  type ExtensionContext,
  PithError,
  Places,
  type ServiceProvider,
  type SkillProvider,
  type Tool,
  type ToolProvider,
  type TurnInfo,
  type TurnProvider,
} from 'pith';
import { type SkillSummary, summaryOf } from './skill.ts';
import { SkillDrafts, SkillHistory, SkillLibrary, SkillWriter, skillsChanged, skillUsed } from './contract.ts';
import { ProposalFiles } from './writing/proposal-files.ts';
import { Writer } from './writing/writer.ts';
import { HistoryRecorder } from './history/recorder.ts';
import { versionsOf } from './history/wanted.ts';
import { Library, contentOf } from './library.ts';
import { catalogParts, type CatalogPorts } from './catalog/catalog-context.ts';
import { Drafts } from './drafts/drafts.ts';
import { ScopeCache } from './catalog/scope.ts';
import { registryOptions } from './commands/open-registry.ts';
import { agentSkillsCheck, configSchema, type SkillsConfig } from './config.ts';
import { findingsIn } from './trust/findings-in.ts';
import { SkillSpans } from './spans.ts';
import { SkillTurns } from './turns.ts';
import { SkillRegistry } from './registry.ts';
import { SkillSearch } from './search/skill-search.ts';
import { modeOf, OWN_MODES, suggestionsFor } from './modes/mode.ts';
import { modeTools, toolOffer, type TurnTool } from './modes/turn-tools.ts';
import { createTools } from './tools.ts';
import type { ToolPorts } from './reading/read-skill.ts';

/** Finds skills, offers the catalog and the read tools. */
export default class SkillRegistryExtension
  implements ToolProvider, ContextProvider, ServiceProvider, SkillProvider, CommandProvider, TurnProvider
{
  static get config() {
    return configSchema();
  }

  static get agentKeys() {
    return { skills: agentSkillsCheck() };
  }

  readonly contextPriority = 60;
  readonly #context: ExtensionContext<SkillsConfig>;
  readonly #registry: SkillRegistry;
  readonly #search: SkillSearch;
  readonly #recorder: HistoryRecorder;
  readonly #cache = new ScopeCache();
  /** It runs as a service: what changes is sent to the ranker before somebody asks. */
  #isServing = false;
  readonly #writer: Writer;
  readonly #turns: SkillTurns;
  readonly #ports: ToolPorts;
  readonly #drafts: Drafts;

  constructor(context: ExtensionContext<SkillsConfig>) {
    this.#context = context;
    this.#registry = new SkillRegistry({
      ...registryOptions(context),
      inspect: (directory) => findingsIn(context, directory),
      onDecided: (id) => this.#drafts.decided(id),
      onLoaded: (skill) => this.#recorder.loaded(skill),
      onChange: (change, snapshot) => {
        context.events.publish(skillsChanged, change);
        context.events.publish('provider.changed', { extensionId: context.id, protocol: 'skill' });
        if (this.#isServing) this.#recorder.changed(change, snapshot);
        if (this.#isServing) this.#search.follow(snapshot); // a single message mostly needs no search, and waits for it where it does
      },
    });
    this.#search = new SkillSearch(context, this.#registry);
    const { clock, events, logger } = context;
    this.#recorder = new HistoryRecorder({ history: this.#registry.history, clock, logger, most: context.config.history_skills });
    this.#turns = new SkillTurns({
      events,
      fresh: (agent) => this.#registry.freshFor(agent),
      find: (id) => this.#registry.current().skills.get(id),
    });
    const [registry, turns, cache, search] = [this.#registry, this.#turns, this.#cache, this.#search];
    this.#ports = { context, registry, turns, cache, search, workers: new Map() };
    const { targets, history } = registry;
    this.#writer = new Writer({
      targets,
      before: (target, staged) => history.announce(target, staged, (directory) => registry.idAt(directory)),
      after: () => registry.outdated(),
      keepVersion: (reference) => registry.keepVersion(reference),
      proposals: new ProposalFiles(context.dataDirectory, clock),
    });
    context.own(() => this.#writer.close());
    context.provide(SkillWriter, this.#writer);
    context.provide(SkillHistory, {
      recorded: async () => registry.history.recorded(),
      of: (reference) => versionsOf(registry, reference),
    });
    this.#drafts = new Drafts({ context, registry, search, writer: this.#writer, places: context.use(Places) });
    context.provide(SkillDrafts, this.#drafts);
    context.own(() => this.#drafts.close());
    context.provide(SkillLibrary, new Library(this.#ports));
    const spans = new SkillSpans((skillId) => this.#turns.factsOf(skillId));
    context.own(events.handle(skillUsed, (use) => spans.add(use)));
    context.own(
      events.handle('turn.started', ({ turnId }) => {
        spans.began(turnId);
        this.#turns.started(turnId);
      }),
    );
    context.own(events.handle('turn.ended', ({ turnId }) => spans.ended(turnId)));
    context.own(() => this.#registry.close());
    context.own(() => this.#search.close());
    context.own(() => this.#recorder.close());
  }

  beginTurn(turn: TurnInfo): void {
    this.#turns.begin(turn);
  }

  async endTurn(turn: TurnInfo, reason?: Parameters<NonNullable<TurnProvider['endTurn']>>[1]): Promise<void> {
    this.#turns.end(turn.id);
    if (reason !== 'awaiting_approval') await this.#drafts.turnEnded(turn);
  }

  getTools(): readonly Tool[] {
    return this.#enabled ? createTools(this.#ports) : [];
  }

  async getTurnTools(turn: TurnInfo): Promise<readonly TurnTool[]> {
    if (!this.#enabled) return [];
    const snapshot = await this.#turns.snapshotOf(turn);
    return modeTools(this.#ports, snapshot, turn, await modeOf(this.#context, turn.agent));
  }

  async getContext(_prompt: string, turn: TurnInfo, signal?: AbortSignal): Promise<ContextParts | null> {
    if (!this.#enabled) return null;
    const { id } = this.#context;
    const ports: CatalogPorts = {
      cache: this.#cache,
      readTool: `${id}/read_skill`,
      search: this.#search,
      offered: (asking, offer) => (signal?.aborted ? undefined : this.#turns.offered(asking, offer)), // an aborted turn was offered nothing
      suggested: (asking) => suggestionsFor(this.#context, asking),
    };
    const snapshot = await this.#turns.snapshotOf(turn);
    if (this.#ports.workers.has(turn.threadId)) this.#ports.workers.set(turn.threadId, turn.tools);
    for (const { key: skillId, digest: sha256 } of turn.bound)
      this.#turns.record(turn, { skillId, state: 'loaded', how: 'uses_skills', sha256 });
    const mode = await modeOf(this.#context, turn.agent);
    if (mode === 'catalog') return catalogParts(ports, snapshot, turn);
    if (OWN_MODES.has(mode)) this.#turns.offered(turn, toolOffer(this.#ports, snapshot, turn));
    return null;
  }

  async runBackground(signal: AbortSignal): Promise<void> {
    this.#isServing = true;
    const snapshot = await this.#registry.fresh();
    this.#search.follow(snapshot);
    this.#recorder.follow(snapshot.all);
    await this.#registry.watch(signal);
  }

  async getSkillContent(id: string): Promise<Awaited<ReturnType<SkillProvider['getSkillContent']>>> {
    if (!this.#enabled)
      throw new PithError('skills_disabled', 'skills are switched off', { cure: "set 'skills.enabled: true' or leave out --no-skills" });
    await this.#registry.fresh();
    return contentOf(this.#registry, id);
  }

  async listSkills(): Promise<readonly SkillSummary[]> {
    return (await this.#registry.fresh()).all.map(summaryOf);
  }

  async findings(): Promise<readonly Diagnostic[]> {
    const { findingsOf } = await import('./findings.ts');
    return findingsOf(this.#context, this.#search, await this.#registry.fresh());
  }

  async readableSkills(agent: AgentSpec): Promise<readonly string[]> {
    const snapshot = await this.#registry.freshFor(agent);
    return this.#enabled ? [...this.#cache.scope(snapshot, agent).readable.keys()].sort() : [];
  }

  async validateSkill(folder: string): Promise<readonly Diagnostic[]> {
    const { lintSkill } = await import('@pith/skill-files');
    return (await lintSkill(folder, this.#context.use(Places).sandbox)).diagnostics;
  }

  async getCommands() {
    const { initializedCommands } = await import('./commands/initialized.ts');
    const [registry, search, writer, drafts] = [this.#registry, this.#search, this.#writer, this.#drafts];
    return initializedCommands(this.#context, { registry, search, writer, drafts });
  }

  get #enabled(): boolean {
    return this.#context.config.enabled;
  }
}
