import path from 'node:path';
import {
  type AgentSpec,
  type BroughtProvider,
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
  type ToolResult,
  type TopicMap,
  type TurnInfo,
} from 'pith';
import { type SkillSummary, type Snapshot, summaryOf } from './skill.ts';
import { skillsChanged } from './contract.ts';
import { catalogParts, type CatalogPorts } from './catalog/catalog-context.ts';
import { readyForPreview, ScopeCache } from './catalog/scope.ts';
import { registryOptions } from './commands/open-registry.ts';
import { agentSkillsCheck, configSchema, type SkillsConfig } from './config.ts';
import { keepNewest } from './ledger/thread-loads.ts';
import { SkillLedger } from './ledger/ledger.ts';
import { SkillRegistry } from './registry.ts';
import { type OpenedSearch, openSearch, type SkillSearch } from './search/skill-search.ts';
import { WorkingDirectory } from './copying/copy-skill-file.ts';
import { contentOf } from './skill-contents.ts';
import { modeTools, toolOffer } from './modes/turn-tools.ts';
import { unconfinedNotes } from './scripts/unconfined.ts';
import { createTools } from './tools.ts';
import type { ToolPorts } from './reading/read-skill.ts';
import { toolsetsOfTurn, type TurnTool } from './toolsets/skill-toolset.ts';
import { Toolsets } from './toolsets/toolsets.ts';
import { type TurnSnapshot, TurnSnapshots } from './scan/turn-snapshots.ts';
import { TriggerMode } from './triggers/trigger-mode.ts';

const MOST_BOUND = 10_000;

