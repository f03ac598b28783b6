import {
  type AgentSpec,
  codeOf,
  type Command,
  type CommandContext,
  type CommandIO,
  type ExtensionContext,
  type JsonValue,
  messageOf,
  PithError,
} from 'pith';
import { counted, didYouMean, printableLine } from '@pith/plain-text';
import { localTime, renderTable, widthOf } from '@pith/command-line';
import { SkillLibrary } from 'pith/skill_registry';
import { type Database, hasTables, type Ledger } from './ledger.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const RECENT = 10;

type StatsContext = CommandContext & Pick<ExtensionContext, 'database' | 'use'>;

interface Filter {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Absent: all agents. */
  readonly agent?: string;
}

/** The use of one skill: how often it was suggested with a message, and how often each thing was done with it. */
interface Usage {
  suggested: number;
  /** Counts by how it was loaded. */
  readonly loaded: Record<string, number>;
  resources: number;
  scripts: number;
  dropped: number;
  lastUsed: number | null;
}

export function stats(context: StatsContext, ledger: Ledger): Command {
  return {
    path: 'skills stats',
    description: 'Count how often skills were suggested, loaded and used',
    arguments: [{ name: 'id', description: 'one skill, with its last uses: id, display name or source/id' }],
    options: [
      { name: 'agent', short: 'a', type: 'string', description: 'in the turns of this agent' },
      { name: 'days', type: 'number', description: 'how many days back', default: DEFAULT_DAYS },
      { name: 'all', type: 'boolean', description: 'also skills that were not used' },
    ],
    async run({ arguments: { id }, options }, io) {
      const days = Number(options['days']);
      if (!Number.isFinite(days) || days <= 0)
        throw new PithError('usage', `--days must be a number above 0, not '${days}'`, {
          cure: 'leave it out, or write a number such as 30',
        });
      const agent = typeof options['agent'] === 'string' ? (await context.agents.find(options['agent'])).id : undefined;
      const filter: Filter = { since: context.clock.now() - days * DAY_MS, ...(agent === undefined ? {} : { agent }) };
      await ledger.flush();
      const period = `${days === 1 ? 'the last day' : `the last ${days} days`}${agent === undefined ? '' : `, agent ${agent}`}`;
      const skills = await usageOf(context.database, filter);
      const turns = await turnsOf(context.database, filter);
      if (typeof id !== 'string') return printAll(context, { skills, turns, period, all: options['all'] === true }, io);
      const known = skills.has(id) ? id : await idOf(context, id);
      const one = skills.get(known ?? id) ?? (known === null ? undefined : emptyUsage());
      if (one === undefined)
        throw new PithError(
          'skill_not_found',
          `nothing is recorded of a skill '${printableLine(id)}' in ${period}${didYouMean(id, [...skills.keys()])}`,
          {
            cure: 'see pith skills stats, or look further back with --days',
          },
        );
      const uses = await recentUses(context.database, known ?? id, filter, RECENT);
      return printOne(known ?? id, one, { turns, period, uses, days: await daysOf(context.database, known ?? id, filter) }, io);
    },
  };
}

/** The id of a reference's skill; null where there is none now. */
async function idOf(context: Pick<StatsContext, 'use' | 'logger'>, reference: string): Promise<string | null> {
  try {
    return (await context.use(SkillLibrary).named(reference)).id;
  } catch (error) {
    if (codeOf(error, '') !== 'skill_not_found') context.logger.debug(`'${reference}' is taken for an id: ${messageOf(error)}`);
    return null;
  }
}

interface Turns {
  readonly turns: number;
  /** Turns whose model was offered all skills that its agent may read. */
  readonly complete: number;
}

interface Shown {
  readonly skills: ReadonlyMap<string, Usage>;
  readonly turns: Turns;
  readonly period: string;
  readonly all: boolean;
}

async function printAll(context: StatsContext, { skills, turns, period, all }: Shown, io: CommandIO): Promise<void> {
  const { skills: known } = await context.use(SkillLibrary).records();
  const unused = known
    .filter(({ id, state }) => state === 'offered' && !skills.has(id))
    .map(({ id }): [string, Usage] => [id, emptyUsage()]);
  const listed = [...skills, ...(all || io.wantsJson ? unused : [])];
  const sorted = listed.sort(([a, x], [b, y]) => uses(y) - uses(x) || y.suggested - x.suggested || (a < b ? -1 : 1));
  io.json({ ...turns, skills: sorted.map(([id, one]) => ({ id, ...countsOf(one) })) });
  if (skills.size === 0 && turns.turns === 0) return io.print(`Nothing is recorded of ${period}: talk to an agent first.`);
  if (!io.quiet) io.print(`${turnsText(turns)} in ${period}`);
  if (sorted.length > 0) io.print(renderTable(sorted, COLUMNS, widthOf(io)));
  if (!all && unused.length > 0)
    io.print(
      `${unused.length} ${sorted.length > 0 ? 'more ' : ''}${unused.length === 1 ? 'skill was' : 'skills were'} not used; --all shows them`,
    );
}

