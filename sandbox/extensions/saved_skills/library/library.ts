import { randomUUID } from 'node:crypto';
import { withoutNickname } from '@pith/cron-times';
import { oncePromised } from '@pith/promises';
import {
  type AgentSpec,
  codeOf,
  type Diagnostic,
  type ExtensionContext,
  type Job,
  messageOf,
  Permissions,
  PithError,
  Places,
  SkillProvider,
} from 'pith';
import path from 'node:path';
import type { Config } from '../config.ts';
import { type ActingUser, savedRescheduled } from '../contract.ts';
import { didYouMean } from '@pith/plain-text';
import { monotonicFactory } from 'ulid';
import { boundsOf, type Bounds, isOwner, maySee, runsPinned, verdictOn, type Person, type Verb } from '../domain/permissions.ts';
import { referenceOf, type SavedSkill, type SkillFile, VERSIONED_FIELDS } from '../domain/saved-skill.ts';
import { namedThread, readInputs, type GivenInputs, type InputField } from '../domain/inputs.ts';
import { DEFAULT_LANE, hasLane, rulesOf } from '../runs/lanes.ts';
import { NO_ORIGIN, type Run, type RunCause, type RunOrigin } from '../runs/run.ts';
import type { NewRun, RunStore } from '../runs/run-store.ts';
import type { FoundSkill, SkillStore, SkillVersion, StoredSkill } from '../store/skill-store.ts';
import { seedBuiltins } from './builtins.ts';
import { checkFiles } from './input-files.ts';
import { checked, checkUnattended, pinnedSkills, specOf, versionOf } from './saving.ts';
import { parsedSkill } from './skill-file.ts';
import { toolNameOf } from './tool-names.ts';

/** How a run is asked for. */
export interface Asked {
  readonly inputs: GivenInputs;
  readonly cause: RunCause;
  readonly origin: RunOrigin;
  /** The text that is being edited, where an administrator wants it. */
  readonly draft?: boolean;
  /** In place of the skill's own. */
  readonly priority?: number | undefined;
  /** The same id gives the same run. */
  readonly id?: string;
}

/** By whom it is asked for, and as whom its tools run. */
interface AskedBy extends Asked {
  readonly userId: string;
  readonly actsAs: string;
  readonly by: Person;
}

/** A version as a run takes it. */
export type RunnableVersion = SkillVersion & {
  /** Its skills too are read as they were when it was saved. */
  readonly isPinned: boolean;
};

const VERSIONED: readonly string[] = VERSIONED_FIELDS;

/** Where saved skills are made, changed, shared and asked to run. Expected refusals are `PithError`s, and change nothing. */
export class Library {
  /** Also runs of one millisecond are in the order in which they were asked for. */
  readonly #nextId = monotonicFactory();

  #isUsed = false;
  /** What is wrong with skills that ship. */
  problems: readonly Diagnostic[] = [];
  /** Tables and builtins are there. */
  readonly ready = oncePromised(async () => {
    await this.skills.exposed(); // rejects where the tables cannot be made, and is tried again
    const { shippedSandbox, sandbox } = this.context.use(Places);
    const folders = [...new Set([shippedSandbox, sandbox])].map((folder) => path.join(folder, 'saved_skills'));
    this.problems = await seedBuiltins(this, folders);
    this.#isUsed = true;
  });

  constructor(
    readonly context: ExtensionContext<Config>,
    readonly skills: SkillStore,
    private readonly runs: RunStore,
  ) {}

