import { type Command, type CommandContext, type CommandIO, type ExtensionContext, type JsonValue, PithError } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { reasonsAgainst, recentTurns, recentUses, type SkillTurn, type SkillUsage, usage, type UsageFilter } from '../ledger/usage.ts';
import { findSkill } from '../scan/names.ts';
import { LearnedExamples } from '../search/learned-examples.ts';
import { referenceOf } from '../triggers/decision.ts';
import { withRegistry } from './open-registry.ts';
import { needsPerson } from './person-needed.ts';
import { table, widthOf } from './rows.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const RECENT = 10;

export type StatsContext = CommandContext & { readonly database: ExtensionContext['database'] };

export function stats(context: StatsContext): Command {
  return {
    path: 'skills stats',
    description: 'Say how often skills were offered, loaded and used, and what kept them from it',
    arguments: [{ name: 'id', description: 'one skill, with its last turns: id, display name or source/id' }],
    options: [
      { name: 'agent', short: 'a', type: 'string', description: 'in the turns of this agent' },
      { name: 'days', type: 'number', description: 'in the last so many days', default: DEFAULT_DAYS },
      { name: 'all', type: 'boolean', description: 'also the skills that no turn was told of and that nobody used' },
      { name: 'forget', type: 'boolean', description: "remove what people's texts taught, of one skill or of all" },
      { name: 'yes', short: 'y', type: 'boolean', description: 'do not ask before it is removed' },
    ],
    async run(input, io, signal) {
      if (input.options['forget'] === true) {
        const { forget } = await import('./forget.ts');
        return needsPerson({ ...stats(context), run: () => forget(context, input, io) }).run(input, io, signal);
      }
      const {
        arguments: { id },
        options,
      } = input;
      const days = Number(options['days']);
      if (!Number.isFinite(days) || days <= 0) throw new PithError('usage', `--days must be a number above 0, not '${days}'`);
      const agent = typeof options['agent'] === 'string' ? (await context.agents.find(options['agent'])).id : undefined;
      const filter: UsageFilter = { since: context.clock.now() - days * DAY_MS, ...(agent === undefined ? {} : { agent }) };
      const { turns, skills } = await usage(context.database, filter);
      const learned = new LearnedExamples(context);
      await learned.look();
      const isLearning = context.config['learn_examples'] !== false;
      const period = `${days === 1 ? 'the last day' : `the last ${days} days`}${agent === undefined ? '' : `, agent ${agent}`}`;
      if (typeof id === 'string') {
        const known = skills.has(id) ? id : await knownAs(context, id);
        const one = skills.get(known);
        if (one === undefined)
          throw new PithError(
            'skill_not_found',
            `nothing is recorded of a skill '${id}' in ${period}${didYouMean(id, [...skills.keys()])}`,
            {
              cure: 'see pith skills stats, or look further back with --days',
            },
          );
        await printOne(known, { ...one, learned: learned.count(known), isLearning }, turns, period, context.database, filter, io);
      } else printAll(skills, { learnedOf: (id) => learned.count(id), used: isLearning, turns, period, all: options['all'] === true }, io);
    },
  };
}

/** The id by which the ledger keeps what a person names by a display name or `source/id`: that with the source for one that another shadows. */
async function knownAs(context: StatsContext, reference: string): Promise<string> {
  return withRegistry(context, (_registry, snapshot) => {
    const skill = findSkill(snapshot, reference);
    return skill === undefined ? reference : referenceOf(skill);
  });
}

interface Shown {
  readonly learnedOf: (id: string) => number;
  /** Whether what was learned is used. */
  readonly used: boolean;
  readonly turns: number;
  readonly period: string;
  readonly all: boolean;
}

