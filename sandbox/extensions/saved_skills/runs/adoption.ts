import { codeOf, type ExtensionContext } from 'pith';
import type { RunStore } from './run-store.ts';

type Context = Pick<ExtensionContext, 'database' | 'clock' | 'jobs'>;

/** Longer than a lease of an older Pith. */
const WAIT_MS = 3_000;

const HELD = `SELECT 1 FROM saved_skills__runs WHERE state = 'running' AND job IS NULL AND lease_until > ? AND lease_until < ? LIMIT 1`;
const OPEN = `SELECT id, state, attempt FROM saved_skills__runs WHERE job IS NULL AND state IN ('queued', 'running', 'waiting') ORDER BY depth, id`;
const DUE = `SELECT id, deliver_at FROM saved_skills__runs WHERE delivery = 'waiting' AND deliver_at IS NOT NULL ORDER BY id`;
const OVERDUE = 'SELECT id, next_run_at FROM saved_skills__skills WHERE next_run_at <= ? ORDER BY next_run_at';
const TICKED = 'UPDATE saved_skills__skills SET next_run_at = NULL WHERE id = ? AND next_run_at = ?';

/** Gives the runs, deliveries and overdue timetables of an older Pith their jobs, once none such works on any. Several processes may do it at once. */
export async function adopt(context: Context, runs: RunStore, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await adoptAll(context, runs))) await context.clock.sleep(WAIT_MS, signal).catch(() => undefined); // it is to stop
}

/** False: an older Pith is at work, or somebody was faster. */
async function adoptAll({ database, clock, jobs }: Context, runs: RunStore): Promise<boolean> {
  if ((await database.get(HELD, clock.now(), clock.now() + WAIT_MS)) !== null) return false;
  let areAll = true;
  const write = async (written: Promise<unknown>) => void (areAll = (await isWritten(written)) && areAll);
  for (const row of await database.all(OPEN)) await write(runs.adopt(row as unknown as Parameters<RunStore['adopt']>[0]));
  for (const { id, deliver_at: at } of await database.all(DUE)) await write(runs.adoptDelivery(String(id), Number(at)));
  for (const { id, next_run_at: at } of await database.all(OVERDUE, clock.now())) {
    const ticked = { sql: TICKED, values: [id as string, at as number], changes: 1 };
    await write(database.write([ticked, jobs.statement('tick', { skill: String(id) })]));
  }
  return areAll;
}

async function isWritten(written: Promise<unknown>): Promise<boolean> {
  try {
    await written;
    return true;
  } catch (error) {
    if (codeOf(error, '') !== 'write_conflict') throw error;
    return false;
  }
}
