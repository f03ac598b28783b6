import { type Command, type CommandContext, type CommandIO, type ExtensionContext, PithError } from 'pith';
import { localTime, renderTable, textColumns, widthOf } from '@pith/command-line';
import { counted, printableLine } from '@pith/plain-text';
import { SkillHistory, SkillLibrary, type SkillRecord, type SkillVersion } from 'pith/skill_registry';
import { type Database, hasSearches, type Ledger } from './ledger.ts';

type SuggestContext = CommandContext & Pick<ExtensionContext<{ readonly stats_days: number }>, 'config' | 'database' | 'use'>;

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
/** Fewer uses say nothing. */
const ENOUGH = 5;
/** A change is judged by at least so many turns before and after it. */
const ENOUGH_AROUND_A_CHANGE = 20;
/** What is suggested so often and loaded more seldom than one in five is passed over. */
const SELDOM = 0.2;
/** One turn in three without success is too much. */
const OFTEN = 1 / 3;
/** A difference of two rates that chance seldom makes: this many standard errors. */
const BEYOND_CHANCE = 1.96;
/** Skills that agents made are offered for archiving after so long without use, and beyond so many. */
const UNUSED_MS = 60 * DAY_MS;
const MOST_MADE = 50;
const MOST_LISTED = 10;

/** Something to do about one skill, or about one that is missing. */
interface Suggestion {
  readonly kind: 'passed_over' | 'unsuccessful' | 'missing' | 'worse' | 'unused';
  /** The skill's id, or the words of a search. */
  readonly about: string;
  /** What was counted, in words. */
  readonly why: string;
  readonly next: string;
}

const TITLES: Readonly<Record<Suggestion['kind'], string>> = {
  worse: 'Worse since their last change',
  unsuccessful: 'Loaded, then often without success',
  passed_over: 'Best match of the message, seldom loaded',
  missing: 'Looked for, not found',
  unused: 'Made by agents, not used',
};

export function suggest(context: SuggestContext, ledger: Pick<Ledger, 'flush'>): Command {
  return {
    path: 'skills suggest',
    description: 'Suggest which skills to change, write or archive, from how they were used',
    options: [{ name: 'days', type: 'number', description: 'how many days back', default: DEFAULT_DAYS }],
    async run({ options }, io) {
      const days = Number(options['days']);
      if (!Number.isFinite(days) || days <= 0)
        throw new PithError('usage', `--days must be a number above 0, not '${days}'`, {
          cure: 'leave it out, or write a number such as 30',
        });
      await ledger.flush();
      print(await suggestionsOf(context, days), days, io);
      return 0;
    },
  };
}

async function suggestionsOf(context: SuggestContext, days: number): Promise<readonly Suggestion[]> {
  const { database, clock } = context;
  if (!(await hasSearches(database))) return [];
  const since = clock.now() - days * DAY_MS;
  const { skills } = await context.use(SkillLibrary).records();
  const offered = new Map(skills.filter(({ state }) => state === 'offered').map((skill) => [skill.id, skill]));
  const ofSkills = [...(await unsuccessful(database, since)), ...(await passedOver(database, since))];
  return [
    ...(await ofVersions(context, offered)),
    ...ofSkills.filter(({ about }) => offered.has(about)),
    ...(await missing(database, since)),
  ];
}

async function passedOver(database: Database, since: number): Promise<readonly Suggestion[]> {
  const rows = await database.all(PASSED_OVER, since, ENOUGH);
  return rows.flatMap(({ skill, threads, loaded }): readonly Suggestion[] => {
    if (Number(loaded) > Number(threads) * SELDOM) return [];
    const id = String(skill);
    const why = `best match in ${counted(Number(threads), 'conversation')}, loaded in ${Number(loaded) === 0 ? 'none' : Number(loaded)}`;
    return [{ kind: 'passed_over', about: id, why, next: `look at its description: pith skills show ${printableLine(id)}` }];
  });
}

