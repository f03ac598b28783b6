import { type Clock, codeOf, type ExtensionContext, PithError } from 'pith';
import { taskSchema, type Task, type TaskState } from './task.ts';
import { advance, type TaskEvent } from './transitions.ts';

/** One change of tasks. It is written whole, and made again when somebody else has changed what it read. */
export interface TaskWrite {
  load(id: string): Promise<Task | null>;
  /** Oldest first. */
  subtasks(parent: string): Promise<readonly Task[]>;
  insert(task: Task, limits: TaskLimits): void;
  /** The task after the event; null when the event does not fit, or when `claim` no longer holds the task. */
  change(id: string, event: TaskEvent, claim?: string): Promise<Task | null>;
  /** Their parent has been given their results. */
  acknowledge(ids: readonly string[]): Promise<void>;
}

/** How many there may be with a new one. */
export interface TaskLimits {
  readonly unfinished: number;
  /** Of one parent. */
  readonly subtasks: number;
}

export interface TaskChange {
  readonly at: number;
  readonly state: TaskState;
  readonly note: string | null;
}

/** A change that is to be reported, and the task as it is by now; null: its row cannot be read. */
export interface Announcement extends TaskChange {
  readonly seq: number;
  readonly task: Task | null;
}

type Database = ExtensionContext['database'];
type Row = NonNullable<Awaited<ReturnType<Database['get']>>>;
type Statements = Parameters<Database['write']>[0];

const IS_OPEN = `state NOT IN ('done', 'failed', 'cancelled')`;
const UNFINISHED = `SELECT count(*) AS n FROM task_engine__tasks WHERE ${IS_OPEN}`;

const CLAIMABLE = `(state = 'pending' OR (state IN ('retry_scheduled', 'human_review') AND due <= ?) OR (state = 'running' AND until <= ?))`;

const FAR = `(state = 'running' AND until > ? OR state = 'retry_scheduled' AND due > ?)`;

const AWAITED = `SELECT 1 FROM task_engine__waits JOIN task_engine__tasks AS other ON other.id = awaited WHERE task_engine__waits.task = waiting.id`;
const RELEASED = `SELECT id, task FROM task_engine__tasks AS waiting WHERE
  state = 'blocked' AND (NOT EXISTS (${AWAITED} AND other.state <> 'done') OR EXISTS (${AWAITED} AND other.state IN ('failed', 'cancelled')))
  OR state = 'waiting_subtasks' AND NOT EXISTS (
    SELECT 1 FROM task_engine__tasks AS other WHERE other.parent = waiting.id AND other.state NOT IN ('done', 'failed', 'cancelled'))
  OR state IN ('pending', 'blocked', 'running', 'waiting_subtasks', 'human_review', 'retry_scheduled') AND parent IS NOT NULL AND EXISTS (
    SELECT 1 FROM task_engine__tasks AS other WHERE other.id = waiting.parent AND other.state IN ('failed', 'cancelled'))
  ORDER BY seq`;

/** The engine's tables. What is written is on disk when the promise resolves. */
export class TaskStore {
  #ready: Promise<unknown> | undefined;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Before the first read. Rejections are not remembered: the disk may be free again. */
  async ready(): Promise<void> {
    this.#ready ??= this.database.write(SCHEMA.map((sql) => ({ sql }))).catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    await this.#ready;
  }

  async load(id: string): Promise<Task | null> {
    return taskOf(await this.database.get(ONE, id));
  }

  /** Those that are there, in this order. */
  async loadAll(ids: readonly string[]): Promise<readonly Task[]> {
    const rows = await Promise.all(ids.map((id) => this.database.get(ONE, id)));
    return rows.flatMap((row) => (row && readable(row)) ?? []);
  }

  /** Newest first. */
  async list(limit: number, state: TaskState | null = null): Promise<readonly Task[]> {
    return this.#tasks('SELECT id, task FROM task_engine__tasks WHERE state = coalesce(?, state) ORDER BY seq DESC LIMIT ?', state, limit);
  }

  async ids(): Promise<readonly string[]> {
    return (await this.database.all('SELECT id FROM task_engine__tasks ORDER BY seq DESC LIMIT 1000')).map(({ id }) => String(id));
  }

  async subtasks(parent: string): Promise<readonly Task[]> {
    return this.#tasks(SUBTASKS, parent);
  }

  /** Tasks whose wait is over because others have ended. */
  async released(): Promise<readonly Task[]> {
    return this.#tasks(RELEASED);
  }

