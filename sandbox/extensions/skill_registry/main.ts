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
import type { SkillSummary } from './skill.ts';
import { skillsChanged } from './contract.ts';
import { catalogParts, type CatalogPorts } from './catalog/catalog-context.ts';
import { readyForPreview } from './catalog/preview.ts';
import { findReadable } from './catalog/scope.ts';
import { ScopeCache } from './catalog/scope-cache.ts';
import { registryOptions } from './commands/open-registry.ts';
import { agentSkillsCheck, configSchema, type SkillsConfig } from './config.ts';
import { BoundDigests } from './ledger/bound-digests.ts';
import { SkillLedger } from './ledger/ledger.ts';
import { createRegistry, type SkillRegistry } from './registry.ts';
import { openSearch, type OpenedSearch, type SkillSearch } from './search/skill-search.ts';
import { WorkingDirectory } from './copying/working-directory.ts';
import { contentOf } from './skill-contents.ts';
import { summaryOf } from './skill-summary.ts';
import { modeTools, toolOffer } from './modes/turn-tools.ts';
import { scriptToolOf } from './scripts/script-tool.ts';
import { unconfinedNotes } from './scripts/unconfined.ts';
import type { Snapshot } from './skill.ts';
import { createTools, skillFor, type ToolPorts } from './tools.ts';
import { outcomeOf } from './toolsets/toolset-outcomes.ts';
import { toolsetsOfTurn } from './toolsets/skill-toolset.ts';
import { Toolsets } from './toolsets/toolsets.ts';
import { TurnSnapshots, type TurnSnapshot } from './scan/turn-snapshots.ts';
import { TriggerMode } from './triggers/trigger-mode.ts';

/** A turn that begins later than this after the last scan is preceded by another. */
const FRESH_MS = 250;

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
  readonly #bound = new BoundDigests();
  readonly #turns = new TurnSnapshots(() => this.#registry.refreshIfOlderThan(FRESH_MS));
  readonly #triggers: TriggerMode;
  readonly #toolsets: Toolsets;

  constructor(context: ExtensionContext<SkillsConfig>) {
    this.#context = context;
    this.#registry = createRegistry({
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
    this.#triggers = new TriggerMode({
      clock: context.clock,
      cache: this.#cache,
      ledger: this.#ledger,
      logger,
      maxSkills: context.config.max_skills,
      readBody: (skill) => this.#registry.readBody(skill),
      isStillTrusted: (skill) => this.#registry.isStillTrusted(skill),
    });
    context.own(events.handle('turn.started', ({ turnId, documents }) => this.#started(turnId, documents)));
    context.own(events.handle('thread.compacted', (compaction) => this.#ledger.compacted(compaction)));
    context.own(events.handle('turn.ended', (end) => this.#ended(end, lessons)));
    context.own(() => this.#ledger.close());
    this.#toolsets = new Toolsets(context, () => this.#registry.refreshIfOlderThan(FRESH_MS));
    context.own(() => this.#registry.close());
    context.own(() => this.#search.close());
    context.own(() => lessons?.settled());
  }

  getTools(): readonly Tool[] {
    return this.#enabled ? [...createTools(this.#ports()), this.#scriptTool()] : [];
  }

  async getTurnTools(turn: TurnInfo): Promise<readonly Awaited<ReturnType<NonNullable<ToolProvider['getTurnTools']>>>[number][]> {
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
    return [...modeTools({ id: this.#context.id, cache: this.#cache }, snapshot, turn), ...toolsets];
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
      recent: (asking: TurnInfo) => this.#ledger.loadedIn(asking).map(({ skillId }) => skillId),
    };
    const snapshot = await this.#begun(turn, this.#turns.begin(turn.id));
    const { bound, settings } = this.#cache.scope(snapshot, turn.agent);
    this.#bound.record(this.#ledger, turn, bound);
    if (settings.mode === 'triggers') return this.#triggers.parts(turn, snapshot, signal);
    if (settings.mode === 'catalog') return catalogParts(ports, snapshot, turn);
    this.#ledger.offered(turn, toolOffer({ id, cache: this.#cache }, snapshot, turn));
    return null;
  }

  async runBackground(signal: AbortSignal): Promise<void> {
    await this.#registry.keepBodies();
    this.#search.follow(await this.#registry.refreshIfOlderThan(FRESH_MS));
    await this.#registry.watch(signal);
  }

  async getSkillContent(id: string): Promise<Awaited<ReturnType<SkillProvider['getSkillContent']>>> {
    if (!this.#enabled)
      throw new PithError('skills_disabled', 'skills are switched off', { cure: "set 'skills.enabled: true' or leave out --no-skills" });
    await this.#registry.refreshIfOlderThan(FRESH_MS);
    const content = await contentOf(this.#registry, id);
    this.#bound.delivered(content);
    return content;
  }

  async listSkills(): Promise<readonly SkillSummary[]> {
    return (await this.#registry.refreshIfOlderThan(FRESH_MS)).all.map(summaryOf);
  }

  bring(extensionId: string): Promise<readonly Diagnostic[]> {
    return this.#toolsets.bring(extensionId);
  }

  async bringAll(): Promise<void> {
    if (this.#enabled) await this.#toolsets.bringAll();
  }

  async findings(): Promise<readonly Diagnostic[]> {
    const { findingsOf } = await import('./findings.ts');
    const found = await findingsOf(this.#context, this.#search, await this.#registry.refreshIfOlderThan(FRESH_MS));
    return [...found, ...[...this.#toolsets.waiting.values()].map(({ diagnostic }) => diagnostic)];
  }

  async readableSkills(agent: AgentSpec): Promise<readonly string[]> {
    const snapshot = await this.#registry.refreshIfOlderThan(FRESH_MS);
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

  #scriptTool(): Tool {
    return scriptToolOf(this.#context, {
      current: () => this.#registry.refreshIfOlderThan(FRESH_MS),
      readable: (snapshot, { agent }, name) => findReadable(snapshot, this.#cache.scope(snapshot, agent), name.trim()),
      usable: (name, call) => skillFor(this.#ports(), name, call),
      isStillTrusted: (skill) => this.#registry.isStillTrusted(skill),
      record: (turn, use) => this.#ledger.record(turn, use),
    });
  }

  #ports(): ToolPorts {
    return {
      ledger: this.#ledger,
      agents: this.#context.agents,
      runTool: `${this.#context.id}/run_skill`,
      ownTools: ({ id }) => outcomeOf(this.#context.dataDirectory, id)?.tools ?? [],
      working: new WorkingDirectory(this.#context.use(Places).sandbox, () => [
        path.dirname(path.dirname(this.#context.dataDirectory)), // all data
        ...this.#registry.sources.map(({ directory }) => directory),
      ]),
      pinned: (turn) => this.#turns.of(turn.id),
      scope: (snapshot, agent) => this.#cache.scope(snapshot, agent),
      search: this.#search,
      readBody: (skill) => this.#registry.readBody(skill),
      isStillTrusted: (skill) => this.#registry.isStillTrusted(skill),
    };
  }
}