async function unsuccessful(database: Database, since: number): Promise<readonly Suggestion[]> {
  const rows = await database.all(UNSUCCESSFUL, since, ENOUGH);
  return rows.flatMap(({ skill, turns, unfinished, failing }): readonly Suggestion[] => {
    const [all, ended, failed] = [Number(turns), Number(unfinished), Number(failing)];
    if (ended + failed < all * OFTEN) return [];
    const parts = [
      ...(ended === 0 ? [] : [`${ended} ended early`]),
      ...(failed === 0 ? [] : [`${failed} with tool calls or scripts that failed`]),
    ];
    const id = String(skill);
    const why = `loaded in ${counted(all, 'turn')}: ${parts.join(', ')}`;
    return [{ kind: 'unsuccessful', about: id, why, next: `see its last uses: pith skills stats ${printableLine(id)}` }];
  });
}

async function missing(database: Database, since: number): Promise<readonly Suggestion[]> {
  const rows = await database.all(MISSING, since, MOST_LISTED);
  return rows.map(({ query, count, at, thread }) => ({
    kind: 'missing',
    about: String(query),
    why: `${Number(count) === 1 ? 'once' : `${Number(count)} times`}, last ${localTime(Number(at))} in conversation ${String(thread)}`,
    next: 'write a skill for it, or add the words to the examples of one: pith skills new',
  }));
}

/** What the history says about skills that were changed, and of those that agents made. */
async function ofVersions(context: SuggestContext, offered: ReadonlyMap<string, SkillRecord>): Promise<readonly Suggestion[]> {
  const { config, database, clock } = context;
  const history = context.use(SkillHistory);
  const now = clock.now();
  const [worse, made]: [Suggestion[], { id: string; at: number; lastUsed: number }[]] = [[], []];
  const all = new Set(await history.recorded());
  for (const { id, source } of [...offered.values()].filter((skill) => all.has(`${skill.source}/${skill.id}`))) {
    const versions = await history.of(`${source}/${id}`);
    const [last, before] = [versions.at(-1), versions.at(-2)];
    if (last && before) worse.push(...(await worseSince(database, id, [before, last])));
    const isMade = versions[0]?.how === 'accepted' && !versions.some(({ how }) => how === 'by_hand');
    if (isMade && config.stats_days * DAY_MS >= UNUSED_MS)
      made.push({ id, at: versions[0]!.at, lastUsed: Number((await database.get(LAST_USE, id))?.['at'] ?? 0) });
  }
  const unused = made.filter(({ at, lastUsed }) => Math.max(at, lastUsed) < now - UNUSED_MS);
  const rest = made.filter((one) => !unused.includes(one)).sort((a, b) => Math.max(b.at, b.lastUsed) - Math.max(a.at, a.lastUsed));
  const beyond = rest.slice(MOST_MADE);
  return [...worse, ...[...unused, ...beyond].map((one) => archive(one, made.length))];
}

function archive({ id, lastUsed }: { readonly id: string; readonly lastUsed: number }, made: number): Suggestion {
  const used = lastUsed === 0 ? 'not used since it was made' : `last used ${localTime(lastUsed)}`;
  const why = made > MOST_MADE ? `${used}; agents made ${made} skills` : used;
  return { kind: 'unused', about: id, why, next: `remove it, its history stays: pith skills remove ${printableLine(id)}` };
}

async function worseSince(
  database: Database,
  id: string,
  [before, last]: readonly [before: SkillVersion, last: SkillVersion],
): Promise<readonly Suggestion[]> {
  const rate = async (from: number, to: number) => {
    const row = await database.get(SUCCESS, id, from, to);
    return { turns: Number(row?.['turns'] ?? 0), good: Number(row?.['good'] ?? 0) };
  };
  const [old, now] = [await rate(before.how === 'found' ? 0 : before.at, last.at), await rate(last.at, Number.MAX_SAFE_INTEGER)];
  if (Math.min(old.turns, now.turns) < ENOUGH_AROUND_A_CHANGE || !isWorse(old, now)) return [];
  const percent = ({ turns, good }: Rate) => `${Math.round((good / turns) * 100)} % of ${turns} turns`;
  const why = `with success in ${percent(now)} since ${localTime(last.at)}, in ${percent(old)} before`;
  return [{ kind: 'worse', about: id, why, next: `go back: pith skills rollback ${printableLine(id)} ${before.number}` }];
}

