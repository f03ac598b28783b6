import { randomUUID } from 'node:crypto';
import { codeOf, PithError, type AgentSpec, type Diagnostic, type ExtensionContext, Permissions } from 'pith';
import { SkillWriter } from 'pith/skill_registry';
import type { Config } from '../config.ts';
import { checkTemplate } from '@pith/guarded-templates';
import { cleanTags, referenceOf, type Field, type SavedSkill } from '../domain/saved-skill.ts';
import { inputSchemaProblems, type InputField, type WrongField } from '../domain/inputs.ts';
import { limitProblems, type Bounds, maySee, type Person } from '../domain/permissions.ts';
import { checkTimetable, nextOf } from '../domain/timetable.ts';
import { channelFor, channelNames, channelsOf, kindOf } from '../runs/deliveries.ts';
import { hasLane } from '../runs/lanes.ts';
import { snapshotOf, type SkillVersion, type SkillStore } from '../store/skill-store.ts';
import { FieldChecks } from './field-checks.ts';
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
  const checks = new FieldChecks();
  const check = async (path: readonly (string | number)[], isDue: boolean, of: () => void | Promise<void>): Promise<void> =>
    isDue ? checks.of(path, undefined, of) : undefined;
  const { schedule, execution_lane: lane, default_priority: priority, input_schema: inputs } = after;
  await check([], !by.isAdmin && !isBuiltin, () => refuseGovernance(before, after));
  await check(['input_schema'], makesVersion, () => checkInputs(after));
  await check(['max_iterations'], makesVersion, () => checkLimits(config, after, by));
  await check(['default_priority'], isChanged('default_priority'), () => checkPriority(priority, by, config.priority_max_per_user));
  await check(['execution_lane'], isChanged('execution_lane') && !checks.isRefused('execution_lane'), () => checkLane(config, lane));
  const isTimed = schedule !== null && isChanged('schedule', 'time_zone');
  await check(['schedule'], isTimed, () => checkTimetable(String(schedule), after.time_zone, clock.now()));
  const isUnattended = schedule !== null && after.pinned_version_id === null && isChanged('schedule', 'input_schema');
  await check(['input_schema'], isUnattended, () => checkUnattended(after, inputs));
  const isShown = after.visibility !== 'private' && isChanged('visibility');
  const hasTools = !isBuiltin && (makesVersion || isShown);
  const tools = hasTools ? await checks.of(['tools'], after.tools, () => checkedTools(saver, after, by)) : after.tools;
  await check(['initial_message'], makesVersion, () => checkMessage(after));
  await check(['chatbot_tool_name'], isChanged(...EXPOSURE), () => checkToolName(saver, after, by));
  await check(['chatbot_channel_filter'], isChanged(...EXPOSURE), () => checkChannel(saver, after));
  await check(['output_target', 'target'], !isBuiltin, () => checkTarget(saver, before, after));
  const tags = await checks.of(['tags'], after.tags, () => cleanTags(after.tags));
  const saved = { ...after, tools: [...tools], tags: [...tags] };
  if (makesVersion) await checkAgent(saver, saved, checks);
  checks.settle();
  return { ...saved, next_run_at: nextOf(saved, clock.now()) };
}

/** Throws `input_missing` where a run that nobody gives inputs to could not begin. */
export function checkUnattended(skill: SavedSkill, fields: readonly InputField[]): void {
  const missing = fields.filter((field) => field.required && field.default === null).map(({ name }) => name);
  if (missing.length > 0)
    throw new PithError('input_missing', `'${referenceOf(skill)}' cannot run on a timetable: nobody gives it ${missing.join(', ')}`, {
      cure: 'give each required input a default',
    });
}

function checkInputs(after: SavedSkill): void {
  const problems = inputSchemaProblems(after.input_schema);
  if (problems.length > 0) throw new PithError('input_schema_invalid', textOf(problems), { cure: 'correct input_schema', problems });
}