const COLUMNS = [
  { title: 'ID', value: ([id]: readonly [string, Usage]) => id },
  { title: 'SUGGESTED', value: ([, { suggested }]: readonly [string, Usage]) => number(suggested) },
  { title: 'LOADED', value: ([, one]: readonly [string, Usage]) => number(loads(one)) },
  { title: 'RESOURCES', value: ([, { resources }]: readonly [string, Usage]) => number(resources) },
  { title: 'SCRIPTS', value: ([, { scripts }]: readonly [string, Usage]) => number(scripts) },
  { title: 'DROPPED', value: ([, { dropped }]: readonly [string, Usage]) => number(dropped) },
  { title: 'LAST USED', value: ([, { lastUsed }]: readonly [string, Usage]) => (lastUsed === null ? '' : localTime(lastUsed)) },
  { title: 'LOADED BY', value: ([, one]: readonly [string, Usage]) => howText(one) },
];

interface ShownOne extends Pick<Shown, 'turns' | 'period'> {
  readonly uses: readonly SkillUse[];
  readonly days: readonly DayOfUse[];
}

function printOne(id: string, one: Usage, { turns, period, uses: recent, days }: ShownOne, io: CommandIO): void {
  io.json({ id, ...turns, ...countsOf(one), days: days.map((day) => ({ ...day })), uses: recent.map(useJson) });
  io.print(`${printableLine(id)}: ${turnsText(turns)} in ${period}`);
  io.print(`suggested ${times(one.suggested)}, loaded ${times(loads(one))}${loads(one) === 0 ? '' : ` (${howText(one)})`}`);
  io.print(`resources read ${times(one.resources)}, scripts run ${times(one.scripts)}, dropped at compaction ${times(one.dropped)}`);
  const columns = [
    { title: 'TIME', value: ({ at }: SkillUse) => localTime(at) },
    { title: 'AGENT', value: ({ agent }: SkillUse) => agent },
    { title: 'THREAD', value: ({ thread }: SkillUse) => thread },
    { title: 'WHAT', value: useText, below: true },
  ];
  if (recent.length > 0) io.print(renderTable(recent, columns, widthOf(io)));
  io.print(`why it is not offered to an agent: pith skills explain ${printableLine(id)} --agent <id>`);
}

function turnsText({ turns, complete }: Turns): string {
  const rest = turns - complete;
  return `${counted(turns, 'turn')}${rest === 0 ? '' : ` (in ${rest} not all skills had a line)`}`;
}

/** The recorded use of all skills. */
async function usageOf(database: Database, filter: Filter): Promise<ReadonlyMap<string, Usage>> {
  const skills = new Map<string, Usage>();
  if (!(await hasTables(database))) return skills;
  const [where, values] = whereOf(filter);
  const rows = await database.all(
    `SELECT skill, state, how, count(*) AS count, max(at) AS at FROM skill_stats__uses WHERE ${where} GROUP BY skill, state, how`,
    ...values,
  );
  for (const { skill, state, how, count, at } of rows) {
    const usage = skills.get(String(skill)) ?? emptyUsage();
    skills.set(String(skill), usage);
    const times = Number(count);
    if (state === 'suggested') usage.suggested += times;
    if (state === 'loaded') usage.loaded[String(how)] = (usage.loaded[String(how)] ?? 0) + times;
    if (state === 'resource_read') usage.resources += times;
    if (state === 'script_run') usage.scripts += times;
    if (state === 'dropped') usage.dropped += times;
    if (state !== 'dropped' && state !== 'suggested') usage.lastUsed = Math.max(usage.lastUsed ?? 0, Number(at));
  }
  return skills;
}

async function turnsOf(database: Database, filter: Filter): Promise<Turns> {
  if (!(await hasTables(database))) return { turns: 0, complete: 0 };
  const [where, values] = whereOf(filter);
  const row = await database.get(
    `SELECT count(*) AS turns, coalesce(sum(offered = readable), 0) AS complete FROM skill_stats__turns WHERE ${where}`,
    ...values,
  );
  return { turns: Number(row?.['turns'] ?? 0), complete: Number(row?.['complete'] ?? 0) };
}

interface DayOfUse {
  /** Of UTC, such as `2026-01-31`. */
  readonly day: string;
  readonly suggested: number;
  readonly loaded: number;
  readonly resources: number;
  readonly scripts: number;
}

