import { randomUUID } from 'node:crypto';
import { codeOf, PithError, type AgentSpec, type ExtensionContext, Permissions } from 'pith';
import { SkillWriter } from 'pith/skill_registry';
import type { Config } from '../config.ts';
import { checkTemplate } from '@pith/guarded-templates';
import { cleanTags, referenceOf, type Field, type SavedSkill } from '../domain/saved-skill.ts';
import { inputSchemaProblems, type InputField } from '../domain/inputs.ts';
import { limitProblems, type Bounds, maySee, type Person } from '../domain/permissions.ts';
import { checkTimetable, nextOf } from '../domain/timetable.ts';
import { channelFor, channelNames, channelsOf, kindOf } from '../runs/deliveries.ts';
import { hasLane } from '../runs/lanes.ts';
import { snapshotOf, type SkillVersion, type SkillStore } from '../store/skill-store.ts';
import { isOwnTool, namedTools, notForAuthor, notForSharing, refOf, toolNameOf } from './tool-names.ts';

/** Only administrators set these. */
const OF_ADMINS = ['extended_bounds', 'parallel_composition_allowed', 'execution_lane', 'pending_approval'] as const;
/** What an exposed skill is called, and where. */
const EXPOSURE = ['expose_as_chatbot_tool', 'chatbot_tool_name', 'chatbot_channel_filter', 'name'] as const;

/** What saving needs of the extension. */
export interface Saver {
  readonly context: ExtensionContext<Config>;
  readonly skills: SkillStore;
}

export interface Saving {
  /** As it is; null: it is new. */
  readonly before: SavedSkill | null;
  readonly after: SavedSkill;
  readonly by: Person;
  /** It is saved with a new version: what a run is made of is checked as a whole, for `by` is its author. */
  readonly makesVersion: boolean;
}

/**
 * The skill as it may be saved: names of tools whole, tags clean, the next time of its schedule known. Throws why it may not, and nothing is
 * written. Of what is no part of a version only changes are checked: who stops or hides a skill is not refused for what was there before.
 */
export async function checked(saver: Saver, { before, after, by, makesVersion }: Saving): Promise<SavedSkill> {
  const { config, clock } = saver.context;
  const isBuiltin = after.source === 'builtin';
  const isChanged = (...keys: readonly Field[]) => before === null || keys.some((key) => before[key] !== after[key]);
  if (!by.isAdmin && !isBuiltin) refuseGovernance(before, after);
  if (makesVersion) checkInputsAndLimits(config, after, by);
  if (isChanged('default_priority'))
    await about(['default_priority'], () => checkPriority(after.default_priority, by, config.priority_max_per_user));
  if (isChanged('execution_lane')) await about(['execution_lane'], () => checkLane(after.execution_lane, config));
  const { schedule, time_zone: timeZone } = after;
  if (schedule !== null && isChanged('schedule', 'time_zone'))
    await about(['schedule'], () => checkTimetable(schedule, timeZone, clock.now()));
  if (schedule !== null && after.pinned_version_id === null && isChanged('schedule', 'input_schema'))
    await about(['input_schema'], () => checkUnattended(after, after.input_schema));
  const isShown = after.visibility !== 'private' && isChanged('visibility');
  const tools = !isBuiltin && (makesVersion || isShown) ? await about(['tools'], () => checkedTools(saver, after, by)) : after.tools;
  if (makesVersion) await about(['initial_message'], () => checkMessage(after));
  if (isChanged(...EXPOSURE)) await checkExposure(saver, after, by);
  if (!isBuiltin) await about(['output_target', 'target'], () => checkTarget(saver, before, after));
  const tags = await about(['tags'], () => cleanTags(after.tags));
  const saved = { ...after, tools: [...tools], tags: [...tags] };
  if (makesVersion) await checkAgent(saver, saved);
  return { ...saved, next_run_at: nextOf(saved, clock.now()) };
}

/** What `check` throws is about this place of the document, unless it names others. */
async function about<T>(path: readonly (string | number)[], check: () => T | Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof PithError) || error.issues.length > 0) throw error;
    const { code, message } = error;
    throw new PithError(code, message, { ...error, cause: error, issues: [{ path, message }] });
  }
}

function checkLane(lane: string, config: Config): void {
  if (lane === '' || hasLane(config, lane)) return;
  throw new PithError('lane_unknown', `there is no lane '${lane}'`, { cure: 'name one of extensions.saved_skills.lanes' });
}

