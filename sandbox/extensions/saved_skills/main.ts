import {
  type AgentProvider,
  ChannelProvider,
  codeOf,
  type Command,
  type CommandProvider,
  type Diagnostic,
  type ExtensionContext,
  type JobInfo,
  messageOf,
  Permissions,
  Places,
  type ServiceProvider,
  SkillProvider,
  type Tool,
  type ToolProvider,
  type TopicMap,
  type TurnInfo,
} from 'pith';
import { migrated, Queries } from '@pith/database-queries';
import { SkillWriter } from 'pith/skill_registry';
import { oncePromised } from '@pith/promises';
import path from 'node:path';
import { runCommands } from './commands/run-commands.ts';
import { savedCommands } from './commands/saved-commands.ts';
import { configSchema, type Config } from './config.ts';
import { RunSealing, SavedSkills } from './contract.ts';
import { inputJsonSchema } from './domain/inputs.ts';
import { referenceOf, type SavedSkill } from './domain/saved-skill.ts';
import type { Bounds } from './domain/permissions.ts';
import { exposedTools, toolNameOf } from './library/tool-names.ts';
import { Library } from './library/library.ts';
import { pinnedSkills, specOf, type LibraryPorts } from './library/saving.ts';
import { seedBuiltins } from './library/builtins.ts';
import { adopt } from './runs/adoption.ts';
import { channelsOf, deliver } from './runs/deliveries.ts';
import { DEFAULT_LANE, DEFAULT_RULES, type Lane, type LaneRules, pick } from './runs/lanes.ts';
import { type OfRun, type Run, runOfThread, RunSeal } from './runs/run.ts';
import { plan, planAll, type SchedulePorts, tick } from './runs/schedules.ts';
import { Runner } from './runs/runner.ts';
import { RunStore } from './runs/run-store.ts';
import { cureOf, VERSION_CURE, SkillStore, type SkillVersion } from './store/skill-store.ts';
import { MIGRATIONS, type Tables } from './store/tables.ts';
import { SavedForOthers } from './saved-for-others.ts';
import { exposedTool, skillTools, type ToolPorts } from './skill-tools.ts';

const PREFIX = 'saved_skills';
/** Between two looks for tools that other processes changed. */
const LOOK_MS = 2_000;

/** Saved skills: stored agent definitions that people and programs run, within limits. */
export default class SavedSkillsExtension implements ToolProvider, ServiceProvider, CommandProvider, AgentProvider {
  static get config() {
    return configSchema();
  }

  readonly #context: ExtensionContext<Config>;
  readonly #skills: SkillStore;
  readonly #runs: RunStore;
  readonly #library: Library;
  readonly #runner: Runner;
  /** Of builtins. */
  #problems: readonly Diagnostic[] = [];
  #isUsed = false;
  /** Tools and agents as they were published last; null: they were not yet. */
  #offered: string | null = null;
  readonly #schedules: SchedulePorts;

