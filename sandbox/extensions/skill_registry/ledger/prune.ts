import type { Clock, Database } from 'pith';

const DAY_MS = 86_400_000;
/** One round deletes so many rows, so that no commit is long. */
const AT_ONCE = 2000;
const MOST_TURNS = 200_000;
const MOST_USES = 400_000;
/** What the exposures may take together. */
const MOST_BYTES = 64 * 1024 * 1024;

interface PrunePorts {
  readonly database: Database;
  readonly clock: Clock;
  readonly keepDays: number;
}

/** Once a day, whichever process comes first: rows that are too old or too many go, and exposures that no turn names. */
export async function prune({ database, clock, keepDays }: PrunePorts): Promise<void> {
  const now = clock.now();
  const pruned = Number(database.get('SELECT pruned FROM skill_registry__ledger')?.['pruned'] ?? now);
  if (now >= pruned && now < pruned + DAY_MS) return;
  await database.write((statement) => void statement('UPDATE skill_registry__ledger SET pruned = ?', now));
  for (const [table, most] of [
    ['turns', MOST_TURNS],
    ['uses', MOST_USES],
  ] as const)
    await shorten(database, `skill_registry__${table}`, now - keepDays * DAY_MS, most);
  const cut = beyondBytes(database, MOST_BYTES);
  if (cut !== null) await database.write((statement) => void statement('DELETE FROM skill_registry__turns WHERE seq <= ?', cut));
  await database.write(
    (statement) =>
      void statement(
        'DELETE FROM skill_registry__exposures WHERE id NOT IN (SELECT exposure FROM skill_registry__turns WHERE exposure IS NOT NULL)',
      ),
  );
}

async function shorten(database: Database, table: string, before: number, most: number): Promise<void> {
  const newest = Number(database.get(`SELECT max(seq) AS seq FROM ${table}`)?.['seq'] ?? 0);
  while ((await deleteOldest(database, table, before, newest - most)) === AT_ONCE);
}

async function deleteOldest(database: Database, table: string, before: number, through: number): Promise<number> {
  const old = `SELECT seq FROM (SELECT seq, at FROM ${table} ORDER BY seq LIMIT ${AT_ONCE}) WHERE at < ? OR seq <= ?`;
  let deleted = 0;
  await database.write((statement) => {
    deleted = statement(`DELETE FROM ${table} WHERE seq IN (${old})`, before, through).changes;
  });
  return deleted;
}

/** The turn up to which rows must go so that the exposures of the rest fit; null when all do. */
export function beyondBytes(database: Database, most: number): number | null {
  const rows = database.all(
    `SELECT length(states) AS bytes, last FROM (SELECT exposure, max(seq) AS last FROM skill_registry__turns GROUP BY exposure) AS named
     JOIN skill_registry__exposures ON id = exposure ORDER BY last DESC`,
  );
  let held = 0;
  for (const { bytes, last } of rows) {
    held += Number(bytes);
    if (held > most) return Number(last);
  }
  return null;
}