  /** Tasks that wait for this one, whatever their state. */
  async waitingFor(id: string): Promise<readonly Task[]> {
    return this.#tasks(
      'SELECT waiting.id, waiting.task FROM task_engine__waits AS waits JOIN task_engine__tasks AS waiting ON waiting.id = waits.task WHERE awaited = ? ORDER BY seq',
      id,
    );
  }

  async unfinished(): Promise<number> {
    return Number((await this.database.get(UNFINISHED))?.['n'] ?? 0);
  }

  async changes(id: string): Promise<readonly TaskChange[]> {
    return (await this.database.all('SELECT at, state, note FROM task_engine__changes WHERE task = ? ORDER BY seq', id)).map(changeOf);
  }

  /** The clock was set back: no claim lasts longer than one that is made now, and no retry waits longer. Whoever holds a claim renews it meanwhile. */
  async shorten(leaseMs: number, waitMs: number): Promise<void> {
    const now = this.clock.now();
    const far = [now + leaseMs, now + waitMs] as const;
    if ((await this.database.get(`SELECT 1 FROM task_engine__tasks WHERE ${FAR} LIMIT 1`, ...far)) === null) return;
    const sql = `UPDATE task_engine__tasks SET until = min(until, ?), due = min(due, ?) WHERE ${FAR}`;
    await this.database.write([{ sql, values: [...far, ...far] }]);
  }

  /** The next task that can be worked on, taken by `claim` until `leaseMs` from now; null when there is none, or no room. */
  async claim(claim: string, leaseMs: number, room: number): Promise<Task | null> {
    await this.ready();
    const now = this.clock.now();
    const rows = await this.database.all(
      `SELECT id, task FROM task_engine__tasks WHERE ${CLAIMABLE} AND ${ROOM} ORDER BY priority DESC, seq LIMIT ${MOST_LOOKED_AT}`,
      now,
      now,
      now,
      room,
    );
    for (const row of rows) {
      const before = readable(row);
      const after = before && advance(before, { type: 'claimed' });
      if (!before || !after) continue;
      const take = `UPDATE task_engine__tasks SET owner = ?, until = ? WHERE id = ? AND task = ? AND ${CLAIMABLE} AND ${ROOM}`;
      const values = [claim, now + leaseMs, after.id, row['task'] as string, now, now, now, room];
      try {
        await this.database.write([{ sql: take, values, changes: 1 }, ...this.#saved(before, after).statements]);
        return after;
      } catch (error) {
        if (codeOf(error, '') !== 'write_conflict') throw error; // else somebody else has taken it, or the room
      }
    }
    return null;
  }

  /** Ids of unfinished rows that cannot be read: nobody works on them, and the others go on. */
  async damaged(): Promise<readonly string[]> {
    const rows = await this.database.all(`SELECT id, task FROM task_engine__tasks WHERE ${IS_OPEN}`);
    return rows.flatMap((row) => (readable(row) === null ? [String(row['id'])] : []));
  }

  /** Those whose claims still hold. */
  async renew(claims: readonly { readonly taskId: string; readonly claim: string }[], leaseMs: number): Promise<void> {
    const until = this.clock.now() + leaseMs;
    const sql = 'UPDATE task_engine__tasks SET until = ? WHERE id = ? AND owner = ?';
    await this.database.write(claims.map(({ taskId, claim }) => ({ sql, values: [until, taskId, claim] })));
  }

  async holds(id: string, claim: string): Promise<boolean> {
    return (await this.database.get('SELECT 1 FROM task_engine__tasks WHERE id = ? AND owner = ?', id, claim)) !== null;
  }

  /** The oldest changes that have not been reported. */
  async unannounced(): Promise<readonly Announcement[]> {
    const rows = await this.database.all(
      `SELECT changes.seq, at, changes.state, note, tasks.id, tasks.task FROM task_engine__changes AS changes
         JOIN task_engine__tasks AS tasks ON tasks.id = changes.task WHERE announced = 0 ORDER BY changes.seq LIMIT 100`,
    );
    return rows.map((row) => ({ seq: Number(row['seq']), ...changeOf(row), task: readable(row) }));
  }

  async markAnnounced(seq: number): Promise<void> {
    await this.database.write([{ sql: 'UPDATE task_engine__changes SET announced = 1 WHERE seq = ?', values: [seq] }]);
  }

  /** `act` may run more than once. */
  async write<T>(act: (tasks: TaskWrite) => Promise<T>): Promise<T> {
    await this.ready();
    return this.#untilNobodyIsFaster(async () => {
      const known = new Map<string, Known>();
      const statements: Statements[number][] = [];
      const value = await act(this.#writing(known, statements));
      if (statements.length === 0) return value;
      // What was only read must still be so.
      const read = [...known.values()].filter(({ changed }) => !changed);
      const same = read.map(sameAs);
      await this.database.write([...statements, ...same]);
      return value;
    });
  }

  #writing(known: Map<string, Known>, statements: Statements[number][]): TaskWrite {
    const keep = (row: Row): Known | null => {
      const task = readable(row);
      if (task === null) return null; // as if it were not there: others go on
      const before = known.get(task.id) ?? { task, text: String(row['task']), owner: row['owner'] ?? null, changed: false };
      known.set(task.id, before);
      return before;
    };
    const find = async (id: string): Promise<Known | null> => {
      const row = known.has(id) ? null : await this.database.get('SELECT id, task, owner FROM task_engine__tasks WHERE id = ?', id);
      return row === null ? (known.get(id) ?? null) : keep(row);
    };
    const put = (before: Known, after: Task, saved = this.#saved(before.task, after)): void => {
      statements.push(sameAs(before), ...saved.statements);
      known.set(after.id, { task: after, text: saved.text, owner: after.state === 'running' ? before.owner : null, changed: true });
    };
    return {
      load: async (id) => (await find(id))?.task ?? null,
      subtasks: async (parent) => (await this.database.all(SUBTASKS, parent)).flatMap((row) => keep(row)?.task ?? []),
      insert: (task, limits) => void statements.push(...this.#inserted(task, limits)),
      async change(id, event, claim) {
        const before = await find(id);
        const after = before && (claim === undefined || before.owner === claim) ? advance(before.task, event) : null;
        if (before && after) put(before, after);
        return after;
      },
      async acknowledge(ids) {
        for (const id of ids) {
          const before = await find(id);
          if (before === null) continue;
          const text = JSON.stringify({ ...before.task, told: true });
          const sql = 'UPDATE task_engine__tasks SET task = ? WHERE id = ?';
          put(before, { ...before.task, told: true }, { text, statements: [{ sql, values: [text, id] }] });
        }
      },
    };
  }

  async #untilNobodyIsFaster<T>(act: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await act();
      } catch (error) {
        if (codeOf(error, '') !== 'write_conflict' || attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }

  #inserted(task: Task, { unfinished, subtasks }: TaskLimits): Statements {
    const { id, state, priority, parent, after } = task;
    return [
      { sql: INSERT, values: [id, state, priority, parent, JSON.stringify(task), unfinished, parent, parent, subtasks], changes: 1 },
      ...after.map((awaited) => ({ sql: 'INSERT INTO task_engine__waits VALUES (?, ?)', values: [id, awaited] })),
      this.#logged(task),
    ];
  }

  #saved(before: Task, after: Task): { readonly text: string; readonly statements: Statements } {
    const now = this.clock.now();
    const text = JSON.stringify({ ...after, updatedAt: now });
    const due = after.waitMs === null ? null : now + after.waitMs;
    const saved = { sql: SAVE, values: [after.state, due, text, after.state, after.state, after.id] };
    return { text, statements: before.state !== after.state || before.turn !== after.turn ? [saved, this.#logged(after)] : [saved] };
  }

  #logged({ id, state, note }: Task): Statements[number] {
    const sql = 'INSERT INTO task_engine__changes (task, at, state, note) VALUES (?, ?, ?, ?)';
    return { sql, values: [id, this.clock.now(), state, note] };
  }

  async #tasks(...query: Parameters<Database['all']>): Promise<readonly Task[]> {
    return (await this.database.all(...query)).flatMap((row) => readable(row) ?? []);
  }
}