  /** Whether anything was ever saved here: before, no query is built and no table made. */
  async isUsed(): Promise<boolean> {
    if (this.#isUsed) return true;
    const found = await this.context.database.get('SELECT count(*) AS runs FROM saved_skills__runs').catch(() => null); // there is no such table
    return (this.#isUsed = found !== null);
  }

  async person({ userId, asAdmin }: ActingUser): Promise<Person> {
    return { userId, isAdmin: asAdmin ?? (await this.context.use(Permissions).isAdmin(userId)) };
  }

  /** The skill that a person means by `owner/name` or a name: their own, one that ships, the only other one that they may see. */
  async find(reference: string, person: Person, verb: Verb = 'see'): Promise<StoredSkill> {
    const found = await this.#meant(reference, person);
    const verdict = verdictOn(verb, found.skill, person);
    if (verdict === 'yes') return found;
    if (verdict === 'not_found') throw await this.#notFound(reference, person);
    if (verdict === 'not_pinned')
      throw new PithError('not_pinned', `'${referenceOf(found.skill)}' cannot be run by others yet: no version of it is pinned`, {
        cure: `an administrator pins one: pith saved pin ${referenceOf(found.skill)}`,
      });
    const whose = verb === 'pin' ? 'administrators' : 'its owner and administrators';
    const what = verb === 'pin' || verb === 'edit' ? 'do this with' : verb;
    throw new PithError('not_allowed', `only ${whose} may ${what} '${referenceOf(found.skill)}'`, {
      cure: `ask one of them; you are '${person.userId}'`,
    });
  }

  /** All that a person may see. */
  async list(
    person: Person,
    { tag, deprecated = false }: { readonly tag?: string; readonly deprecated?: boolean } = {},
  ): Promise<readonly SavedSkill[]> {
    await this.ready();
    const visible = (await this.skills.all()).filter((skill) => maySee(skill, person));
    return visible.filter(
      (skill) =>
        (deprecated ? skill.deprecated_by_agent_id !== null : skill.deprecated_by_agent_id === null) &&
        (tag === undefined || skill.tags.includes(tag.trim().toLowerCase())),
    );
  }

  /** Those that run on a timetable and that a person governs: also retired ones do. */
  async scheduled(person: Person): Promise<readonly SavedSkill[]> {
    await this.ready();
    return (await this.skills.all()).filter((skill) => skill.schedule !== null && verdictOn('schedule', skill, person) === 'yes');
  }

  async create(name: string, file: SkillFile, person: Person): Promise<SavedSkill> {
    await this.ready();
    const now = this.context.clock.now();
    const draft = parsedSkill({
      ...file,
      id: randomUUID(),
      owner_id: person.userId,
      name,
      source: 'manual',
      created_at: now,
      updated_at: now,
      authored_by: person.userId,
    });
    const skill = await checked(this, { before: null, after: draft, by: person, makesVersion: true });
    await this.skills.insert(skill, await versionOf(this, skill, 1));
    if (skill.schedule !== null) await this.#replan(skill);
    return skill;
  }

  /** Changes what `file` names. Content of builtins is that of their files. */
  async edit(reference: string, file: SkillFile, person: Person): Promise<SavedSkill> {
    const found = await this.find(reference, person, 'edit');
    const { skill } = found;
    const { id: _, ...given } = file;
    const keys = Object.keys(given);
    if (skill.source === 'builtin' && keys.some((key) => VERSIONED.includes(key)))
      throw new PithError('not_allowed', `'${skill.name}' ships: its text comes from its file`, {
        cure: `save a skill of your own, or edit the file in sandbox/saved_skills`,
      });
    return this.#change(found, given, person);
  }

  /** Takes an operation of governance: `change` says what becomes of the skill. */
  async govern(reference: string, person: Person, verb: Verb, change: (skill: SavedSkill) => Partial<SavedSkill>): Promise<SavedSkill> {
    const found = await this.find(reference, person, verb);
    return this.#change(found, change(found.skill), person);
  }

  /** Runs it on a timetable from now on; null: no more. */
  async schedule(reference: string, cron: string | null, zone: string | null, person: Person): Promise<SavedSkill> {
    const { skill } = await this.find(reference, person, 'schedule');
    if (cron !== null) checkUnattended(skill, (await this.versionOfOwner(skill)).snapshot.input_schema);
    return this.govern(reference, person, 'schedule', () => ({ schedule: cron, time_zone: cron === null ? null : zone }));
  }

  /** Hides it in favour of an agent or another skill; null: it is listed again. */
  async retire(reference: string, by: string | null, person: Person): Promise<SavedSkill> {
    const { skill } = await this.find(reference, person, 'edit');
    if (by !== null && !(await this.#isAgent(by))) {
      const other = await this.find(by, person).catch((error: unknown) => {
        if (codeOf(error, '') !== 'not_found') throw error;
        throw new PithError('not_found', `there is neither an agent nor a saved skill '${by}'`, {
          cure: 'see: pith agents list, or: pith saved list',
        });
      });
      if (other.skill.id === skill.id)
        throw new PithError('usage', `'${by}' cannot take its own place`, { cure: 'name another, or delete it' });
    }
    return this.govern(reference, person, 'edit', () => ({ deprecated_by_agent_id: by }));
  }

  /** What took the place of a retired skill, such as `the agent 'helper'`; null: it is not retired. */
  async successorOf({ deprecated_by_agent_id: by }: SavedSkill): Promise<string | null> {
    return by === null ? null : `the ${(await this.#isAgent(by)) ? 'agent' : 'saved skill'} '${by}'`;
  }

  /** The version `id`, else the newest one, is what others run from now on. */
  async pin(reference: string, id: string | null, person: Person): Promise<SavedSkill> {
    const { skill } = await this.find(reference, person, 'pin');
    const version = id === null ? await this.skills.newest(skill.id) : await this.#versionNamed(skill, id);
    if (version !== null) pinnedSkills(referenceOf(skill), version); // throws where it could not be run as it was saved
    const now = this.context.clock.now();
    return this.govern(reference, person, 'pin', () => ({
      pinned_version_id: version?.id ?? null,
      pinned_at: now,
      pinned_by: person.userId,
    }));
  }

  async unpin(reference: string, person: Person): Promise<SavedSkill> {
    return this.govern(reference, person, 'pin', () => ({ pinned_version_id: null, pinned_at: null, pinned_by: null }));
  }

  /** What this person would delete: also a skill whose row cannot be read, of which no more than this is known. */
  async deletable(reference: string, person: Person): Promise<StoredSkill | FoundSkill> {
    try {
      return await this.find(reference, person, 'delete');
    } catch (error) {
      if (codeOf(error, '') !== 'skill_damaged') throw error;
      const found = await named(reference, person, (owner, name) => this.skills.damagedNamed(owner, name));
      if (found !== null && (person.isAdmin || isOwner(found.skill, person))) return found;
      throw await this.#notFound(reference, person);
    }
  }

  /** Rejects `in_use` while another skill has it as a tool; also while the text of one names it that may run others, unless `despiteMentions`. */
  async remove(reference: string, person: Person, { despiteMentions = false } = {}): Promise<void> {
    const found = await this.deletable(reference, person);
    const { skill } = found;
    if ('source' in skill && skill.source === 'builtin')
      throw new PithError('not_allowed', `'${skill.name}' ships, and is stored again at the next start`, {
        cure: `hide it instead: pith saved retire ${skill.name} --by AGENT`,
      });
    if ('source' in skill) await this.#requireUnused(skill, person, despiteMentions);
    await this.skills.remove(found);
    await this.#replan({ ...found.skill, schedule: null, time_zone: null });
  }

  /** What a run of this skill by this person executes. Rejects `version_unknown` where that is gone: no other text takes its place. */
  async versionFor(skill: SavedSkill, person: Person, draft = false): Promise<RunnableVersion> {
    const version = await this.#versionFor(skill, person, draft);
    if (version !== null) return version;
    const isPinned = runsPinned(skill, person, draft);
    throw new PithError('version_unknown', `'${referenceOf(skill)}' has ${isPinned ? 'lost the version that is pinned' : 'no version'}`, {
      cure: isPinned ? `an administrator pins another: pith saved pin ${referenceOf(skill)}` : 'save it again',
    });
  }

  /** Those of `skills` that this person may run, with the inputs of the version that they run. */
  async runnable(
    skills: readonly SavedSkill[],
    person: Person,
  ): Promise<readonly { readonly skill: SavedSkill; readonly inputs: readonly InputField[] }[]> {
    const open = skills.filter((skill) => verdictOn('run', skill, person) === 'yes');
    const versions = await Promise.all(open.map((skill) => unlessDamaged(this.#versionFor(skill, person, false))));
    return open.flatMap((skill, index) => {
      const version = versions[index] ?? null;
      return version === null ? [] : [{ skill, inputs: version.snapshot.input_schema }];
    });
  }

  /** How far a run of this version may go. */
  async boundsOf({ extended_bounds, source }: SavedSkill, { authoredBy, snapshot }: SkillVersion): Promise<Bounds> {
    const byAdmin = authoredBy !== null && (await this.context.use(Permissions).isAdmin(authoredBy));
    return boundsOf({ ...snapshot, extended_bounds, source }, byAdmin, this.context.config);
  }

  /** Queues a run for a person. */
  async run(reference: string, person: Person, asked: Asked): Promise<Run> {
    const { skill } = await this.find(reference, person, 'run');
    if (asked.draft === true && !person.isAdmin && !isOwner(skill, person))
      throw new PithError('not_allowed', `only its owner and administrators run the draft of '${referenceOf(skill)}'`, {
        cure: 'leave out --draft',
      });
    const version = await this.versionFor(skill, person, asked.draft);
    const run = await this.newRun(skill, version, { ...asked, userId: person.userId, actsAs: person.userId, by: person });
    await this.#arrive(run);
    return this.runs.known(run.id);
  }

  /** Queues a run as the owner for somebody outside. False: it was queued before. */
  async startForOwner(
    skillId: string,
    { runId: id, inputs, priority }: { readonly runId: string; readonly inputs: GivenInputs; readonly priority?: number | undefined },
  ): Promise<boolean> {
    await this.ready();
    const found = await this.skills.byId(skillId);
    if (found === null) throw new PithError('not_found', 'the saved skill is gone', { cure: 'see: pith saved list' });
    return this.#arrive(await this.#ownersRun(found.skill, { inputs, priority, cause: 'webhook', id }));
  }

  async #isAgent(id: string): Promise<boolean> {
    return (await this.context.agents.list()).some((agent) => agent.id === id);
  }

  /** A run as the owner, where nobody with a name asks for it. */
  async #ownersRun(skill: SavedSkill, asked: Omit<Asked, 'origin'>): Promise<NewRun> {
    const owner = ownerOf(skill);
    const as = { origin: NO_ORIGIN, userId: owner, actsAs: owner, by: await this.person({ userId: owner }) };
    return this.newRun(skill, await this.versionOfOwner(skill), { ...asked, ...as });
  }

  async versionOfOwner(skill: SavedSkill): Promise<RunnableVersion> {
    return this.versionFor(skill, { userId: '', isAdmin: true });
  }

  /** A run as it will be queued. */
  async newRun(skill: SavedSkill, version: RunnableVersion, asked: AskedBy): Promise<NewRun> {
    const fields = version.snapshot.input_schema;
    const inputs = readInputs(fields, asked.inputs);
    await checkFiles(fields, inputs, this.context.use(Places).project);
    const named = namedThread(asked.inputs);
    const { execution_lane } = skill;
    const isGone = execution_lane !== '' && !hasLane(this.context.config, execution_lane);
    if (isGone && asked.cause !== 'composed')
      this.context.logger.warn('a run waits in the default lane: the settings have no lane of that name', {
        skill: referenceOf(skill),
        lane: execution_lane,
      });
    return {
      id: asked.id ?? this.#nextId(this.context.clock.now()),
      skill_id: skill.id,
      skill: referenceOf(skill),
      version_id: version.id,
      version: version.version,
      pinned: Number(version.isPinned),
      user_id: asked.userId,
      acts_as: asked.actsAs,
      cause: asked.cause,
      inputs: JSON.stringify(inputs),
      origin: JSON.stringify(named === undefined ? asked.origin : { ...asked.origin, named }),
      parent_id: null,
      depth: 0,
      lane: isGone || execution_lane === '' ? DEFAULT_LANE : execution_lane,
      priority: this.#priority(skill, asked.priority, asked.by),
      preemptible: Number(skill.preemptible),
    };
  }

  /** As what a version of a skill runs. */
  specOf(skill: SavedSkill, { isPinned, ...version }: RunnableVersion, bounds: Bounds): AgentSpec {
    const { snapshot } = version;
    const uses = isPinned ? pinnedSkills(referenceOf(skill), version) : snapshot.uses_skills;
    const spec = specOf({ ...skill, ...snapshot, tools: [...snapshot.tools, `${this.context.id}/update_status`] }, uses, bounds);
    return this.context.find(SkillProvider).length > 0 ? spec : { ...spec, keys: {} };
  }

  /** Plans what timetables say: another version of Pith may have saved them, or a process ended before it had planned them. */
  async planAll(): Promise<void> {
    for (const skill of await this.skills.all())
      if (skill.schedule !== null)
        await this.#plan(skill).catch((error: unknown) => {
          if (codeOf(error, '') !== 'parameter_invalid') throw error;
          this.context.logger.warn('a saved skill no longer runs by itself: its timetable cannot be read', {
            skill: skill.name,
            reason: messageOf(error),
            cure: `pith saved schedule ${skill.name} …`,
          });
        });
  }

  /** Queues the run of a tick, whose id is that of the tick's job: it is queued once. */
  async tick({ id: runId, payload }: Job<{ readonly skill: string }>): Promise<void> {
    const { clock, jobs, logger } = this.context;
    const found = await this.skills.byId(payload.skill);
    if (found === null || found.skill.schedule === null) return jobs.schedule(payload.skill, null);
    const { skill } = found;
    const change = { last_scheduled_run_at: clock.now() };
    try {
      const run = await this.#ownersRun(skill, { inputs: {}, cause: 'schedule', id: runId });
      await this.#arrive(run, (db) => [this.skills.changing(db, found, change)]);
    } catch (error) {
      if (['write_conflict', 'database_failed'].includes(codeOf(error, ''))) throw error; // it is tried again
      logger.warn('a scheduled run could not be queued', { skill: skill.name, reason: messageOf(error) });
      await this.skills.update(found, change); // the tick is over all the same
    }
  }

  /** As `#plan`, for a timetable that was set or ended. */
  async #replan(skill: Timed): Promise<void> {
    await this.#plan(skill);
    this.context.events.publish(savedRescheduled, { skillId: skill.id, userId: ownerOf(skill) });
  }

  /** Has a skill run by its timetable, or no longer. */
  async #plan({ id, schedule, time_zone: zone }: Timed): Promise<void> {
    const timetable = schedule === null ? null : { cron: withoutNickname(schedule), ...(zone === null ? {} : { zone }) };
    await this.context.jobs.schedule(id, timetable && { ...timetable, name: 'tick', payload: { skill: id } });
  }

