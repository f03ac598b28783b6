import { localTime } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import type { Diagnostic } from '../contract/index.ts';
import { type Hold, holdOf, isOfKernel, type JobFilter, type JobRow, type JobStore } from '../durable/index.ts';

/** A process that serves begins what is due sooner. */
const OVERDUE_MS = 60_000;
const LONG_WAIT_MS = 86_400_000;
/** Rows that are looked at of each kind. */
const MOST_ROWS = 1_000;
/** Findings of each kind. */
const MOST = 5;
/** Characters of an error; `pith jobs show` has the rest. */
const MOST_TEXT = 200;

type Cured = Pick<Diagnostic, 'message' | 'cure'>;

interface FindingsOptions {
  readonly store: JobStore;
  readonly now: number;
  /** Why no process can work on it, whichever runs; null: one could. */
  whyNot(row: JobRow): Cured | null;
  /** The command that tries jobs of this name again in place of `pith jobs retry`. */
  retryWith(name: string): string | undefined;
}

/** What a person should know of jobs: what is paused, is dead and was not seen yet, waits for long, or is begun by nobody. */
export async function jobFindings({ store, now, whyNot, retryWith }: FindingsOptions): Promise<readonly Diagnostic[]> {
  const find = async (filter: Omit<JobFilter, 'limit'>): Promise<readonly JobRow[]> =>
    (await store.list({ ...filter, limit: MOST_ROWS })).filter(({ name }) => !isOfKernel(name)); // what waits for handlers is told of by events
  const [holds, dead, suspended, overdue] = [
    await store.holds(),
    await find({ states: ['dead'] }),
    await find({ states: ['suspended'] }),
    await find({ overdue: now - OVERDUE_MS }),
  ];
  const notBegun: Diagnostic[] = [];
  for (const rows of byName(overdue.filter((row) => holdOf(row, holds) === undefined))) {
    const [{ name }, oldest] = ends(rows);
    const running = await find({ names: [name], states: ['running'] });
    const isServed = running.some(({ until }) => until !== null && until > now);
    const why = whyNot(oldest) ?? (isServed ? null : { message: 'no process works on them', cure: 'run: pith serve' });
    if (why !== null) notBegun.push(warning(`${are(rows)} due since ${localTime(oldest.at, now)} and not begun: ${why.message}`, why.cure));
  }
  return [
    ...holds.slice(0, MOST).map((hold) => ofHold(hold, now)),
    ...byName(dead.filter(({ seen }) => !seen)).map((rows) => {
      const [{ name, error }] = ends(rows);
      const cure = `see: pith jobs list --name ${name} --state dead; try again with: pith ${retryWith(name) ?? `jobs retry --name ${name}`}`;
      return {
        ...warning(`${are(rows)} dead: ${printableLine(error?.message ?? 'nobody knows why', MOST_TEXT)}`, cure),
        code: 'handler_failed',
      };
    }),
    ...byName(suspended.filter(({ begun, at }) => begun !== null && begun < now - LONG_WAIT_MS && at > now)).map((rows) => {
      const [, { id, begun }] = ends(rows);
      const cure = `see: pith jobs show ${id}; end it with: pith jobs cancel ${id}`;
      return {
        ...warning(`${are(rows)} waiting for more than a day, since ${localTime(begun ?? now, now)}`, cure),
        severity: 'info' as const,
      };
    }),
    ...notBegun,
  ];
}

function ofHold({ kind, value, until, reason }: Hold, now: number): Diagnostic {
  const [what, argument] = { name: ['', ''], lane: ['lane ', '--lane '], owner: ['owner ', '--owner '] }[kind] as [string, string];
  const end = until === null ? '' : ` until ${localTime(until, now)}`;
  const found = warning(
    `jobs: ${what}'${value}' is paused${end}: ${reason}`,
    `start it again with: pith jobs resume ${argument}${value.includes(' ') ? `'${value}'` : value}`,
  );
  return until === null ? found : { ...found, severity: 'info' };
}

function warning(message: string, cure: string | undefined): Diagnostic {
  return { severity: 'warning', code: 'stopped', message, ...(cure === undefined ? {} : { cure }) };
}

function are(rows: readonly JobRow[]): string {
  const [{ name }] = ends(rows);
  return rows.length === 1 ? `a job '${name}' is` : `${rows.length}${rows.length === MOST_ROWS ? ' or more' : ''} jobs '${name}' are`;
}

/** The newest and the oldest. */
function ends(rows: readonly JobRow[]): readonly [JobRow, JobRow] {
  return [rows[0] as JobRow, rows.at(-1) as JobRow];
}

function byName(rows: readonly JobRow[]): readonly (readonly JobRow[])[] {
  const names = [...new Set(rows.map(({ name }) => name))].slice(0, MOST);
  return names.map((name) => rows.filter((row) => row.name === name));
}