/** A task as one write knows it. */
interface Known {
  readonly task: Task;
  /** As it is in its row. */
  readonly text: string;
  /** The claim that holds it. */
  readonly owner: Row[string];
  readonly changed: boolean;
}

const ROOM = `(SELECT count(*) FROM task_engine__tasks WHERE state = 'running' AND until > ?) < ?`;

/** Changes nothing, and only where the task is as it was read, and in the same hands. */
function sameAs({ task, text, owner }: Known): Statements[number] {
  const sql = 'UPDATE task_engine__tasks SET id = id WHERE id = ? AND task = ? AND owner IS ?';
  return { sql, values: [task.id, text, owner], changes: 1 };
}

const ONE = 'SELECT id, task FROM task_engine__tasks WHERE id = ?';
const SUBTASKS = 'SELECT id, task, owner FROM task_engine__tasks WHERE parent = ? ORDER BY seq';

/** `claim` looks at so many rows; damaged ones and those that others take can hide the rest until the next look. */
const MOST_LOOKED_AT = 50;

/** Others cannot be faster so often: something else is wrong then. */
const MOST_ATTEMPTS = 100;

const SAVE = `UPDATE task_engine__tasks SET state = ?, due = ?, task = ?, owner = CASE WHEN ? = 'running' THEN owner END,
  until = CASE WHEN ? = 'running' THEN until END WHERE id = ?`;

const INSERT = `INSERT INTO task_engine__tasks (id, state, priority, parent, task)
  SELECT ?, ?, ?, ?, ? WHERE (${UNFINISHED}) < ? AND (? IS NULL OR (SELECT count(*) FROM task_engine__tasks WHERE parent = ?) < ?)
  ON CONFLICT (id) DO NOTHING`;

function taskOf(row: Row | null): Task | null {
  const task = row && readable(row);
  if (row === null || task) return task;
  throw new PithError('database_failed', `the row of task '${String(row['id'])}' is damaged`, {
    where: String(row['id']),
    cure: 'submit the task again',
  });
}

/** null for a row that something else has changed. */
function readable(row: Row): Task | null {
  try {
    const task = taskSchema().parse(JSON.parse(String(row['task'])));
    return task.id === row['id'] ? task : null;
  } catch {
    return null; // no JSON, or no task
  }
}

function changeOf(row: Row): TaskChange {
  return { at: Number(row['at']), state: row['state'] as TaskState, note: row['note'] === null ? null : String(row['note']) };
}

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