  async #versionFor(skill: SavedSkill, person: Person, draft: boolean): Promise<RunnableVersion | null> {
    const isPinned = runsPinned(skill, person, draft);
    const { skills } = this;
    const version = await (isPinned ? skills.version(skill.id, skill.pinned_version_id as string) : skills.newest(skill.id));
    return version === null ? null : { ...version, isPinned };
  }

  async #requireUnused(skill: SavedSkill, person: Person, despiteMentions: boolean): Promise<void> {
    const { declared, mentioned } = await this.#composers(skill);
    const named = (others: readonly SavedSkill[]): string => {
      const visible = others.filter((other) => maySee(other, person)).map(referenceOf);
      return (visible.length === others.length ? visible : [...visible, 'skills that you may not see']).join(', ');
    };
    const retire = `retire it instead: pith saved retire ${referenceOf(skill)} --by AGENT`;
    if (declared.length > 0) throw new PithError('in_use', `'${skill.name}' is composed by ${named(declared)}`, { cure: retire });
    if (mentioned.length > 0 && !despiteMentions)
      throw new PithError('in_use', `'${skill.name}' is named in the text of ${named(mentioned)}, which may run it`, {
        cure: `${retire}; where another thing is meant: pith saved delete ${referenceOf(skill)} --despite-mentions`,
      });
  }

  /** Skills that run this one, as they or their pinned versions declare, or as their text may mean, of owners who may do so. */
  async #composers(skill: SavedSkill): Promise<Record<'declared' | 'mentioned', readonly SavedSkill[]>> {
    const found = { declared: [] as SavedSkill[], mentioned: [] as SavedSkill[] };
    for (const other of await this.skills.all()) {
      if (other.id === skill.id) continue;
      const { owner_id, pinned_version_id } = other;
      if (owner_id !== null && verdictOn('run', skill, await this.person({ userId: owner_id })) !== 'yes') continue;
      const pinned = pinned_version_id === null ? null : await unlessDamaged(this.skills.version(other.id, pinned_version_id));
      const texts: readonly Text[] = [other, ...(pinned === null ? [] : [pinned.snapshot])];
      if (texts.some((text) => hasAsTool(text, skill))) found.declared.push(other);
      else if (texts.some((text) => mentions(text, skill))) found.mentioned.push(other);
    }
    return found;
  }

  /** False: a run of that id is there already. */
  #arrive(run: NewRun, more?: Parameters<RunStore['arrive']>[2]): Promise<boolean> {
    return this.runs.arrive(run, rulesOf(this.context.config, run.lane), more);
  }

  /** An override beyond what users may have is cut to it. */
  #priority({ default_priority }: SavedSkill, wanted: number | undefined, by: Person): number {
    if (wanted === undefined) return default_priority;
    const most = this.context.config.priority_max_per_user;
    return by.isAdmin ? wanted : Math.max(-most, Math.min(most, wanted));
  }

  async #change(found: StoredSkill, given: Partial<SavedSkill>, person: Person): Promise<SavedSkill> {
    const { skill } = found;
    const isNew = Object.keys(given).some((key) => VERSIONED.includes(key));
    const after = parsedSkill({
      ...skill,
      ...given,
      ...(isNew && given.version === undefined ? { version: nextPatch(skill.version) } : {}),
      ...(isNew && skill.source === 'manual' ? { authored_by: person.userId } : {}),
      updated_at: this.context.clock.now(),
    });
    const saved = await checked(this, { before: skill, after, by: person, makesVersion: isNew });
    const version = isNew ? await versionOf(this, saved, await this.skills.nextNumber(skill.id)) : null;
    const stored = await this.skills.update(found, differences(skill, saved), version);
    if (saved.schedule !== skill.schedule || saved.time_zone !== skill.time_zone) await this.#replan(saved);
    return stored;
  }

  /** By its id, its number or its version. Rejects `version_unknown`, also for one of another skill. */
  async #versionNamed(skill: SavedSkill, named: string): Promise<SkillVersion> {
    const all = await this.skills.versions(skill.id);
    const found = all.find(({ id, number, version }) => id === named || String(number) === named || version === named);
    if (found !== undefined) return found;
    throw new PithError('version_unknown', `'${referenceOf(skill)}' has no version '${named}'`, {
      cure: `see: pith saved versions ${referenceOf(skill)}`,
    });
  }

  async #meant(reference: string, person: Person): Promise<StoredSkill> {
    await this.ready();
    const { skills } = this;
    const meant = await named(reference, person, (owner, name) => skills.byName(owner, name));
    if (meant !== null && maySee(meant.skill, person)) return meant;
    const others = (await skills.allNamed(reference)).filter((skill) => maySee(skill, person));
    const [only] = others;
    if (only !== undefined && others.length === 1) {
      const found = await skills.byId(only.id);
      if (found !== null) return found;
    }
    if (others.length > 1)
      throw new PithError('ambiguous', `several people have a skill '${reference}': ${others.map(referenceOf).join(', ')}`, {
        cure: 'name it as owner/name',
      });
    throw await this.#notFound(reference, person);
  }

  async #notFound(reference: string, person: Person): Promise<PithError> {
    const visible = (await this.skills.all()).filter((skill) => maySee(skill, person)).flatMap((skill) => [skill.name, referenceOf(skill)]);
    return new PithError('not_found', `there is no saved skill '${reference}'${didYouMean(reference, [...new Set(visible)])}`, {
      cure: 'see: pith saved list',
    });
  }
}

