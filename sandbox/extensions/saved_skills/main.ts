import {
  type Command,
  type CommandProvider,
  type Diagnostic,
  type ExtensionContext,
  type JobInfo,
  type ServiceProvider,
  type Tool,
  type ToolProvider,
  type TopicMap,
  type TurnInfo,
} from 'pith';
import { migrated, Queries } from '@pith/database-queries';
import { runCommands } from './commands/run-commands.ts';
import { savedCommands } from './commands/saved-commands.ts';
import { configSchema, type Config } from './config.ts';
import { RunSealing, SavedSkills } from './contract.ts';
import { inputJsonSchema } from './domain/inputs.ts';
import { referenceOf, type SavedSkill } from './domain/saved-skill.ts';
import { exposedTools, isListedIn, toolNameOf } from './library/tool-names.ts';
import { Library } from './library/library.ts';
import { adopt } from './runs/adoption.ts';
import { deliver } from './runs/deliveries.ts';
import { type Lane, pick, rulesOf } from './runs/lanes.ts';
import { type OfRun, runOfThread, RunSeal } from './runs/run.ts';
import { RunStore } from './runs/run-store.ts';
import { summariser } from './runs/summary.ts';
import { Runner } from './running/runner.ts';
import { cureOf, VERSION_CURE, SkillStore } from './store/skill-store.ts';
import { MIGRATIONS, type Tables } from './store/tables.ts';
import { SavedForOthers } from './saved-for-others.ts';
import { exposedTool, skillTools, type ToolPorts } from './skill-tools.ts';

/** Saved skills: stored agent definitions that people and programs run, within limits. */
export default class SavedSkillsExtension implements ToolProvider, ServiceProvider, CommandProvider {
  static get config() {
    return configSchema();
  }

  readonly #context: ExtensionContext<Config>;
  readonly #skills: SkillStore;
  readonly #runs: RunStore;
  readonly #library: Library;
  readonly #runner: Runner;
  /** The skills that were tools when tools were described last; null: none were yet. */
  #published: string | null = null;

  constructor(context: ExtensionContext<Config>) {
    const { clock, config, jobs } = context;
    const queries = new Queries<Tables>(migrated(context.database, 'saved_skills', MIGRATIONS));
    const skills = new SkillStore(queries, clock);
    const runs = new RunStore(queries, clock, jobs, new RunSeal(() => context.find(RunSealing)[0] ?? null));
    const library = new Library(context, skills, runs);
    const runner = new Runner(context, library, runs);
    this.#context = context;
    this.#skills = skills;
    this.#runs = runs;
    this.#library = library;
    this.#runner = runner;
    const summarise = summariser(context, async ({ skillId }) => {
      const isSealed = (await skills.byId(skillId))?.skill.encryption_enabled === true;
      return isSealed ? runs.seal.of(skillId) : null;
    });
    context.provide(SavedSkills, new SavedForOthers(library, runs, runner, summarise));
    jobs.define<OfRun>('run', (job, signal) => runner.work(job, signal), {
      ended: (job) => runs.endedBy(runIn(job), job),
      lanes: { rules: (lane) => rulesOf(config, lane), pick: (lane) => pick(lane as Lane) },
    });
    jobs.define<{ readonly skill: string }>('tick', (job) => library.tick(job));
    jobs.define<OfRun>('deliver', (job, signal) => deliver({ context, skills, runs, summarise }, job, signal), {
      ended: (job) => runs.undelivered(runIn(job), job.error?.message ?? 'it was cancelled'),
    });
  }

  async getTools(): Promise<readonly Tool[]> {
    const { config } = this.#context;
    const ports: ToolPorts = {
      library: this.#library,
      runs: this.#runs,
      runner: this.#runner,
      maxComposed: config.max_composed,
      maxDepth: config.max_depth,
    };
    const exposed = await this.#exposed();
    this.#published = revisionOf(exposed);
    return [...skillTools(ports), ...exposedTools(exposed).tools.map((skill) => exposedTool(ports, skill))];
  }