/** Throws `input_missing` where a run that nobody gives inputs to could not begin. */
export function checkUnattended(skill: SavedSkill, fields: readonly InputField[]): void {
  const missing = fields.filter((field) => field.required && field.default === null).map(({ name }) => name);
  if (missing.length > 0)
    throw new PithError('input_missing', `'${referenceOf(skill)}' cannot run on a timetable: nobody gives it ${missing.join(', ')}`, {
      cure: 'give each required input a default',
    });
}

function checkInputsAndLimits(config: Config, after: SavedSkill, by: Person): void {
  const problems = inputSchemaProblems(after.input_schema);
  if (problems.length > 0)
    throw new PithError('input_schema_invalid', textOf(problems), {
      cure: 'correct input_schema',
      issues: problems.map(({ path, message }) => ({ path: ['input_schema', ...path], message })),
    });
  const beyond = limitProblems(after, by.isAdmin, config);
  if (beyond.length > 0)
    throw new PithError('limit_exceeded', textOf(beyond), {
      issues: beyond,
      cure: `ask for less, or let an administrator grant more: pith saved grant-extended ${referenceOf(after)}`,
    });
}

const textOf = (issues: PithError['issues']): string => issues.map(({ message }) => message).join('; ');

function refuseGovernance(before: SavedSkill | null, after: SavedSkill): void {
  const defaults = before ?? { extended_bounds: false, parallel_composition_allowed: false, execution_lane: '', pending_approval: false };
  const set = OF_ADMINS.filter((key) => after[key] !== defaults[key]);
  if (set.length > 0)
    throw new PithError('not_allowed', `only an administrator sets ${set.join(', ')}`, {
      cure: 'leave it out, or ask one',
      issues: set.map((key) => ({ path: [key], message: `only an administrator sets ${key}` })),
    });
}

/** Throws `priority_out_of_range` for a user's wish beyond what users may have. */
function checkPriority(priority: number, by: Person, most: number): void {
  if (by.isAdmin || Math.abs(priority) <= most) return;
  throw new PithError('priority_out_of_range', `priority ${priority} is not between -${most} and ${most}`, {
    cure: 'choose one between, or ask an administrator',
  });
}

async function checkedTools({ context }: Saver, { tools: names, visibility }: SavedSkill, by: Person): Promise<readonly string[]> {
  if (names.length === 0) return [];
  const tools = namedTools(names, await context.use(Permissions).tools());
  const refused = notForAuthor(tools, by.isAdmin);
  if (refused.length > 0)
    throw new PithError('tool_not_allowed', `only administrators save skills with ${refused.join(', ')}`, {
      cure: 'leave them out, or ask one',
    });
  const unsafe = visibility === 'private' || by.isAdmin ? [] : notForSharing(tools);
  if (unsafe.length > 0)
    throw new PithError('not_safe_to_share', `a skill with ${unsafe.join(', ')} must stay private`, {
      cure: 'keep it private, or leave them out',
    });
  return tools.map(({ ref }) => ref);
}

async function checkMessage({ initial_message: text, input_schema }: SavedSkill): Promise<void> {
  if (text === '') return;
  const [problem] = await checkTemplate(text, Object.fromEntries(input_schema.map(({ name }) => [name, ''])), []);
  if (problem !== undefined)
    throw new PithError(problem.code, `initial_message: ${problem.message}`, { cure: problem.cure ?? 'use the names of inputs' });
}

async function checkExposure({ skills, context }: Saver, skill: SavedSkill, by: Person): Promise<void> {
  if (!skill.expose_as_chatbot_tool) return;
  const name = toolNameOf(skill);
  const taken = (await skills.exposed()).find((other) => other.id !== skill.id && toolNameOf(other) === name);
  const shared = (await context.use(Permissions).tools()).find((tool) => tool.name === name && tool.extensionId !== context.id);
  if (taken !== undefined || shared !== undefined || isOwnTool(name)) {
    const owner = taken === undefined ? shared && refOf(shared) : maySee(taken, by) && referenceOf(taken);
    const whose = owner ? `that of '${owner}'` : 'taken';
    throw new PithError('name_taken', `the tool name '${name}' is ${whose}`, {
      cure: 'choose another: --as NAME, or chatbot_tool_name in a file',
      issues: [{ path: ['chatbot_tool_name'], message: `the tool name '${name}' is ${whose}` }],
    });
  }
  const filter = skill.chatbot_channel_filter;
  if (filter === '') return;
  const known = await channelNames(context);
  if (known.has(filter)) return;
  const message = `there is no channel '${filter}'`;
  throw new PithError('channel_unknown', message, {
    cure: `use one of ${[...known].join(', ')}`,
    issues: [{ path: ['chatbot_channel_filter'], message }],
  });
}