function printAll(
  skills: ReadonlyMap<string, SkillUsage>,
  { learnedOf, used: learnedIsUsed, turns, period, all }: Shown,
  io: CommandIO,
): void {
  const sorted = [...skills].sort(([a, x], [b, y]) => used(y) - used(x) || y.offered - x.offered || (a < b ? -1 : 1));
  io.json({ turns, skills: sorted.map(([id, one]) => ({ id, ...countsOf(one), learned: learnedOf(id) })) });
  if (sorted.length === 0) {
    io.print(`Nothing is recorded of ${period}: talk to an agent first.`);
    return;
  }
  const told = all ? sorted : sorted.filter(([id, one]) => one.offered > 0 || used(one) > 0 || one.dropped > 0 || learnedOf(id) > 0);
  const rows = told.map(([id, one]) => [
    id,
    String(one.offered),
    number(loads(one)),
    number(one.resources),
    number(one.scripts),
    number(one.dropped),
    number(learnedOf(id)),
    one.lastUsed === null ? '' : timeOf(one.lastUsed),
    howText(one),
  ]);
  if (!io.quiet) io.print(`${turns} turn${turns === 1 ? '' : 's'} in ${period}`);
  if (rows.length > 0)
    io.print(table(['ID', 'OFFERED', 'LOADED', 'RESOURCES', 'SCRIPTS', 'DROPPED', 'LEARNED', 'LAST USED', 'LOADED BY'], rows, widthOf(io)));
  const never = sorted.length - told.length;
  if (never > 0)
    io.print(`${never} ${rows.length > 0 ? 'more ' : ''}${never === 1 ? 'skill was' : 'skills were'} never offered; --all shows them`);
  if (!learnedIsUsed && sorted.some(([id]) => learnedOf(id) > 0)) io.print(`What was learned is not used: ${SWITCHED_OFF}`);
}

const SWITCHED_OFF = 'skills.learn_examples is false';

async function printOne(
  id: string,
  { isLearning, ...one }: SkillUsage & { readonly learned: number; readonly isLearning: boolean },
  turns: number,
  period: string,
  database: ExtensionContext['database'],
  filter: UsageFilter,
  io: CommandIO,
): Promise<void> {
  const reasons = await reasonsAgainst(database, id, filter);
  const recent = await recentTurns(database, id, filter, RECENT);
  const uses = await recentUses(database, id, filter, RECENT);
  io.json({ id, turns, ...countsOf(one), notOffered: reasons, recent: recent.map(turnJson), uses: uses.map(turnJson) });
  io.print(`${id}: offered in ${one.offered} of ${turns} turn${turns === 1 ? '' : 's'} in ${period}`);
  io.print(`loaded ${times(loads(one))}${loads(one) === 0 ? '' : ` (${howText(one)})`}`);
  io.print(`resources read ${times(one.resources)}, scripts run ${times(one.scripts)}, dropped at compaction ${times(one.dropped)}`);
  const { learned } = one;
  if (learned > 0)
    io.print(
      isLearning
        ? `${learned} of the texts that it was loaded for ${learned === 1 ? 'helps' : 'help'} to find it (--forget removes them)`
        : `${learned} of the texts that it was loaded for ${learned === 1 ? 'is' : 'are'} kept but not used: ${SWITCHED_OFF} (--forget removes them)`,
    );
  for (const [why, count] of Object.entries(reasons)) io.print(`not offered in ${count} turn${count === 1 ? '' : 's'}: ${why}`);
  if (recent.length > 0) io.print(table(['TURN', 'AGENT', 'THREAD', 'STATE'], recent.map(turnRow), widthOf(io)));
}

export function turnJson({ at, ...turn }: SkillTurn): JsonValue {
  return { ...turn, at: new Date(at).toISOString() } as unknown as JsonValue;
}

function turnRow({ at, agent, thread, ...state }: SkillTurn): readonly string[] {
  return [timeOf(at), agent, thread, stateText(state)];
}

export function stateText({ state, why, how, sha256, path, exit }: Omit<SkillTurn, 'turn' | 'thread' | 'agent' | 'at'>): string {
  switch (state) {
    case 'filtered':
      return `filtered: ${why}`;
    case 'over_budget':
      return 'over budget';
    case 'loaded':
      return `loaded by ${how}, sha256 ${sha256?.slice(0, 12)}`;
    case 'resource_read':
      return `resource ${path} read`;
    case 'script_run':
      return `script ${path}: exit ${exit ?? 'none'}`;
    case 'dropped':
      return 'dropped at compaction';
    case 'unknown':
      return 'not told of: the agent carries it, or it was not there';
    default:
      return state;
  }
}

export function timeOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ');
}

function countsOf<Counts extends SkillUsage>({ lastUsed, ...counts }: Counts) {
  return { ...counts, loaded: { ...counts.loaded }, lastUsed: lastUsed === null ? null : new Date(lastUsed).toISOString() };
}

function loads({ loaded }: SkillUsage): number {
  return Object.values(loaded).reduce((sum, count) => sum + count, 0);
}

function used(usage: SkillUsage): number {
  return loads(usage) + usage.resources + usage.scripts;
}

function howText({ loaded }: SkillUsage): string {
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
