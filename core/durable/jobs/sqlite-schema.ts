/** Tables of jobs in `pith.db`. A partial index holds the few rows that a query is about, so that the many others cost it nothing. */
export const JOBS_SCHEMA = [
  `CREATE TABLE jobs (
     number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, changed INTEGER NOT NULL,
     name TEXT NOT NULL, version INTEGER NOT NULL, payload TEXT NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL,
     lane TEXT, owner TEXT, priority INTEGER NOT NULL, "unique" TEXT, sequence TEXT, parent TEXT,
     inside INTEGER NOT NULL, preemptible INTEGER NOT NULL, late INTEGER NOT NULL,
     attempts INTEGER NOT NULL, mostAttempts INTEGER NOT NULL, lost INTEGER NOT NULL, fence INTEGER NOT NULL,
     holder TEXT, until INTEGER, leaving INTEGER NOT NULL, stop TEXT, promise TEXT, wait TEXT, resumed TEXT, early TEXT,
     result TEXT, error TEXT, made INTEGER NOT NULL, begun INTEGER, attemptBegun INTEGER, ended INTEGER,
     seen INTEGER NOT NULL, tells INTEGER NOT NULL, ready INTEGER NOT NULL
   );
   CREATE UNIQUE INDEX jobs_open_unique ON jobs (name, "unique") WHERE "unique" IS NOT NULL AND state NOT IN ('done', 'cancelled', 'dead');
   CREATE INDEX jobs_ready ON jobs (name, inside, priority DESC) WHERE ready = 1;
   CREATE INDEX jobs_ready_without_lane ON jobs (name, priority DESC) WHERE ready = 1 AND inside = 0 AND lane IS NULL;
   CREATE INDEX jobs_ready_in_lane ON jobs (name, lane, owner, priority DESC) WHERE ready = 1 AND inside = 0 AND lane IS NOT NULL;
   CREATE INDEX jobs_ready_alone ON jobs (name, priority DESC) WHERE ready = 1 AND inside = 0 AND lost > 0;
   CREATE INDEX jobs_ready_of_sequence ON jobs (name, sequence) WHERE ready = 1 AND sequence IS NOT NULL;
   CREATE INDEX jobs_sequence ON jobs (name, sequence)
     WHERE sequence IS NOT NULL AND state IN ('waiting', 'failed', 'running', 'suspended');
   CREATE INDEX jobs_busy ON jobs (name, sequence) WHERE sequence IS NOT NULL AND state IN ('running', 'suspended');
   CREATE INDEX jobs_running ON jobs (name, inside) WHERE state = 'running';
   CREATE INDEX jobs_lease ON jobs (until) WHERE state = 'running';
   CREATE INDEX jobs_ending ON jobs (until) WHERE until IS NOT NULL AND state <> 'running';
   CREATE INDEX jobs_stop ON jobs (json_extract(stop, '$.at')) WHERE state = 'running' AND stop IS NOT NULL;
   CREATE INDEX jobs_due ON jobs (at) WHERE state IN ('scheduled', 'failed', 'suspended');
   CREATE INDEX jobs_promise ON jobs (name, lane) WHERE promise IS NOT NULL;
   CREATE INDEX jobs_parent ON jobs (parent) WHERE parent IS NOT NULL;
   CREATE INDEX jobs_name ON jobs (name);
   CREATE INDEX jobs_changed ON jobs (changed);
   CREATE INDEX jobs_ended ON jobs (state, ended) WHERE ended IS NOT NULL;
   CREATE TABLE job_counter (number INTEGER NOT NULL);
   INSERT INTO job_counter VALUES (0);
   CREATE TABLE job_waits (waiter TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (waiter, target)) WITHOUT ROWID;
   CREATE INDEX job_waits_target ON job_waits (target);
   CREATE TABLE job_notes (number INTEGER PRIMARY KEY, job TEXT NOT NULL, at INTEGER NOT NULL, data TEXT NOT NULL);
   CREATE INDEX job_notes_job ON job_notes (job);
   CREATE TABLE job_served (name TEXT NOT NULL, lane TEXT NOT NULL, owner TEXT, turn INTEGER NOT NULL, PRIMARY KEY (name, lane, turn)) WITHOUT ROWID;
   CREATE TABLE job_holds (kind TEXT NOT NULL, value TEXT NOT NULL, until INTEGER, reason TEXT NOT NULL, PRIMARY KEY (kind, value)) WITHOUT ROWID;
   CREATE TABLE job_schedules (
     id TEXT PRIMARY KEY, cron TEXT NOT NULL, zone TEXT NOT NULL, job TEXT NOT NULL, missed TEXT NOT NULL, within INTEGER, next INTEGER
   ) WITHOUT ROWID`,
  'ALTER TABLE jobs ADD COLUMN traceparent TEXT',
];