/** The days on which the skill was used, oldest first. */
async function daysOf(database: Database, skillId: string, filter: Filter): Promise<readonly DayOfUse[]> {
  if (!(await hasTables(database))) return [];
  const [where, values] = whereOf(filter);
  const count = (state: SkillUse['state']) => `sum(state = '${state}')`;
  const rows = await database.all(
    `SELECT at / ${DAY_MS} AS day, ${count('suggested')} AS suggested, ${count('loaded')} AS loaded, ${count('resource_read')} AS resources,
       ${count('script_run')} AS scripts FROM skill_stats__uses WHERE skill = ? AND ${where} GROUP BY 1 ORDER BY 1`,
    skillId,
    ...values,
  );
  return rows.map(({ day, suggested, loaded, resources, scripts }) => ({
    day: new Date(Number(day) * DAY_MS).toISOString().slice(0, 10),
    suggested: Number(suggested),
    loaded: Number(loaded),
    resources: Number(resources),
    scripts: Number(scripts),
  }));
}

interface SkillUse {
  readonly turn: string | null;
  readonly thread: string;
  readonly agent: string;
  readonly at: number;
  readonly state: 'suggested' | 'loaded' | 'resource_read' | 'script_run' | 'dropped';
  readonly how?: string;
  readonly sha256?: string;
  readonly path?: string;
  readonly exit?: number | null;
}

/** The skill's uses, newest first. */
async function recentUses(database: Database, skillId: string, filter: Filter, most: number): Promise<readonly SkillUse[]> {
  if (!(await hasTables(database))) return [];
  const [where, values] = whereOf(filter);
  const rows = await database.all(
    `SELECT turn, thread, agent, at, state, how, sha256, path, exit FROM skill_stats__uses WHERE skill = ? AND ${where} ORDER BY seq DESC LIMIT ?`,
    skillId,
    ...values,
    most,
  );
  return rows.map(({ turn, thread, agent, at, state, how, sha256, path, exit }) => ({
    turn: turn === null ? null : String(turn),
    thread: String(thread),
    agent: String(agent),
    at: Number(at),
    state: state as SkillUse['state'],
    ...(how === null ? {} : { how: String(how) }),
    ...(sha256 === null ? {} : { sha256: String(sha256) }),
    ...(path === null ? {} : { path: String(path) }),
    ...(state === 'script_run' ? { exit: exit === null ? null : Number(exit) } : {}),
  }));
}

const EXPLAINED = 5;

/** The last uses, for `skills explain`. */
export async function usesOf(
  { database, clock }: Pick<ExtensionContext, 'database' | 'clock'>,
  skillId: string,
  agent: AgentSpec | null,
): Promise<{ readonly lines: readonly string[]; readonly json: JsonValue }> {
  const filter = { since: clock.now() - DEFAULT_DAYS * DAY_MS, ...(agent === null ? {} : { agent: agent.id }) };
  const uses = await recentUses(database, skillId, filter, EXPLAINED);
  const lines = uses.map((use) => `used ${localTime(use.at)} by ${use.agent}: ${useText(use)}`);
  return { json: uses.map(useJson), lines: lines.length === 0 ? [`not used in the last ${DEFAULT_DAYS} days`] : lines };
}

function whereOf({ since, agent }: Filter): [string, (string | number)[]] {
  return agent === undefined ? ['at >= ?', [since]] : ['at >= ? AND agent = ?', [since, agent]];
}

function useJson({ at, ...use }: SkillUse): JsonValue {
  return { ...use, at: new Date(at).toISOString() } as unknown as JsonValue;
}

function useText({ state, how, sha256, path, exit }: SkillUse): string {
  switch (state) {
    case 'suggested':
      return 'suggested with the message';
    case 'loaded':
      return `loaded by ${how}, sha256 ${sha256?.slice(0, 12)}`;
    case 'resource_read':
      return `resource ${printableLine(String(path))} read`;
    case 'script_run':
      return `script ${printableLine(String(path))}: exit ${exit ?? 'none'}`;
    case 'dropped':
      return 'dropped at compaction';
  }
}

function emptyUsage(): Usage {
  return { suggested: 0, loaded: {}, resources: 0, scripts: 0, dropped: 0, lastUsed: null };
}

function countsOf({ lastUsed, ...counts }: Usage) {
  return { ...counts, loaded: { ...counts.loaded }, lastUsed: lastUsed === null ? null : new Date(lastUsed).toISOString() };
}

function loads({ loaded }: Usage): number {
  return Object.values(loaded).reduce((sum, count) => sum + count, 0);
}

function uses(usage: Usage): number {
  return loads(usage) + usage.resources + usage.scripts;
}

function howText({ loaded }: Usage): string {
  return Object.entries(loaded)
    .map(([how, count]) => `${how} ${count}`)
    .join(', ');
}

function number(count: number): string {
  return count === 0 ? '' : String(count);
}

function times(count: number): string {
  return count === 0 ? 'never' : count === 1 ? 'once' : `${count} times`;
}