function checkLimits(config: Config, after: SavedSkill, by: Person): void {
  const problems = limitProblems(after, by.isAdmin, config);
  if (problems.length > 0)
    throw new PithError('limit_exceeded', textOf(problems), {
      cure: `ask for less, or let an administrator grant more: pith saved grant-extended ${referenceOf(after)}`,
      problems,
    });
}

function textOf(problems: readonly WrongField[]): string {
  return problems.map(({ message }) => message).join('; ');
}

function checkLane(config: Config, lane: string): void {
  if (lane === '' || hasLane(config, lane)) return;
  throw new PithError('lane_unknown', `there is no lane '${lane}'`, { cure: 'name one of extensions.saved_skills.lanes' });
}

function refuseGovernance(before: SavedSkill | null, after: SavedSkill): void {
  const defaults = before ?? { extended_bounds: false, parallel_composition_allowed: false, execution_lane: '', pending_approval: false };
  const set = OF_ADMINS.filter((key) => after[key] !== defaults[key]);
  if (set.length > 0)
    throw new PithError('not_allowed', `only an administrator sets ${set.join(', ')}`, {
      cure: 'leave it out, or ask one',
      problems: set.map((key) => ({ path: [key], message: 'only an administrator sets it' })),
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

async function checkToolName({ skills, context }: Saver, skill: SavedSkill, by: Person): Promise<void> {
  if (!skill.expose_as_chatbot_tool) return;
  const name = toolNameOf(skill);
  const taken = (await skills.exposed()).find((other) => other.id !== skill.id && toolNameOf(other) === name);
  const shared = (await context.use(Permissions).tools()).find((tool) => tool.name === name && tool.extensionId !== context.id);
  if (taken !== undefined || shared !== undefined || isOwnTool(name)) {
    const owner = taken === undefined ? shared && refOf(shared) : maySee(taken, by) && referenceOf(taken);
    const whose = owner ? `that of '${owner}'` : 'taken';
    throw new PithError('name_taken', `the tool name '${name}' is ${whose}`, {
      cure: 'choose another: --as NAME, or chatbot_tool_name in a file',
    });
  }
}

async function checkChannel({ context }: Saver, { expose_as_chatbot_tool, chatbot_channel_filter: filter }: SavedSkill): Promise<void> {
  if (!expose_as_chatbot_tool || filter === '') return;
  const known = await channelNames(context);
  if (!known.has(filter))
    throw new PithError('channel_unknown', `there is no channel '${filter}'`, { cure: `use one of ${[...known].join(', ')}` });
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

/** As an agent: its model without them, then what its skills and its tools add. A field that was refused already is not refused again. */
async function checkAgent({ context: { agents, config } }: Saver, skill: SavedSkill, checks: FieldChecks): Promise<void> {
  const spec = specOf(skill, skill.uses_skills, config.defaults);
  const errorsOf = async (part: Partial<AgentSpec>): Promise<readonly Diagnostic[]> =>
    (await agents.check({ ...spec, usesSkills: [], usesTools: [], ...part })).filter(({ severity }) => severity === 'error');
  const withoutBoth = await errorsOf({});
  const added = async (part: Partial<AgentSpec>) =>
    (await errorsOf(part)).filter(({ message }) => !withoutBoth.some((other) => other.message === message));
  const found = [
    ['model_tier', withoutBoth],
    ['uses_skills', await added({ usesSkills: spec.usesSkills })],
    ['tools', await added({ usesTools: spec.usesTools })],
  ] as const;
  for (const [field, [problem]] of found)
    if (problem !== undefined && !checks.isRefused(field))
      await checks.of([field], undefined, () => {
        throw new PithError(problem.code, problem.message, problem.cure === undefined ? {} : { cure: problem.cure });
      });
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
        cure: `see that it is there: pith skills list; and that its folder has no links; then save '${skill}' again (one that ships: with a higher version in its skill.yml)`,
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