interface Rate {
  readonly turns: number;
  readonly good: number;
}

/** Whether the second rate is lower than the first by more than chance makes it. */
function isWorse(old: Rate, now: Rate): boolean {
  const both = (old.good + now.good) / (old.turns + now.turns);
  const error = Math.sqrt(both * (1 - both) * (1 / old.turns + 1 / now.turns));
  return old.good / old.turns - now.good / now.turns > BEYOND_CHANCE * error && error > 0;
}

function print(all: readonly Suggestion[], days: number, io: CommandIO): void {
  io.json({ days, suggestions: all.map((one) => ({ ...one })) });
  const period = days === 1 ? 'the last day' : `the last ${days} days`;
  if (all.length === 0) return io.print(`Nothing to suggest from ${period}.`);
  for (const [kind, title] of Object.entries(TITLES)) {
    const some = all.filter((one) => one.kind === kind);
    if (some.length === 0) continue;
    io.print(`${title}:`);
    const rows = some.slice(0, MOST_LISTED).map(({ about, why, next }) => [printableLine(about), why, next]);
    io.print(renderTable(rows, textColumns(['SKILL', 'SEEN', 'NEXT']), widthOf(io)));
    if (some.length > MOST_LISTED) io.print(`… and ${some.length - MOST_LISTED} more (--json lists all)`);
  }
  if (!io.quiet) io.print(`From ${period}. An agent proposes the change when you ask it to: "Improve the skill …, because …".`);
}

/** Of each skill: conversations in which it was the first that was suggested with a message, and those of them in which it was loaded too. */
const PASSED_OVER = `SELECT skill, count(*) AS threads, sum(loaded) AS loaded FROM (
    SELECT s.skill, s.thread, EXISTS (SELECT 1 FROM skill_stats__uses l WHERE l.thread = s.thread AND l.skill = s.skill AND l.state = 'loaded') AS loaded
    FROM skill_stats__uses s JOIN (SELECT min(seq) AS seq FROM skill_stats__uses WHERE state = 'suggested' AND at >= ? GROUP BY turn) first ON first.seq = s.seq
    GROUP BY s.skill, s.thread)
  GROUP BY skill HAVING count(*) >= ? ORDER BY count(*) - sum(loaded) DESC, skill`;

/** Turns that loaded a skill, once each. A turn that waits for an answer has not ended. */
const LOADS = `SELECT u.skill, t.id, t.at,
    t.ended <> 'done' AS unfinished,
    t.ended = 'done' AND (t.failed > 1 AND t.failed * 2 >= t.calls OR EXISTS (
      SELECT 1 FROM skill_stats__uses r WHERE r.thread = t.thread AND r.skill = u.skill AND r.turn = t.id AND r.state = 'script_run' AND coalesce(r.exit, 1) <> 0)) AS failing
  FROM skill_stats__uses u JOIN skill_stats__turns t ON t.id = u.turn
  WHERE u.state = 'loaded' AND t.ended IS NOT NULL AND t.ended <> 'awaiting_approval'`;

const UNSUCCESSFUL = `SELECT skill, count(*) AS turns, sum(unfinished) AS unfinished, sum(failing) AS failing
  FROM (${LOADS} AND u.how <> 'uses_skills' AND t.at >= ? GROUP BY u.skill, t.id)
  GROUP BY skill HAVING count(*) >= ? ORDER BY sum(unfinished) + sum(failing) DESC, skill`;

const SUCCESS = `SELECT count(*) AS turns, sum(NOT unfinished AND NOT failing) AS good
  FROM (${LOADS} AND u.skill = ? AND t.at >= ? AND t.at < ? GROUP BY u.skill, t.id)`;

const MISSING = `SELECT lower(query) AS query, count(DISTINCT turn) AS count, max(at) AS at, thread
  FROM skill_stats__searches WHERE at >= ? GROUP BY lower(query) ORDER BY count(DISTINCT turn) DESC, max(at) DESC LIMIT ?`;

const LAST_USE = `SELECT max(at) AS at FROM skill_stats__uses WHERE skill = ? AND state <> 'suggested' AND state <> 'dropped'`;
