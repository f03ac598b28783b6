/**
 * Names without an underscore: no extension's prefix can reach them. A delivery that succeeded is deleted; `due` is 0 for one that
 * may run now, a time for one that waits (a timer or a retry), and -1 for a dead letter.
 */
export const JOURNAL_SCHEMA = [
  `CREATE TABLE events (
     id INTEGER PRIMARY KEY, topic TEXT NOT NULL, key TEXT, payload TEXT NOT NULL, correlation TEXT, at INTEGER NOT NULL
   );
   CREATE TABLE deliveries (
     handler TEXT NOT NULL, event INTEGER NOT NULL, key TEXT, due INTEGER NOT NULL, attempts INTEGER NOT NULL, error TEXT,
     PRIMARY KEY (handler, event)
   ) WITHOUT ROWID;
   CREATE INDEX deliverieswaiting ON deliveries (handler, due) WHERE due > 0;
   CREATE INDEX deliverieskeyed ON deliveries (handler, key, event) WHERE key IS NOT NULL;
   CREATE INDEX deliveriesdead ON deliveries (handler) WHERE due < 0;
   CREATE TABLE handlersgone (handler TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE schedules (
     name TEXT PRIMARY KEY, spec TEXT NOT NULL, next INTEGER NOT NULL, event INTEGER NOT NULL
   ) WITHOUT ROWID;`,
];
