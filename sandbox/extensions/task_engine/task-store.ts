import type { Clock, ExtensionContext } from 'pith';
import { taskSchema, type Task, type TaskState } from './task.ts';
import { advance, type TaskEvent } from './transitions.ts';

/** What one write may do; no other process writes meanwhile. */
export interface TaskWrite {
  load(id: string): Task | null;
  insert(task: Task): void;
  /** The task after the event; null when the event does not fit, or when `claim` no longer holds the task. */
  change(id: string, event: TaskEvent, claim?: string): Task | null;
  /** The next task that can be worked on, taken by `claim` until `leaseMs` from now; null when there is none, or no room. */
  claim(claim: string, leaseMs: number, room: number): Task | null;
  /** False when somebody else has the task, or nobody. */
  renew(id: string, claim: string, leaseMs: number): boolean;
  told(ids: readonly string[]): void;
}

export interface TaskChange {
  readonly at: number;
  readonly state: TaskState;
  readonly note: string | null;
}

/** A change that is to be reported, and the task as it is by now. */
export interface Announcement extends TaskChange {
  readonly seq: number;
  readonly task: Task;
}

type Statement = Parameters<Parameters<ExtensionContext['database']['write']>[0]>[0];

const CLAIMABLE = `(state = 'pending' OR (state IN ('retry_scheduled', 'human_review') AND due <= ?) OR (state = 'running' AND until <= ?))`;

const FAR = `(state = 'running' AND until > ? OR state = 'retry_scheduled' AND due > ?)`;

const AWAITED = `SELECT 1 FROM task_engine__waits JOIN task_engine__tasks AS other ON other.id = awaited WHERE task_engine__waits.task = waiting.id`;
const RELEASED = `SELECT task FROM task_engine__tasks AS waiting WHERE
  state = 'blocked' AND (NOT EXISTS (${AWAITED} AND other.state <> 'done') OR EXISTS (${AWAITED} AND other.state IN ('failed', 'cancelled')))
  OR state = 'waiting_subtasks' AND NOT EXISTS (
    SELECT 1 FROM task_engine__tasks AS other WHERE other.parent = waiting.id AND other.state NOT IN ('done', 'failed', 'cancelled'))
  OR state IN ('pending', 'blocked', 'running', 'waiting_subtasks', 'human_review', 'retry_scheduled') AND parent IS NOT NULL AND EXISTS (
    SELECT 1 FROM task_engine__tasks AS other WHERE other.id = waiting.parent AND other.state IN ('failed', 'cancelled'))
  ORDER BY seq`;

/** The engine's tables: reads are synchronous, a write is on disk when its promise resolves. */
export class TaskStore {
  #ready: Promise<void> | undefined;

  constructor(
    private readonly database: ExtensionContext['database'],
    private readonly clock: Clock,
  ) {}

  /** Before the first read. Rejections are not remembered: the disk may be free again. */
  ready(): Promise<void> {
    this.#ready ??= this.database
      .write((statement) => SCHEMA.forEach((sql) => statement(sql)))
      .catch((error: unknown) => {
        this.#ready = undefined;
        throw error;
      });
    return this.#ready;
  }

  load(id: string): Task | null {
    return taskOf(this.database.get('SELECT task FROM task_engine__tasks WHERE id = ?', id));
  }

  /** Newest first. */
  list(limit: number, state: TaskState | null = null): readonly Task[] {
    return this.#tasks('SELECT task FROM task_engine__tasks WHERE state = coalesce(?, state) ORDER BY seq DESC LIMIT ?', state, limit);
  }

  ids(): readonly string[] {
    return this.database.all('SELECT id FROM task_engine__tasks ORDER BY seq DESC LIMIT 1000').map(({ id }) => String(id));
  }

  subtasks(parent: string): readonly Task[] {
    return this.#tasks('SELECT task FROM task_engine__tasks WHERE parent = ? ORDER BY seq', parent);
  }

  /** Tasks whose wait is over because others have ended. */
  released(): readonly Task[] {
    return this.#tasks(RELEASED);
  }

