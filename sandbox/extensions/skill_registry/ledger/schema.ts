/** Of the tables below. Rows of a later version are left alone. */
export const LEDGER_VERSION = 1;

export const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS skill_registry__ledger (version INTEGER NOT NULL, pruned INTEGER NOT NULL)`,
  // What turns had before them, each kind once: the ids that were offered, over budget and filtered, deflated JSON.
  `CREATE TABLE IF NOT EXISTS skill_registry__exposures (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, states BLOB NOT NULL)`,
  // shown: JSON ids of the skills that stood beside this one message.
  `CREATE TABLE IF NOT EXISTS skill_registry__turns (
     seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, thread TEXT NOT NULL, agent TEXT NOT NULL, at INTEGER NOT NULL,
     exposure INTEGER, shown TEXT
   )`,
  `CREATE INDEX IF NOT EXISTS skill_registry__turns_of_thread ON skill_registry__turns (thread, seq)`,
  // state: loaded, resource_read, script_run or dropped; turn is null where a person compacted the thread.
  `CREATE TABLE IF NOT EXISTS skill_registry__uses (
     seq INTEGER PRIMARY KEY AUTOINCREMENT, turn TEXT, thread TEXT NOT NULL, agent TEXT NOT NULL, skill TEXT NOT NULL, at INTEGER NOT NULL,
     state TEXT NOT NULL, how TEXT, sha256 TEXT, path TEXT, exit INTEGER, more TEXT, compactions INTEGER NOT NULL, outlived INTEGER NOT NULL
   )`,
  `CREATE INDEX IF NOT EXISTS skill_registry__uses_of_thread ON skill_registry__uses (thread, seq)`,
  `CREATE INDEX IF NOT EXISTS skill_registry__uses_of_turn ON skill_registry__uses (turn)`,
  `CREATE INDEX IF NOT EXISTS skill_registry__uses_of_skill ON skill_registry__uses (skill, seq)`,
] as const;

/** With the time from which the next pruning is counted. */
export const FIRST_ROW = `INSERT INTO skill_registry__ledger SELECT ${LEDGER_VERSION}, ? WHERE NOT EXISTS (SELECT 1 FROM skill_registry__ledger)`;
