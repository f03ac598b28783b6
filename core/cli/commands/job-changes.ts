import { spanOf } from '@pith/command-line';
import { didYouMean, printableLine, someOf } from '@pith/plain-text';
import { type CommandInput, type CommandIO, PithError } from '../../contract/index.ts';
import type { Kernel } from '../../compose/index.ts';
import { hasEnded, type Hold, type JobRow, STATES, type State } from '../../durable/index.ts';
import { quoted } from '../terminal/opened-target.ts';
import { filterOf, jobOf, laneAndOwner, namesOf, ownerSeenBy, retryWith, type Filter } from './job-names.ts';
import { agreed, printTable, timeOf } from './text.ts';

const OPEN = STATES.filter((state) => !hasEnded({ state }));
const PAGE = 500;

interface Place {
  readonly kernel: Kernel;
  readonly input: CommandInput;
  readonly io: CommandIO;
}

interface Change {
  readonly verb: 'retry' | 'cancel';
  readonly done: 'retried' | 'cancelled';
  /** Of those that filters name, unless they name states too. */
  readonly states: readonly State[];
  /** The states in which it can be done. */
  readonly may: readonly State[];
  /** Why it may not be done with a job; null: it may. */
  whyNot?(row: JobRow): string | null;
  /** False: it was not in such a state any more, or another open job is for the same. */
  change(id: string): Promise<boolean>;
  readonly changed: string;
}

const MOST_NAMED = 5;

export function retryJobs(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const whyNot = ({ name }: JobRow) => {
    const command = retryWith(kernel, name);
    return command === undefined ? null : `its extension tries it again with 'pith ${command}'`;
  };
  return changeJobs(
    { kernel, input, io },
    {
      verb: 'retry',
      done: 'retried',
      states: ['dead'],
      may: ['dead', 'cancelled', 'failed'],
      whyNot,
      change: (id) => kernel.jobs.store.retry(id),
      changed: 'an open job has the same `unique`, or it has changed meanwhile',
    },
  );
}

export function cancelJobs(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const change = (id: string) => kernel.jobs.store.cancel(id, 'cancelled by a person');
  return changeJobs(
    { kernel, input, io },
    { verb: 'cancel', done: 'cancelled', states: OPEN, may: OPEN, change, changed: 'it has ended meanwhile' },
  );
}

/** Those of filters only once the person agrees. Exit code 1 where a job was not changed; the others are. */
async function changeJobs({ kernel, input, io }: Place, { verb, done, states, may, whyNot, change, changed }: Change): Promise<number> {
  const names = [input.arguments['id'] ?? []].flat();
  const filter = await filterOf(kernel, input);
  if (names.length > 0 === Object.keys(filter).length > 0)
    throw new PithError('usage', `jobs ${verb} needs either ids or what the jobs have in common`, {
      cure: `write: pith jobs ${verb} <id>, or: pith jobs ${verb} --name <name>`,
    });
  const seen = { ...filter, states: filter.states ?? states, ...ownerSeenBy(kernel, io) };
  const rows = names.length > 0 ? await rowsOf(kernel, names, io) : await matching(kernel, seen, may);
  const refused = new Map<string, string[]>();
  const refuse = (id: string, why: string): void => void refused.set(why, [...(refused.get(why) ?? []), id]);
  const able: string[] = [];
  for (const row of rows) {
    const why = may.includes(row.state) ? (whyNot?.(row) ?? null) : `it is ${row.state}`;
    if (why === null) able.push(row.id);
    else refuse(row.id, why);
  }
  const what = `${verb} ${jobs(able.length)}`;
  if (names.length === 0 && able.length > 0 && !(await agreed(`${capital(what)}?`, `add --yes to ${what}`, input, io))) {
    io.print('Nothing was changed');
    return 1;
  }
  const ids: string[] = [];
  for (const id of able) {
    if (await change(id)) ids.push(id);
    else refuse(id, changed);
  }
  kernel.jobs.wake();
  io.json({ [done]: ids, refused: Object.fromEntries(refused) });
  io.print(`${capital(done)} ${jobs(ids.length)}`);
  for (const [why, left] of refused) io.print(`Not ${done}, because ${why}: ${someOf(left, MOST_NAMED)}`);
  return refused.size === 0 ? 0 : 1;
}

async function rowsOf(kernel: Kernel, ids: readonly string[], io: CommandIO): Promise<readonly JobRow[]> {
  const rows = await Promise.all([...new Set(ids)].map((id) => jobOf(kernel, id, io)));
  return rows.toSorted((a, b) => a.number - b.number); // so that those of one sequence are begun in their old order
}

/** Oldest first. */
async function matching({ jobs: { store } }: Kernel, filter: Filter, may: readonly State[]): Promise<readonly JobRow[]> {
  const states = filter.states?.filter((state) => may.includes(state));
  const rows: JobRow[] = [];
  for (let page: readonly JobRow[] | null = null; page === null || page.length === PAGE; rows.push(...page)) {
    const before: number | undefined = page?.at(-1)?.number;
    page = await store.list({ ...filter, states, ...(before === undefined ? {} : { before }), limit: PAGE });
  }
  return rows.reverse();
}

