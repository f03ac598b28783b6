/** Names without an underscore: no extension's prefix can reach them. A turn's agent stands apart, because each step rewrites the turn's row. */
export const SCHEMA = [
  `CREATE TABLE threads (
     id TEXT PRIMARY KEY, agent TEXT NOT NULL, date TEXT NOT NULL, title TEXT NOT NULL,
     created INTEGER NOT NULL, updated INTEGER NOT NULL, compactions INTEGER NOT NULL DEFAULT 0
   ) WITHOUT ROWID;
   CREATE INDEX threadsupdated ON threads (updated DESC);
   CREATE TABLE messages (
     thread TEXT NOT NULL, seq INTEGER NOT NULL, turn TEXT NOT NULL, message TEXT NOT NULL, retain TEXT,
     PRIMARY KEY (thread, seq)
   ) WITHOUT ROWID;
   CREATE TABLE turns (
     id TEXT PRIMARY KEY, thread TEXT NOT NULL, channel TEXT NOT NULL, user TEXT NOT NULL, correlation TEXT NOT NULL,
     depth INTEGER NOT NULL, state TEXT NOT NULL, steps INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, started INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX turnsopen ON turns (thread) WHERE state IN ('running', 'awaiting_approval');
   CREATE TABLE turnagents (turn TEXT PRIMARY KEY, agent TEXT NOT NULL, policy TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE calls (
     turn TEXT NOT NULL, step INTEGER NOT NULL, place INTEGER NOT NULL, call TEXT NOT NULL, name TEXT NOT NULL, extension TEXT NOT NULL,
     tool TEXT NOT NULL, input TEXT NOT NULL, effect TEXT NOT NULL, state TEXT NOT NULL, result TEXT,
     PRIMARY KEY (turn, step, place)
   ) WITHOUT ROWID;`,
  `ALTER TABLE turns ADD COLUMN key TEXT;
   CREATE UNIQUE INDEX turnskeyed ON turns (thread, key) WHERE key IS NOT NULL;`,
  `CREATE TABLE turndelegated (turn TEXT PRIMARY KEY, turns INTEGER NOT NULL, steps INTEGER NOT NULL, calls INTEGER NOT NULL) WITHOUT ROWID;`,
];
