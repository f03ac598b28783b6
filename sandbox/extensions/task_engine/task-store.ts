import { type Clock, codeOf, type ExtensionContext, type Job, PithError } from 'pith';
import { oncePromised } from '@pith/promises';
import { taskSchema, type Task, type TaskState } from './task.ts';
import { advance, hasJob } from './transitions.ts';
import { follow, type Tasks } from './waiting.ts';

/** One change of tasks and their jobs. It is written whole, and made again when somebody else has changed what it read. */
export interface TaskWrite extends Tasks {
  insert(task: Task, limits: TaskLimits): void;
  /** Gives a task of an older Pith its job. False: its row has changed since it had this text. */
  adopt(id: string, text: string): Promise<boolean>;
}

/** How many there may be with a new one. */
export interface TaskLimits {
  readonly unfinished: number;
  /** Of one parent. */
  readonly subtasks: number;
}

export interface TaskFilter {
  readonly state?: TaskState | null;
  /** Only those that have not ended. */
  readonly isOpen?: boolean;
  /** Whose they are; null: everybody's. */
  readonly userId?: string | null;
  /** The id of the task that they follow. */
  readonly after?: string | null;
}

export interface TaskChange {
  readonly at: number;
  readonly state: TaskState;
  readonly note: string | null;
}

/** The payload of jobs that report changes. */
export type Change = Pick<TaskChange, 'state' | 'note'> & { readonly task: string };

type Database = ExtensionContext['database'];
type Row = NonNullable<Awaited<ReturnType<Database['get']>>>;
type Statements = Parameters<Database['write']>[0];
type JobStatement = ReturnType<ExtensionContext['jobs']['statement']>;

const IS_OPEN = `state NOT IN ('done', 'failed', 'cancelled')`;
const LISTED = `SELECT id, task FROM task_engine__tasks WHERE state = coalesce(?, state) AND (? = 0 OR ${IS_OPEN})
  AND (? IS NULL OR CASE WHEN json_valid(task) THEN json_extract(task, '$.submitter.userId') END = ?)
  AND (? IS NULL OR seq < (SELECT seq FROM task_engine__tasks WHERE id = ?)) ORDER BY seq DESC LIMIT ?`;
const UNFINISHED = `SELECT count(*) AS n FROM task_engine__tasks WHERE ${IS_OPEN}`;