  /** Tasks that wait for this one, whatever their state. */
  waitingFor(id: string): readonly Task[] {
    return this.#tasks(
      'SELECT waiting.task FROM task_engine__waits AS waits JOIN task_engine__tasks AS waiting ON waiting.id = waits.task WHERE awaited = ? ORDER BY seq',
      id,
    );
  }

  unfinished(): number {
    const row = this.database.get(`SELECT count(*) AS n FROM task_engine__tasks WHERE state NOT IN ('done', 'failed', 'cancelled')`);
    return Number(row?.['n'] ?? 0);
  }

  changes(id: string): readonly TaskChange[] {
    return this.database.all('SELECT at, state, note FROM task_engine__changes WHERE task = ? ORDER BY seq', id).map(changeOf);
  }

  /** The clock was set back: no claim lasts longer than one that is made now, and no retry waits longer. Whoever holds a claim renews it meanwhile. */
  async shorten(leaseMs: number, waitMs: number): Promise<void> {
    const now = this.clock.now();
    const far = [now + leaseMs, now + waitMs] as const;
    if (this.database.get(`SELECT 1 FROM task_engine__tasks WHERE ${FAR} LIMIT 1`, ...far) === null) return;
    await this.database.write((statement) => {
      statement(`UPDATE task_engine__tasks SET until = min(until, ?), due = min(due, ?) WHERE ${FAR}`, ...far, ...far);
    });
  }

  /** Cheap, so that it may be asked often: a write takes the lock of the file. */
  hasClaimable(): boolean {
    const now = this.clock.now();
    return this.database.get(`SELECT 1 FROM task_engine__tasks WHERE ${CLAIMABLE} LIMIT 1`, now, now) !== null;
  }

  holds(id: string, claim: string): boolean {
    return this.database.get('SELECT 1 FROM task_engine__tasks WHERE id = ? AND owner = ?', id, claim) !== null;
  }

  /** The oldest changes that have not been reported. */
  unannounced(): readonly Announcement[] {
    return this.database
      .all(
        `SELECT changes.seq, at, changes.state, note, tasks.task FROM task_engine__changes AS changes
           JOIN task_engine__tasks AS tasks ON tasks.id = changes.task WHERE announced = 0 ORDER BY changes.seq LIMIT 100`,
      )
      .map((row) => ({ seq: Number(row['seq']), ...changeOf(row), task: taskOf(row) as Task }));
  }

  announced(seq: number): Promise<void> {
    return this.database.write((statement) => {
      statement('UPDATE task_engine__changes SET announced = 1 WHERE seq = ?', seq);
    });
  }

  /** One transaction. `act` must not wait. */
  async write<T>(act: (tasks: TaskWrite) => T): Promise<T> {
    await this.ready();
    let value: T | undefined;
    await this.database.write((statement) => void (value = act(this.#writing(statement))));
    return value as T;
  }

  #writing(statement: Statement): TaskWrite {
    const { database, clock } = this;
    return {
      load: (id) => this.load(id),
      insert: (task) => this.#insert(statement, task),
      change: (id, event, claim) => {
        const before = claim === undefined || this.holds(id, claim) ? this.load(id) : null;
        const after = before && advance(before, event);
        if (before && after) this.#save(statement, before, after);
        return after;
      },
      claim: (claim, leaseMs, room) => {
        const now = clock.now();
        const busy = database.get(`SELECT count(*) AS n FROM task_engine__tasks WHERE state = 'running' AND until > ?`, now);
        if (Number(busy?.['n'] ?? 0) >= room) return null;
        const next = database.get(`SELECT task FROM task_engine__tasks WHERE ${CLAIMABLE} ORDER BY priority DESC, seq LIMIT 1`, now, now);
        const before = taskOf(next);
        const after = before && advance(before, { type: 'claimed' });
        if (!before || !after) return null;
        this.#save(statement, before, after);
        statement('UPDATE task_engine__tasks SET owner = ?, until = ? WHERE id = ?', claim, now + leaseMs, after.id);
        return after;
      },
      renew: (id, claim, leaseMs) =>
        statement('UPDATE task_engine__tasks SET until = ? WHERE id = ? AND owner = ?', clock.now() + leaseMs, id, claim).changes > 0,
      told: (ids) => {
        for (const id of ids) statement(`UPDATE task_engine__tasks SET task = json_set(task, '$.told', json('true')) WHERE id = ?`, id);
      },
    };
  }

  #insert(statement: Statement, task: Task): void {
    statement(
      'INSERT INTO task_engine__tasks (id, state, priority, parent, task) VALUES (?, ?, ?, ?, ?)',
      task.id,
      task.state,
      task.priority,
      task.parent,
      JSON.stringify(task),
    );
    for (const awaited of task.after) statement('INSERT INTO task_engine__waits VALUES (?, ?)', task.id, awaited);
    this.#log(statement, task);
  }

  #save(statement: Statement, before: Task, after: Task): void {
    const now = this.clock.now();
    statement(
      `UPDATE task_engine__tasks SET state = ?, due = ?, task = ?, owner = CASE WHEN ? = 'running' THEN owner END,
         until = CASE WHEN ? = 'running' THEN until END WHERE id = ?`,
      after.state,
      after.waitMs === null ? null : now + after.waitMs,
      JSON.stringify({ ...after, updatedAt: now }),
      after.state,
      after.state,
      after.id,
    );
    if (before.state !== after.state || before.turn !== after.turn) this.#log(statement, after);
  }

  #log(statement: Statement, { id, state, note }: Task): void {
    statement('INSERT INTO task_engine__changes (task, at, state, note) VALUES (?, ?, ?, ?)', id, this.clock.now(), state, note);
  }

  #tasks(sql: string, ...parameters: Parameters<ExtensionContext['database']['all']>[1][]): readonly Task[] {
    return this.database.all(sql, ...parameters).map((row) => taskOf(row) as Task);
  }
}

function taskOf(row: ReturnType<ExtensionContext['database']['all']>[number] | null): Task | null {
  return row === null ? null : taskSchema().parse(JSON.parse(String(row['task'])));
}

function changeOf(row: ReturnType<ExtensionContext['database']['all']>[number]): TaskChange {
  return { at: Number(row['at']), state: row['state'] as TaskState, note: row['note'] === null ? null : String(row['note']) };
}

/** Bare names are prefixed by the extension's id, as every table of an extension must be. */
const SCHEMA = [
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