/** Finds skills, offers the catalog and the read tools. */
export default class SkillRegistryExtension
  implements ToolProvider, ContextProvider, ServiceProvider, SkillProvider, CommandProvider, BroughtProvider
{
  static get config() {
    return configSchema();
  }

  static get agentKeys() {
    return { skills: agentSkillsCheck() };
  }

  static settingsNotes(config: SkillsConfig) {
    return unconfinedNotes(config);
  }

  readonly contextPriority = 60;
  readonly #context: ExtensionContext<SkillsConfig>;
  readonly #registry: SkillRegistry;
  readonly #search: SkillSearch;
  readonly #cache = new ScopeCache();
  readonly #ledger: SkillLedger;
  /** Which text of each skill the kernel was last given for `uses_skills`: it asks just before the turn's context is made. */
  readonly #bound = new Map<string, string>();
  readonly #turns = new TurnSnapshots(() => this.#registry.fresh());
  readonly #triggers: TriggerMode;
  readonly #ports: ToolPorts;
  readonly #toolsets: Toolsets;

  constructor(context: ExtensionContext<SkillsConfig>) {
    this.#context = context;
    this.#registry = new SkillRegistry({
      ...registryOptions(context),
      onChange: (change, snapshot) => {
        context.events.publish(skillsChanged, change);
        context.events.publish('provider.changed', { extensionId: context.id, protocol: 'skill' });
        this.#search.follow(snapshot);
        this.#toolsets.follow(snapshot);
      },
    });
    const mayLearn = ({ agent }: TurnInfo) => this.#cache.scope(this.#registry.current(), agent).settings.learn_examples;
    const { search, lessons } = openSearch(context, this.#registry, mayLearn);
    this.#search = search;
    const { database, clock, logger, events } = context;
    this.#ledger = new SkillLedger({
      database,
      clock,
      logger,
      events,
      keepDays: context.config.stats_days,
      nameOf: (id) => this.#registry.current().skills.get(id)?.name ?? id,
      onLoad: (turn, load) => lessons?.loaded(turn, load),
    });
    const working = new WorkingDirectory(context.use(Places).sandbox, () => [
      path.dirname(path.dirname(context.dataDirectory)), // all data
      ...this.#registry.sources.map(({ directory }) => directory),
    ]);
    const pinned = (turn: TurnInfo) => this.#turns.of(turn.id);
    this.#ports = { context, registry: this.#registry, ledger: this.#ledger, cache: this.#cache, search, working, pinned };
    this.#triggers = new TriggerMode(this.#ports);
    context.own(events.handle('turn.started', ({ turnId, documents }) => this.#started(turnId, documents)));
    context.own(events.handle('thread.compacted', (compaction) => this.#ledger.compacted(compaction)));
    context.own(events.handle('turn.ended', (end) => this.#ended(end, lessons)));
    context.own(() => this.#ledger.close());
    this.#toolsets = new Toolsets(context, () => this.#registry.fresh());
    context.own(() => this.#registry.close());
    context.own(() => this.#search.close());
    context.own(() => lessons?.settled());
  }

  getTools(): readonly Tool[] {
    return this.#enabled ? createTools(this.#ports) : [];
  }

  async getTurnTools(turn: TurnInfo): Promise<readonly TurnTool[]> {
    if (!this.#enabled) return [];
    const snapshot = await this.#begun(turn, this.#turns.prepare(turn.id));
    const scope = this.#cache.scope(snapshot, turn.agent);
    const toolsets = await toolsetsOfTurn(turn, {
      snapshot,
      scope,
      ledger: this.#ledger,
      matched: async () => (scope.settings.mode === 'triggers' ? this.#triggers.decide(turn, snapshot) : null),
      isStillTrusted: (skill) => this.#registry.isStillTrusted(skill),
    });
    return [...modeTools(this.#ports, snapshot, turn), ...toolsets];
  }

  async getContext(_prompt: string, turn: TurnInfo, signal?: AbortSignal): Promise<ContextParts | null> {
    if (!this.#enabled) return null;
    const { id, clock } = this.#context;
    const ports: CatalogPorts = {
      cache: this.#cache,
      readTool: `${id}/read_skill`,
      search: this.#search,
      clock,
      offered: (asking, offer) => (signal?.aborted ? undefined : this.#ledger.offered(asking, offer)), // who was cut has told nothing
      recent: async (asking: TurnInfo) => (await this.#ledger.loadedIn(asking)).map(({ skillId }) => skillId),
    };
    const snapshot = await this.#begun(turn, this.#turns.begin(turn.id));
    const { bound, settings } = this.#cache.scope(snapshot, turn.agent);
    for (const skillId of bound) {
      const sha256 = this.#bound.get(skillId);
      if (sha256 !== undefined) this.#ledger.record(turn, { skillId, state: 'loaded', how: 'uses_skills', sha256 });
    }
    if (settings.mode === 'triggers') return this.#triggers.parts(turn, snapshot, signal);
    if (settings.mode === 'catalog') return catalogParts(ports, snapshot, turn);
    this.#ledger.offered(turn, toolOffer(this.#ports, snapshot, turn));
    return null;
  }

  async runBackground(signal: AbortSignal): Promise<void> {
    await this.#registry.keepBodies();
    this.#search.follow(await this.#registry.fresh());
    await this.#registry.watch(signal);
  }

  async getSkillContent(id: string): Promise<Awaited<ReturnType<SkillProvider['getSkillContent']>>> {
    if (!this.#enabled)
      throw new PithError('skills_disabled', 'skills are switched off', { cure: "set 'skills.enabled: true' or leave out --no-skills" });
    await this.#registry.fresh();
    const content = await contentOf(this.#registry, id);
    keepNewest(this.#bound, content.id, content.sha256, MOST_BOUND);
    return content;
  }

  async listSkills(): Promise<readonly SkillSummary[]> {
    return (await this.#registry.fresh()).all.map(summaryOf);
  }

  bring(extensionId: string): Promise<readonly Diagnostic[]> {
    return this.#toolsets.bring(extensionId);
  }

  async bringAll(): Promise<void> {
    if (this.#enabled) await this.#toolsets.bringAll();
  }

  async findings(): Promise<readonly Diagnostic[]> {
    const { findingsOf } = await import('./findings.ts');
    const found = await findingsOf(this.#context, this.#search, await this.#registry.fresh());
    return [...found, ...[...this.#toolsets.waiting.values()].map(({ diagnostic }) => diagnostic)];
  }

  async readableSkills(agent: AgentSpec): Promise<readonly string[]> {
    const snapshot = await this.#registry.fresh();
    return this.#enabled ? [...this.#cache.scope(snapshot, agent).readable.keys()].sort() : [];
  }

  async validateSkill(folder: string): Promise<readonly Diagnostic[]> {
    const { lintSkill } = await import('./lint.ts');
    return (await lintSkill(folder, this.#context.use(Places).sandbox)).diagnostics;
  }

  async getCommands() {
    const { initializedCommands } = await import('./commands/initialized.ts');
    return initializedCommands(this.#context, this.#registry, this.#search, this.#toolsets);
  }

  #started(turnId: string, documents: readonly NonNullable<Extract<ToolResult, { ok: true }>['retain']>[]): void {
    this.#turns.started(turnId);
    this.#ledger.started(turnId, documents);
    this.#triggers.started(turnId);
  }

  /** Whatever is asked for first when a turn is prepared, its tools or its context, begins it. */
  async #begun(turn: TurnInfo, { snapshot, begins }: TurnSnapshot): Promise<Snapshot> {
    if (begins) this.#ledger.begin(turn);
    await readyForPreview({ cache: this.#cache, search: this.#search, clock: this.#context.clock }, await snapshot, turn);
    return snapshot;
  }

  get #enabled(): boolean {
    return this.#context.config.enabled;
  }

  #ended(end: TopicMap['turn.ended'], lessons: OpenedSearch['lessons']): void {
    const { turnId } = end;
    this.#turns.release(turnId);
    this.#triggers.release(turnId);
    this.#ledger.ended(turnId);
    lessons?.ended(end);
  }
}
