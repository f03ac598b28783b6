/** Bare names are prefixed by the extension's id, as every table of an extension must be. */
export const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS task_engine__tasks (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     state TEXT NOT NULL,
     priority INTEGER NOT NULL,
     due INTEGER,
     owner TEXT,
     until INTEGER,
     parent TEXT,
     task TEXT NOT NULL
   )`,
  `CREATE INDEX IF NOT EXISTS task_engine__by_state ON task_engine__tasks (state, priority DESC, seq)`,
  `CREATE INDEX IF NOT EXISTS task_engine__by_parent ON task_engine__tasks (parent) WHERE parent IS NOT NULL`,
  `CREATE TABLE IF NOT EXISTS task_engine__waits (
     task TEXT NOT NULL, awaited TEXT NOT NULL, PRIMARY KEY (task, awaited)
   ) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS task_engine__changes (
     seq INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL, at INTEGER NOT NULL, state TEXT NOT NULL, note TEXT,
     announced INTEGER NOT NULL DEFAULT 0
   )`,
  `CREATE INDEX IF NOT EXISTS task_engine__changes_of ON task_engine__changes (task, seq)`,
  `CREATE INDEX IF NOT EXISTS task_engine__unannounced ON task_engine__changes (seq) WHERE announced = 0`,
] as const;