  constructor(context: ExtensionContext<Config>) {
    this.#context = context;
    const { clock, agents, logger, config, jobs } = context;
    const queries = new Queries<Tables>(migrated(context.database, PREFIX, MIGRATIONS));
    const skills = new SkillStore(queries, clock);
    const seal = new RunSeal(() => context.find(RunSealing)[0] ?? null);
    const runs = new RunStore(queries, clock, jobs, seal);
    const channels = () => channelsOf(() => context.find(ChannelProvider));
    const permissions = {
      isAdmin: (userId: string) => context.use(Permissions).isAdmin(userId),
      tools: () => context.use(Permissions).tools(),
    };
    const mostQueued = config.most_queued;
    const lanes = new Map(
      Object.entries(config.lanes).map(([name, { slots, preemption_min_runtime_seconds: seconds }]): [string, LaneRules] => [
        name,
        { slots, preemptionMs: seconds * 1000, mostQueued },
      ]),
    );
    const ready = oncePromised(async () => {
      await skills.offered(); // rejects where the tables cannot be made, and is tried again
      this.#problems = await seedBuiltins(ports, this.#builtinFolders());
      this.#isUsed = true;
    });
    const ports: LibraryPorts = {
      skills,
      runs,
      clock,
      logger,
      agents,
      permissions,
      bounds: config,
      priorityMax: config.priority_max_per_user,
      lanes,
      defaultLane: lanes.get(DEFAULT_LANE) ?? { ...DEFAULT_RULES, mostQueued },
      channels,
      keepVersion: async (name) => {
        try {
          return (await context.find(SkillWriter)[0]?.keepVersion(name)) ?? null;
        } catch (error) {
          if (['skill_not_found', 'version_not_kept'].includes(codeOf(error, ''))) return null; // then nobody pins it
          throw error;
        }
      },
      ready,
      plan: (skill) => plan(jobs, skill),
    };
    const library = new Library(ports);
    this.#skills = skills;
    this.#runs = runs;
    this.#library = library;
    const others = new SavedForOthers({
      library,
      skills,
      runs,
      summaryTarget: config.summary_channel_id,
      heldRun: (id) => this.#runner.held(id),
    });
    context.provide(SavedSkills, others);
    const laneRules = (name: string) => library.laneRules(name);
    this.#schedules = {
      skills,
      runs,
      jobs,
      clock,
      logger,
      laneRules,
      runOf: (skill, id) => library.ownersRun(skill, { inputs: {}, cause: 'schedule', id }),
    };
    this.#runner = new Runner({
      runs,
      skills,
      agents,
      clock,
      logger,
      channels,
      boundsOf: (skill, version) => library.boundsOf(skill, version),
      specOf: (skill, version, bounds) => this.#specOf(skill, version, bounds),
      extensionVersions: async (tools) => {
        const known = await permissions.tools();
        const named = known.filter(({ extensionId, name }) => tools.includes(`${extensionId}/${name}`));
        return Object.fromEntries(named.map(({ extensionId, version }) => [extensionId, version]));
      },
      seal,
      jobs,
    });
    jobs.define<OfRun>('run', (job, signal) => this.#runner.work(job, signal), {
      ended: (job) => runs.endedBy(runIn(job), job),
      lanes: { rules: laneRules, pick: (lane) => pick(lane as Lane) },
    });
    jobs.define<{ readonly skill: string }>('tick', (job) => tick(this.#schedules, job));
    const targetOf = (run: Run) => others.targetOf(run);
    const deliveries = { runs, logger, channels, events: context.events, summaryTarget: config.summary_channel_id, targetOf };
    jobs.define<OfRun>('deliver', (job) => deliver(deliveries, job), {
      ended: (job) => runs.undelivered(runIn(job), job.error?.message ?? 'it was cancelled'),
    });
  }

  getTools(): Promise<readonly Tool[]> {
    return this.#tools();
  }

  /** Exposed skills, for those who may run them, with the inputs of the version that they run. */
  async getTurnTools({ userId, channelId }: TurnInfo) {
    const exposed = (await this.#exposed()).tools.filter(
      ({ chatbot_channel_filter: filter, deprecated_by_agent_id }) =>
        deprecated_by_agent_id === null && (filter === '' || filter === channelId),
    );
    if (exposed.length === 0) return [];
    const runnable = await this.#library.runnable(exposed, await this.#library.person(userId));
    return runnable.map(({ skill, inputs }) => ({ tool: toolNameOf(skill), inputSchema: inputJsonSchema(inputs) }));
  }

  getCommands(): readonly Command[] {
    const { clock } = this.#context;
    return [
      ...savedCommands({ library: this.#library, clock, changed: () => this.#publishTools() }),
      ...runCommands({ library: this.#library, runs: this.#runs, runner: this.#runner, clock }),
    ];
  }

  /** Skills that everybody may run are agents, too: as others run them. */
  async listAgents() {
    if (!(await this.#hasTables())) return [];
    const everybody = { userId: '', isAdmin: false };
    const open = (await this.#library.list(everybody)).filter(
      ({ pinned_version_id, source }) => pinned_version_id !== null || source === 'builtin',
    );
    const taken = new Set<string>();
    return Promise.all(
      open.toSorted(byAge).map(async (skill) => {
        const plain = `saved_${referenceOf(skill).replace(/[^a-z0-9]+/g, '_')}`;
        const id = taken.has(plain) ? `${plain}_${skill.id.slice(0, 8)}` : plain;
        taken.add(plain);
        const agent = { id, file: this.#context.directory };
        try {
          const version = await this.#library.versionFor(skill, everybody);
          const spec = this.#specOf(skill, version, await this.#library.boundsOf(skill, version));
          return { ...agent, spec: { ...spec, id, name: referenceOf(skill) }, diagnostics: [] };
        } catch (error) {
          const problem = { severity: 'error', code: codeOf(error, 'skill_invalid'), message: messageOf(error) } as const;
          return { ...agent, spec: null, diagnostics: [problem] };
        }
      }),
    );
  }

  async findings(): Promise<readonly Diagnostic[]> {
    if (!(await this.#hasTables())) return [];
    await this.#library.ready();
    const damage = (what: string, cure: string): Diagnostic => ({
      severity: 'error',
      code: 'skill_damaged',
      message: `${what} never runs: its row in the database is damaged`,
      cure,
    });
    const damaged = (await this.#skills.damaged()).map((reference) => damage(`the saved skill '${reference}'`, cureOf(reference)));
    const unnamed = (await this.#exposed()).unnamed.map((skill): Diagnostic => ({
      severity: 'warning',
      code: 'name_taken',
      message: `the saved skill '${referenceOf(skill)}' is no tool: the name '${toolNameOf(skill)}' is that of another`,
      cure: `give it another: pith saved expose ${referenceOf(skill)} on --as NAME`,
    }));
    const versions = await Promise.all(
      (await this.#skills.damagedVersions()).map(async ({ skillId, version }) => {
        const found = await this.#skills.byId(skillId).catch(() => null); // its own row is damaged, too
        return damage(`version ${version} of the saved skill '${found === null ? skillId : referenceOf(found.skill)}'`, VERSION_CURE);
      }),
    );
    return [...this.#problems, ...damaged, ...versions, ...unnamed];
  }

  async runBackground(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    let isAdopted = false;
    while (!signal.aborted) {
      if (await this.#hasTables()) {
        await this.#library.ready();
        if (!isAdopted) {
          await planAll(this.#schedules);
          await adopt(this.#context, this.#runs, signal);
          isAdopted = true;
        }
        await this.#publishChanges();
      }
      await clock.sleep(LOOK_MS, signal).catch(() => undefined); // it is to stop
    }
  }

  /** Handles `approval.answered`: a run that waited for it waits for a slot again. */
  async approvalAnswered({ threadId }: TopicMap['approval.answered']): Promise<void> {
    const id = runOfThread(threadId);
    if (id !== null) await this.#runs.resume(id);
  }

  async #tools(): Promise<readonly Tool[]> {
    const { config } = this.#context;
    const ports: ToolPorts = {
      library: this.#library,
      runs: this.#runs,
      runner: this.#runner,
      maxComposed: config.max_composed,
      maxDepth: config.max_depth,
    };
    this.#offered = (await this.#hasTables()) ? await this.#skills.offered() : ''; // before the rows: what changes between is seen later
    const { tools } = await this.#exposed();
    return [...skillTools(ports), ...tools.map((skill) => exposedTool(ports, skill))];
  }

  async #exposed(): Promise<ReturnType<typeof exposedTools>> {
    return exposedTools((await this.#hasTables()) ? await this.#skills.exposed() : []);
  }

  #publishTools(): void {
    const { events, id } = this.#context;
    for (const protocol of ['tool', 'agents']) events.publish('provider.changed', { extensionId: id, protocol });
  }

  /** Publishes what another process changed of tools and agents, now and then. */
  async #publishChanges(): Promise<void> {
    const before = this.#offered;
    this.#offered = await this.#skills.offered();
    if (before !== null && before !== this.#offered) this.#publishTools();
  }

  #specOf(skill: SavedSkill, version: SkillVersion & { readonly isPinned: boolean }, bounds: Bounds) {
    const { id } = this.#context;
    const { snapshot } = version;
    const skills = version.isPinned ? pinnedSkills(referenceOf(skill), version) : snapshot.uses_skills;
    const spec = specOf({ ...skill, ...snapshot, tools: [...snapshot.tools, `${id}/update_status`] }, skills, bounds);
    return this.#context.find(SkillProvider).length > 0 ? spec : { ...spec, keys: {} };
  }

  #builtinFolders(): readonly string[] {
    const { shippedSandbox, sandbox } = this.#context.use(Places);
    return [...new Set([shippedSandbox, sandbox])].map((folder) => path.join(folder, 'saved_skills'));
  }

  /** Whether anything was ever saved here: before, no query is built and no table made. */
  async #hasTables(): Promise<boolean> {
    if (this.#isUsed) return true;
    const found = await this.#context.database.get(`SELECT count(*) AS runs FROM ${PREFIX}__runs`).catch(() => null); // there is no such table
    return (this.#isUsed = found !== null);
  }
}

function runIn({ payload }: JobInfo): string {
  return (payload as unknown as OfRun).run;
}

/** Those that ship first: the oldest of a name keeps it when another comes. */
function byAge(one: SavedSkill, other: SavedSkill): number {
  return (
    Number(one.owner_id !== null) - Number(other.owner_id !== null) || one.created_at - other.created_at || (one.id < other.id ? -1 : 1)
  );
}