  /** Exposed skills, all but the first by name on demand, for those who may run them, with the inputs of the version that they run; to a run those that it names. */
  async getTurnTools({ userId, channelId, threadId, tools }: TurnInfo) {
    const exposed = await this.#exposed();
    if (this.#published !== null && this.#published !== revisionOf(exposed)) this.#publishTools(); // another process has changed some
    const isRun = runOfThread(threadId) !== null;
    const meant = exposedTools(exposed).tools.filter((skill) =>
      isRun ? tools.includes(`${this.#context.id}/${toolNameOf(skill)}`) : isListedIn(skill, channelId),
    );
    if (meant.length === 0) return [];
    const runnable = await this.#library.runnable(meant, await this.#library.person({ userId }));
    const turnTools = runnable.map(({ skill, inputs }) => ({ tool: toolNameOf(skill), inputSchema: inputJsonSchema(inputs) }));
    if (isRun) return turnTools;
    const sorted = turnTools.toSorted((one, other) => (one.tool < other.tool ? -1 : 1));
    return sorted.map((tool, at) => ({ ...tool, onDemand: at >= MOST_BY_NAME }));
  }

  getCommands(): readonly Command[] {
    const { clock } = this.#context;
    return [
      ...savedCommands({ library: this.#library, clock, changed: () => this.#publishTools() }),
      ...runCommands({ library: this.#library, runs: this.#runs, runner: this.#runner, clock }),
    ];
  }

  async findings(): Promise<readonly Diagnostic[]> {
    if (!(await this.#library.isUsed())) return [];
    await this.#library.ready();
    const damage = (what: string, cure: string): Diagnostic => ({
      severity: 'error',
      code: 'skill_damaged',
      message: `${what} never runs: its row in the database is damaged`,
      cure,
    });
    const damaged = (await this.#skills.damaged()).map((reference) => damage(`the saved skill '${reference}'`, cureOf(reference)));
    const unnamed = exposedTools(await this.#exposed()).unnamed.map((skill): Diagnostic => ({
      severity: 'warning',
      code: 'name_taken',
      message: `the saved skill '${referenceOf(skill)}' is not a tool: the name '${toolNameOf(skill)}' is that of another`,
      cure: `give it another: pith saved expose ${referenceOf(skill)} on --as NAME`,
    }));
    const versions = await Promise.all(
      (await this.#skills.damagedVersions()).map(async ({ skillId, version }) => {
        const found = await this.#skills.byId(skillId).catch(() => null); // its own row is damaged, too
        return damage(`version ${version} of the saved skill '${found === null ? skillId : referenceOf(found.skill)}'`, VERSION_CURE);
      }),
    );
    return [...this.#library.problems, ...damaged, ...versions, ...unnamed];
  }

  /** Takes on what an older Pith, or a process that has ended, left undone. */
  async runBackground(signal: AbortSignal): Promise<void> {
    if (!(await this.#library.isUsed())) return;
    await this.#library.ready();
    await this.#library.planAll();
    await adopt(this.#context, this.#runs, signal);
  }

  /** Handles `approval.answered`: a run that waited for it waits for a slot again. */
  async approvalAnswered({ threadId }: TopicMap['approval.answered']): Promise<void> {
    const id = runOfThread(threadId);
    if (id !== null) await this.#runs.resume(id);
  }

  async #exposed(): Promise<readonly SavedSkill[]> {
    return (await this.#library.isUsed()) ? this.#skills.exposed() : [];
  }

  #publishTools(): void {
    const { events, id } = this.#context;
    events.publish('provider.changed', { extensionId: id, protocol: 'tool' });
  }
}

/** Exposed skills that a conversation is sent as tools; it finds the others with `find_tools`. */
const MOST_BY_NAME = 12;

/** Another text once any of them was changed; what their schedules do changes none. */
function revisionOf(exposed: readonly SavedSkill[]): string {
  return JSON.stringify(exposed.map(({ id, updated_at }) => [id, updated_at]));
}

function runIn({ payload }: JobInfo): string {
  return (payload as unknown as OfRun).run;
}