/** Without an argument: lists what is paused. */
export async function pauseJobs(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const { store } = kernel.jobs;
  const meant = await meantBy(kernel, input);
  const { reason, for: span } = input.options;
  if (meant === null && (reason ?? span) !== undefined)
    throw new PithError('usage', 'jobs pause needs a name, --lane or --owner', { cure: 'write: pith jobs pause --owner ada --for 10m' });
  if (meant === null) return listHolds(kernel, io);
  const until = span === undefined ? null : endOf(String(span));
  const why = typeof reason === 'string' && reason.trim() !== '' ? reason.trim() : 'paused by a person';
  for (const hold of meant) await store.hold({ ...hold, until, reason: why });
  io.json(meant.map((hold) => ({ ...hold, until, reason: why })));
  const end = until === null ? '' : ` until ${timeOf(until)}`;
  io.print(`Paused ${meant.map(nameOf).join(', ')}${end}; what runs goes on. Start it again with: ${cureOf(typed(input) ?? meant)}`);
}

export async function resumeJobs(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const { store } = kernel.jobs;
  const meant = await meantBy(kernel, input);
  const held = await store.holds();
  const found = held.filter((hold) => meant?.some(({ kind, value }) => kind === hold.kind && value === hold.value));
  const [first] = meant ?? [];
  if (first === undefined || found.length === 0) {
    const what = first === undefined ? 'jobs resume needs a name, --lane or --owner' : `${nameOf(first)} is not paused`;
    const known =
      first === undefined
        ? ''
        : didYouMean(
            first.value,
            held.filter(({ kind }) => kind === first.kind).map(({ value }) => value),
          );
    throw new PithError('usage', `${what}${known}`, {
      cure: held.length === 0 ? 'nothing is paused' : `write: ${held.map((hold) => cureOf([hold])).join(', or: ')}`,
    });
  }
  for (const { kind, value } of found) await store.release(kind, value);
  kernel.jobs.wake();
  io.json(found.map(({ kind, value }) => ({ kind, value })));
  io.print(`Resumed ${found.map(nameOf).join(', ')}`);
}

async function listHolds(kernel: Kernel, io: CommandIO): Promise<void> {
  const holds = await kernel.jobs.store.holds();
  io.json(holds.map((hold) => ({ ...hold })));
  printTable(
    io,
    holds,
    [
      { title: 'PAUSED', value: nameOf },
      { title: 'UNTIL', value: ({ until }) => (until === null ? 'it is resumed' : timeOf(until)) },
      { title: 'WHY', value: ({ reason }) => printableLine(reason), below: true },
    ],
    'Nothing is paused',
  );
}

type Named = Pick<Hold, 'kind' | 'value'>;

/** null: nothing is named. */
async function meantBy(kernel: Kernel, { arguments: { name }, options }: CommandInput): Promise<readonly Named[] | null> {
  const { lane, owner } = laneAndOwner(options);
  const given = [name, lane, owner].filter((each) => each !== undefined);
  if (given.length > 1)
    throw new PithError('usage', 'only one of a name, --lane and --owner can be given', { cure: 'give one after the other' });
  if (typeof name === 'string' && (await kernel.jobs.store.get(name)) !== null)
    throw new PithError('usage', `${printableLine(name)} is one job, and jobs are paused and resumed by their name, --lane or --owner`, {
      cure: `see: pith jobs show ${name}`,
    });
  if (typeof name === 'string') return (await namesOf(kernel, name)).map((value) => ({ kind: 'name', value }));
  if (lane !== undefined) return [{ kind: 'lane', value: lane }];
  return owner === undefined ? null : [{ kind: 'owner', value: owner }];
}

/** What was typed, where it stands for several names. */
function typed({ arguments: { name } }: CommandInput): readonly Named[] | null {
  return typeof name === 'string' ? [{ kind: 'name', value: name }] : null;
}

function nameOf({ kind, value }: Named): string {
  return kind === 'name' ? value : `${kind} ${printableLine(value)}`;
}

function cureOf(meant: readonly Named[]): string {
  return meant
    .map(({ kind, value }) => `pith jobs resume ${kind === 'name' ? quoted(value) : `--${kind} ${printableLine(value)}`}`)
    .join(' and ');
}

const DAY_MS = 86_400_000;
const LONGEST_DAYS = 36_500;

/** The end of a span from now. */
function endOf(text: string): number {
  const span = spanOf(text);
  const given = `--for '${printableLine(text)}'`;
  if (span === null || span === 0)
    throw new PithError('usage', `${given} is not a span of time`, { cure: 'write one such as 90s, 10m, 2h or 3d' });
  if (span <= LONGEST_DAYS * DAY_MS) return Math.ceil(Date.now() + span);
  throw new PithError('usage', `${given} is longer than ${LONGEST_DAYS}d`, { cure: 'leave it out to pause until it is resumed' });
}

function jobs(count: number): string {
  return `${count} ${count === 1 ? 'job' : 'jobs'}`;
}

function capital(text: string): string {
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;
}
