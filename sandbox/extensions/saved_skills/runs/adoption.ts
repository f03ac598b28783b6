import { codeOf, type ExtensionContext } from 'pith';
import type { RunStore } from './run-store.ts';

/** Longer than a lease of an older Pith. */
const WAIT_MS = 3_000;

const HELD = `SELECT 1 FROM saved_skills__runs WHERE state = 'running' AND job IS NULL AND lease_until > ? AND lease_until < ? LIMIT 1`;
const OPEN = `SELECT id FROM saved_skills__runs WHERE job IS NULL AND state IN ('queued', 'running', 'waiting') ORDER BY depth, id`;
const DUE = `SELECT id FROM saved_skills__runs WHERE delivery = 'waiting' AND deliver_at IS NOT NULL ORDER BY id`;
const OVERDUE = 'SELECT id, next_run_at FROM saved_skills__skills WHERE next_run_at <= ? ORDER BY next_run_at';
const TICKED = 'UPDATE saved_skills__skills SET next_run_at = NULL WHERE id = ? AND next_run_at = ?';

/** Gives the runs, deliveries and overdue timetables of an older Pith their jobs, once none such works on any. Several processes may do it at once. */
export async function adopt(context: Pick<ExtensionContext, 'database' | 'clock' | 'jobs'>, runs: RunStore, signal: AbortSignal) {
  const { database, clock, jobs } = context;
  const isHeld = async () => (await database.get(HELD, clock.now(), clock.now() + WAIT_MS)) !== null;
  while (!signal.aborted && (await isHeld())) await clock.sleep(WAIT_MS, signal).catch(() => undefined); // it is to stop
  if (signal.aborted) return;
  for (const { id } of await database.all(OPEN)) await unlessFaster(runs.adopt(String(id)));
  for (const { id } of await database.all(DUE)) await unlessFaster(runs.adoptDelivery(String(id)));
  for (const { id, next_run_at: at } of await database.all(OVERDUE, clock.now()))
    await unlessFaster(
      database.write([{ sql: TICKED, values: [id as string, at as number], changes: 1 }, jobs.statement('tick', { skill: String(id) })]),
    );
}

async function unlessFaster(write: Promise<unknown>): Promise<void> {
  await write.catch((error: unknown) => {
    if (codeOf(error, '') !== 'write_conflict') throw error; // else another process was faster
  });
}