/** The tables of tasks. What is written is on disk when the promise resolves. */
export class TaskStore {
  /** The database, with the tables in it. */
  readonly tables = oncePromised(async () => {
    await this.database.write(SCHEMA.map((sql) => ({ sql })));
    return this.database;
  });

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly jobs: Pick<ExtensionContext['jobs'], 'statement' | 'guard' | 'cancel'>,
  ) {}

  async load(id: string): Promise<Task | null> {
    return taskOf((await this.#rows(ONE, id))[0] ?? null);
  }

  /** Those that are there, in this order. */
  async loadAll(ids: readonly string[]): Promise<readonly Task[]> {
    return (await Promise.all(ids.map((id) => this.#tasks(ONE, id)))).flat();
  }

  /** Newest first. */
  async list(limit: number, { state = null, isOpen = false, userId = null, after = null }: TaskFilter = {}): Promise<readonly Task[]> {
    return this.#tasks(LISTED, state && columnOf(state), isOpen ? 1 : 0, userId, userId, after, after, limit);
  }

  async ids(): Promise<readonly string[]> {
    return (await this.#rows('SELECT id FROM task_engine__tasks ORDER BY seq DESC LIMIT 1000')).map(({ id }) => String(id));
  }

  async subtasks(parent: string): Promise<readonly Task[]> {
    return this.#tasks(SUBTASKS, parent);
  }

  async unfinished(): Promise<number> {
    return Number((await this.#rows(UNFINISHED))[0]?.['n']);
  }

  async changes(id: string): Promise<readonly TaskChange[]> {
    return (await this.#rows('SELECT at, state, note FROM task_engine__changes WHERE task = ? ORDER BY seq', id)).map(changeOf);
  }

  /** Ids of unfinished rows that cannot be read: nobody works on them, and the others go on. */
  async damaged(): Promise<readonly string[]> {
    const rows = await this.#rows(`SELECT id, task FROM task_engine__tasks WHERE ${IS_OPEN}`);
    return rows.flatMap((row) => (readable(row) === null ? [String(row['id'])] : []));
  }

  /** `act` may run more than once. `by`: the job that makes the change; rejects `lease_lost` once another process has it. */
  async write<T>(act: (tasks: TaskWrite) => Promise<T>, by?: Pick<Job, 'id' | 'fence'>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const work: Writing = { known: new Map(), statements: [], left: [] };
      const value = await act(this.#writing(work));
      if (work.statements.length === 0) return value;
      const same = [...work.known.values()].filter(({ changed }) => !changed).map(sameAs); // what was only read must still be so
      try {
        await (await this.tables()).write([...(by ? [this.jobs.guard(by)] : []), ...work.statements, ...same]);
      } catch (error) {
        if (codeOf(error, '') === 'write_conflict' && attempt < MOST_ATTEMPTS) continue; // somebody else was faster
        throw error;
      }
      for (const id of work.left) if (id !== by?.id) await this.jobs.cancel(id, SUPERSEDED).catch(() => false); // it finds out by itself
      return value;
    }
  }

  #writing({ known, statements, left }: Writing): TaskWrite {
    const keep = (row: Row): Known | null => {
      const task = readable(row);
      if (task === null) return null; // as if it were not there: others go on
      const before = known.get(task.id) ?? { task, text: String(row['task']), changed: false };
      known.set(task.id, before);
      return before;
    };
    const find = async (id: string): Promise<Known | null> => {
      const row = known.has(id) ? undefined : (await this.#rows(ONE, id))[0];
      return row === undefined ? (known.get(id) ?? null) : keep(row);
    };
    const all = async (...query: Parameters<Database['all']>) => (await this.#rows(...query)).flatMap((row) => keep(row)?.task ?? []);
    const put = (before: Known, after: Task): void => {
      const text = JSON.stringify(after);
      statements.push(sameAs(before), { sql: SAVE, values: [columnOf(after.state), text, after.id] });
      known.set(after.id, { task: after, text, changed: true });
    };
    const tasks: TaskWrite = {
      load: async (id) => (await find(id))?.task ?? null,
      subtasks: (parent) => all(SUBTASKS, parent),
      waitingFor: (id) => all(WAITING, id),
      insert: (task, limits) => void statements.push(...this.#inserted(task, limits)),
      change: async (id, event) => {
        const before = await find(id);
        const moved = before && advance(before.task, event);
        if (!before || !moved) return null;
        const isNew = moved.state !== before.task.state;
        const work = isNew && moved.state === 'pending' ? [this.#work(moved)] : [];
        const after = { ...moved, job: work[0]?.job ?? moved.job, updatedAt: this.clock.now() };
        if (before.task.job !== null && hasJob(before.task) && (work.length > 0 || !hasJob(after))) left.push(before.task.job);
        put(before, after);
        if (isNew) statements.push(...work, ...this.#logged(after));
        if (isNew && after.state !== 'running') await follow(tasks, after);
        return after;
      },
      adopt: async (id, text) => {
        const before = await find(id);
        if (before === null || before.text !== text) return false;
        if (before.task.job !== null || !hasJob(before.task)) return true;
        const work = this.#work(before.task, { unique: id });
        statements.push(work);
        put(before, { ...before.task, job: work.job });
        return true;
      },
    };
    return tasks;
  }

  #inserted(task: Task, { unfinished, subtasks }: TaskLimits): Statements {
    const { id, state, priority, parent, after } = task;
    const work = state === 'pending' ? [this.#work(task)] : [];
    const text = JSON.stringify({ ...task, job: work[0]?.job ?? null });
    return [
      { sql: INSERT, values: [id, columnOf(state), priority, parent, text, unfinished, parent, parent, subtasks], changes: 1 },
      ...after.map((awaited) => ({ sql: 'INSERT INTO task_engine__waits VALUES (?, ?)', values: [id, awaited] })),
      ...work,
      ...this.#logged(task),
    ];
  }

  #work({ id, priority, submitter }: Task, more: { readonly unique?: string } = {}): JobStatement {
    return this.jobs.statement('work', { task: id }, { lane: 'tasks', owner: submitter.userId, priority, ...more });
  }

  #logged({ id, state, note }: Task): Statements {
    const sql = 'INSERT INTO task_engine__changes (task, at, state, note, announced) VALUES (?, ?, ?, ?, 1)';
    const change: Change = { task: id, state, note };
    return [{ sql, values: [id, this.clock.now(), state, note] }, this.jobs.statement('announce', change, { sequence: id })];
  }

  async #rows(...query: Parameters<Database['all']>): Promise<readonly Row[]> {
    return (await this.tables()).all(...query);
  }

  async #tasks(...query: Parameters<Database['all']>): Promise<readonly Task[]> {
    return (await this.#rows(...query)).flatMap((row) => readable(row) ?? []);
  }
}

/** A task as one write knows it. */
interface Known {
  readonly task: Task;
  /** As it is in its row. */
  readonly text: string;
  readonly changed: boolean;
}

/** What one write reads and changes, and the jobs that nobody needs any more. */
interface Writing {
  readonly known: Map<string, Known>;
  readonly statements: Statements[number][];
  readonly left: string[];
}

const SUPERSEDED = 'its task has ended, or goes on by another job';

/** Changes nothing, and only where the task is as it was read. */
function sameAs({ task, text }: Known): Statements[number] {
  return { sql: 'UPDATE task_engine__tasks SET id = id WHERE id = ? AND task = ?', values: [task.id, text], changes: 1 };
}

/** An older Pith on this sandbox takes rows that are 'pending', and has no job that it does. */
function columnOf(state: TaskState): string {
  return state === 'pending' ? 'queued' : state;
}

const ONE = 'SELECT id, task FROM task_engine__tasks WHERE id = ?';
const SUBTASKS = 'SELECT id, task FROM task_engine__tasks WHERE parent = ? ORDER BY seq';
const WAITING = `SELECT waiting.id, waiting.task FROM task_engine__waits AS waits
  JOIN task_engine__tasks AS waiting ON waiting.id = waits.task WHERE awaited = ? ORDER BY seq`;

/** Others cannot be faster so often: something else is wrong then. */
const MOST_ATTEMPTS = 100;

const SAVE = 'UPDATE task_engine__tasks SET state = ?, task = ?, owner = NULL, until = NULL, due = NULL WHERE id = ?';

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