/** What is stored as `owner/name`, or under a name for this person: their own, else one that ships. */
async function named<T>(
  reference: string,
  { userId }: Person,
  stored: (owner: string | null, name: string) => Promise<T | null>,
): Promise<T | null> {
  const slash = reference.indexOf('/');
  if (slash >= 0) return stored(reference.slice(0, slash), reference.slice(slash + 1));
  return (await stored(userId, reference)) ?? stored(null, reference);
}

/** null where its row is damaged: one costs itself only. */
async function unlessDamaged<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (codeOf(error, '') === 'skill_damaged') return null;
    throw error;
  }
}

/** As whom a skill runs when nobody asks for it: its owner; of a builtin the local user. */
function ownerOf({ owner_id }: Pick<SavedSkill, 'owner_id'>): string {
  return owner_id ?? 'local';
}

function hasAsTool({ tools }: Text, skill: SavedSkill): boolean {
  return skill.expose_as_chatbot_tool && tools.includes(`saved_skills/${toolNameOf(skill)}`);
}

/** Whether a text may run others and has the name of this one as a word, in whatever the model reads of it. */
function mentions({ tools, system_prompt, initial_message, input_schema }: Text, skill: SavedSkill): boolean {
  if (!tools.some((tool) => /\/skill_invoke(?:_parallel)?$/.test(tool))) return false;
  const values = input_schema.flatMap(({ default: value, choices }) => [...(value === null ? [] : [value]), ...choices]);
  const name = new RegExp(`(?<![\\w-])${skill.name}(?![\\w-])`);
  return [system_prompt, initial_message, ...values].some((text) => name.test(text));
}

type Timed = Pick<SavedSkill, 'id' | 'owner_id' | 'schedule' | 'time_zone'>;

type Text = Pick<SavedSkill, 'tools' | 'system_prompt' | 'initial_message' | 'input_schema'>;

function nextPatch(version: string): string {
  const [major = '1', minor = '0', patch = '0'] = version.split('-', 1)[0]?.split('.') ?? [];
  return `${major}.${minor}.${Number(patch) + 1}`;
}

function differences(before: SavedSkill, after: SavedSkill): Partial<SavedSkill> {
  return Object.fromEntries(
    Object.entries(after).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key as keyof SavedSkill])),
  );
}