/** Only a target that is new: what was saved stays what it is where a channel is gone. */
async function checkTarget({ context }: Saver, before: SavedSkill | null, { output_target: { target } }: SavedSkill): Promise<void> {
  if (target === '' || target === before?.output_target.target) return;
  channelFor(target, await channelsOf(context));
  if (kindOf(target) !== 'webhook') return;
  const address = URL.canParse(target) ? new URL(target) : null;
  if (address === null || address.username !== '' || address.password !== '')
    throw new PithError('target_invalid', 'output_target: the target is not an address, or has a user or password in it', {
      cure: 'write it as https://host/path',
    });
}

async function checkAgent({ context: { agents, config } }: Saver, skill: SavedSkill): Promise<void> {
  const problem = (await agents.check(specOf(skill, skill.uses_skills, config.defaults))).find(({ severity }) => severity === 'error');
  if (problem !== undefined) throw new PithError(problem.code, problem.message, problem.cure === undefined ? {} : { cure: problem.cure });
}

/** The version that a skill makes as it is now. The skills that it uses are kept as they are; one that cannot be kept has no digest. */
export async function versionOf({ context }: Saver, skill: SavedSkill, number: number, id: string = randomUUID()): Promise<SkillVersion> {
  const digests: Record<string, string> = {};
  for (const name of skill.uses_skills) {
    const digest = await keptVersion(context, name);
    if (digest !== null) digests[name] = digest;
  }
  const { id: skillId, version, authored_by: authoredBy } = skill;
  return { id, skillId, number, version, snapshot: snapshotOf(skill), digests, authoredBy, createdAt: context.clock.now() };
}

/** Keeps a skill as it is now, and returns how it is found from then on; null where there is none of that name, or nothing keeps any. */
async function keptVersion(context: Saver['context'], name: string): Promise<string | null> {
  try {
    return (await context.find(SkillWriter)[0]?.keepVersion(name)) ?? null;
  } catch (error) {
    if (['skill_not_found', 'version_not_kept'].includes(codeOf(error, ''))) return null; // then nobody pins it
    throw error;
  }
}

/** The skills of a version as they were when it was saved. Throws where one was not kept: a pin never reads what happens to be there. */
export function pinnedSkills(skill: string, { version, snapshot, digests }: Pick<SkillVersion, 'version' | 'snapshot' | 'digests'>) {
  const missing = snapshot.uses_skills.filter((name) => digests[name] === undefined);
  if (missing.length > 0)
    throw new PithError(
      'version_not_kept',
      `version ${version} of '${skill}' was saved without the text of ${missing.map((name) => `'${name}'`).join(', ')}`,
      {
        cure: `see that 'pith skills list' has it, and that its folder has no links; then save '${skill}' again (one that ships: with a higher version in its skill.yml)`,
      },
    );
  return snapshot.uses_skills.map((name) => digests[name] as string);
}

/** What a run works as: plain data like every agent. */
export function specOf(
  skill: Pick<SavedSkill, 'name' | 'owner_id' | 'description' | 'system_prompt' | 'tools' | 'model_tier'>,
  usesSkills: readonly string[],
  { max_iterations, max_tool_calls, max_runtime_seconds }: Bounds,
): AgentSpec {
  const { description, system_prompt, tools, model_tier } = skill;
  const id = referenceOf(skill);
  return {
    id,
    name: id,
    description,
    model: model_tier,
    integrationMode: 'none',
    instructions: system_prompt,
    prompt: null,
    promptFile: null,
    usesTools: tools,
    usesSkills,
    delegatesTo: [],
    limits: { max_turns: max_iterations, max_tool_calls, max_tokens: 10_000_000, time_budget_ms: max_runtime_seconds * 1000 },
    keys: { skills: { mode: 'none' } },
    origin: null,
  };
}
