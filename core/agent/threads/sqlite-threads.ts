import { isPlainMap } from '@pith/plain-data';
import {
  type AgentSpec,
  type Clock,
  type JsonValue,
  type Message,
  messageOf,
  PithError,
  type Tool,
  type ToolResult,
  type TurnPolicy,
} from '../../contract/index.ts';
import {
  type Usage,
  type Retain,
  type CallRecord,
  type CallState,
  type Charge,
  type StoredMessage,
  type ThreadRecord,
  type Threads,
  type ThreadWriter,
  type TurnRecord,
  type TurnState,
  isMessage,
} from './thread.ts';
import { type SqlValue, type SqlRow, type Fence, isHeldInWrite, type Statement, type Store } from '../../store/index.ts';
import { threadTaken } from './queue.ts';
import { CONVERSATIONS_OF_THREADS } from './sqlite-conversations.ts';
import { readTrace } from './sqlite-traces.ts';

/** No row: done by a Pith that did not note it. Tables of their own: Pith 0.1 inserts by position, also while a newer one runs beside it. */
const APART = `CREATE TABLE IF NOT EXISTS threadbranches (thread TEXT PRIMARY KEY, branch TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS turnends (turn TEXT PRIMARY KEY, ended INTEGER) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS turntraces (turn TEXT PRIMARY KEY, traceparent TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS calltimes (
     turn TEXT NOT NULL, step INTEGER NOT NULL, place INTEGER NOT NULL, began INTEGER, ended INTEGER NOT NULL,
     PRIMARY KEY (turn, step, place)
   ) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS steps (
     turn TEXT NOT NULL, step INTEGER NOT NULL, model TEXT NOT NULL, began INTEGER NOT NULL, ended INTEGER NOT NULL,
     input INTEGER NOT NULL, output INTEGER NOT NULL, PRIMARY KEY (turn, step)
   ) WITHOUT ROWID;`;

/** Names without an underscore: no extension's prefix can reach them. A turn's agent is separate, because each step rewrites the turn's row. */
const SCHEMA = [
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
  // What compaction wrote before named also results that were not in it whole.
  `UPDATE messages SET retain = NULL WHERE turn = '';`,
  // Null: the turn was begun by a Pith that did not note it.
  `ALTER TABLE turns ADD COLUMN model TEXT;
   ALTER TABLE turns ADD COLUMN owninput INTEGER;
   ALTER TABLE turns ADD COLUMN ownoutput INTEGER;
   CREATE INDEX turnsofthread ON turns (thread, started);`,
  'ALTER TABLE turns ADD COLUMN message TEXT;',
  APART,
  // Pith from its sources had two further versions for a while, which added columns.
  APART,
  APART,
  CONVERSATIONS_OF_THREADS,
];

const IS_OPEN = "state IN ('running', 'awaiting_approval')"; // as the index has it
const INSERT_MESSAGE = `INSERT INTO messages SELECT thread, 1 + (SELECT coalesce(max(seq), 0) FROM messages WHERE thread = turns.thread), id, ?, ?
  FROM turns WHERE id = ?`;
const THREAD = `SELECT threads.*, threadbranches.branch AS branch, (SELECT user FROM conversations WHERE thread = threads.id) AS user
  FROM threads LEFT JOIN threadbranches ON threadbranches.thread = id`;
const TURN = `SELECT turns.*, agent, policy, turntraces.traceparent AS traceparent FROM turns JOIN turnagents ON turnagents.turn = id
  LEFT JOIN turntraces ON turntraces.turn = id`;
const INSERT_THREAD = `INSERT INTO threads (id, agent, date, title, created, updated) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, agent = excluded.agent`;
const INSERT_TURN = `INSERT INTO turns
  (id, thread, channel, user, correlation, depth, state, steps, input, output, started, key, message, owninput, ownoutput)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)`;
const STEP_DONE =
  'UPDATE turns SET steps = ?, input = ?, output = ?, owninput = owninput + ?, ownoutput = ownoutput + ?, model = ? WHERE id = ?';
/** Before it was noted by itself, what a turn used had all that it called in it. */
const USAGE = `SELECT model,
    sum(coalesce(owninput, CASE thread WHEN ? THEN input ELSE 0 END)) AS input,
    sum(coalesce(ownoutput, CASE thread WHEN ? THEN output ELSE 0 END)) AS output
  FROM turns WHERE started >= ? AND (thread = ? OR thread IN (SELECT value FROM json_each(?))) GROUP BY model ORDER BY model`;
const INSERT_BRANCH = `INSERT INTO threads (id, agent, date, title, created, updated, compactions)
  SELECT ?, agent, date, ?, ?, ?, compactions FROM threads WHERE id = ?`;
/** The turn of its last message is one of its own, ended and without use: it says whose the branch is, also when the other thread has gone. */
const BRANCH_TURN = `INSERT INTO turns
  (id, thread, channel, user, correlation, depth, state, steps, input, output, started, owninput, ownoutput)
  SELECT ?, ?, channel, user, correlation, depth, 'done', steps, 0, 0, started, 0, 0 FROM turns WHERE id = ?`;
const BRANCH_MESSAGES = `INSERT INTO messages
  SELECT ?, seq, CASE turn WHEN ? THEN ? ELSE turn END, message, retain FROM messages WHERE thread = ? AND seq < ?`;
const LAST_TURN = "SELECT turn FROM messages WHERE thread = ? AND seq < ? AND turn <> '' ORDER BY seq DESC LIMIT 1";
const INSERT_CALL = `INSERT INTO calls (turn, step, place, call, name, extension, tool, input, effect, state, result)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const CALL_ENDED = 'INSERT OR REPLACE INTO calltimes (turn, step, place, began, ended) VALUES (?, ?, ?, ?, ?)';
const INSERT_TRACE = 'INSERT INTO turntraces (turn, traceparent) VALUES (?, ?)';
const INSERT_STEP = 'INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?)';

/** Events of threads, in the transactions of their rows. */
interface ThreadEvents {
  /** Writes `user.message`, with the turn that answers it. */
  said(statement: Statement, turn: TurnRecord, text: string): void;
  /** Deletes the events of a thread that is removed, and writes that it was. */
  removed(statement: Statement, threadId: string): void;
}

const NO_EVENTS: ThreadEvents = { said: () => undefined, removed: () => undefined };

export function createSqliteThreads(store: Store, clock: Clock, events: ThreadEvents = NO_EVENTS): Threads {
  store.migrate('threads', SCHEMA);
  const read = rowReader(store.file);

  const withCalls = (row: SqlRow | null) => {
    if (row === null) return null;
    const turn = read.turn(row);
    return { turn, calls: store.all('SELECT * FROM calls WHERE turn = ? ORDER BY step, place', turn.id).map(read.call) };
  };
  const find = (threadId: string) => {
    const row = store.get(`${THREAD} WHERE id = ?`, threadId);
    return row === null ? null : read.thread(row);
  };

  return {
    find: async (threadId) => find(threadId),

    async load(threadId) {
      const thread = find(threadId);
      if (thread === null) return null;
      const messages = store.all('SELECT seq, turn, message, retain FROM messages WHERE thread = ? ORDER BY seq', threadId);
      return { thread, messages: messages.map((message) => read.message(threadId, message)) };
    },

    async inspect(threadId) {
      if (store.get('SELECT 1 FROM threads WHERE id = ?', threadId) === null) return null;
      const rows = store.all('SELECT seq, turn, message, retain FROM messages WHERE thread = ? ORDER BY seq', threadId);
      const found = rows.map((row) => ({ seq: Number(row.seq), ...attempt(() => read.message(threadId, row)) }));
      const ofTurns = unreadableOfTurns(store, threadId);
      const open = store.get(
        `SELECT id, state FROM turns WHERE thread = ? AND ${IS_OPEN} ORDER BY started DESC, id DESC LIMIT 1`,
        threadId,
      );
      const isReadable = open !== null && ofTurns.every(({ turnId }) => turnId !== open.id);
      return {
        messages: found.flatMap(({ value }) => value ?? []),
        unreadable: [
          ...found.flatMap(({ seq, why }) => (why === null ? [] : { seq, what: 'it cannot be read' })),
          ...ofTurns.map(({ why }) => ({ seq: null, what: why })),
        ],
        openTurn: isReadable ? text(open.id) : null,
        isRunning: isReadable && open.state === 'running',
      };
    },

    async list(limit) {
      return store.all(`${THREAD} ORDER BY updated DESC, id LIMIT ?`, limit).map(read.thread);
    },

    async unfinished(threadId) {
      return withCalls(store.get(`${TURN} WHERE thread = ? AND ${IS_OPEN} ORDER BY started DESC, id DESC LIMIT 1`, threadId));
    },

    async last(threadId) {
      const row = store.get(
        `${TURN} WHERE id = (SELECT turn FROM messages WHERE thread = ? AND turn <> '' ORDER BY seq DESC LIMIT 1)`,
        threadId,
      );
      return row === null ? null : read.turn(row);
    },

    async keyed(threadId, key) {
      return withCalls(store.get(`${TURN} WHERE thread = ? AND (key = ? OR turns.id = ?)`, threadId, key, key));
    },

    async usage(threadId, since = 0) {
      return store
        .all(USAGE, threadId, threadId, since, threadId, JSON.stringify(calledFrom(store, threadId)))
        .map((row) => ({ model: row.model === null ? null : text(row.model), ...usageOf(row) }));
    },

    async delegated(_, turnId) {
      const row = store.get('SELECT turns, steps, calls FROM turndelegated WHERE turn = ?', turnId);
      return { turns: Number(row?.turns ?? 0), steps: Number(row?.steps ?? 0), calls: Number(row?.calls ?? 0) };
    },

    trace: async (named, most) => readTrace(store, named, most),

    writer: (fence) => createWriter(store, clock, fence, events),
  };
}

type CallKey = Pick<CallRecord, 'turnId' | 'step' | 'index'>;

function createWriter(store: Store, clock: Clock, fence: Fence, events: ThreadEvents): ThreadWriter {
  const write = (run: (statement: Statement) => void) =>
    store.write((statement) => {
      checkThreadFence(store, fence);
      run(statement);
    });

  const charge = (statement: Statement, callers: readonly Charge[]) => {
    for (const { turnId, delegated, usage, fence: own } of callers) {
      checkThreadFence(store, own);
      statement('INSERT OR REPLACE INTO turndelegated VALUES (?, ?, ?, ?)', turnId, delegated.turns, delegated.steps, delegated.calls);
      statement('UPDATE turns SET input = ?, output = ? WHERE id = ?', usage.inputTokens, usage.outputTokens, turnId);
    }
  };

  const setState = (statement: Statement, turnId: string, state: TurnState, { inputTokens, outputTokens }: Usage) => {
    const set = 'UPDATE turns SET state = ?, input = ?, output = ? WHERE id = ?';
    found(statement(set, state, inputTokens, outputTokens, turnId).changes, `turn '${turnId}'`);
    statement('INSERT OR REPLACE INTO turnends (turn, ended) VALUES (?, ?)', turnId, state === 'running' ? null : clock.now());
    statement('UPDATE threads SET updated = ? WHERE id = (SELECT thread FROM turns WHERE id = ?)', clock.now(), turnId);
  };

  const setCall = (
    { turnId, step, index }: CallKey,
    state: CallState,
    { result, began = null }: { readonly result: ToolResult | null; readonly began?: number | null },
  ) => {
    const text = result && JSON.stringify(result);
    const ended = clock.now();
    const set = 'UPDATE calls SET state = ?, result = ? WHERE turn = ? AND step = ? AND place = ?';
    return write((statement) => {
      found(statement(set, state, text, turnId, step, index).changes, `call ${step}/${index} of turn '${turnId}'`);
      if (result !== null) statement(CALL_ENDED, turnId, step, index, began, ended);
    });
  };

  return {
    async beginTurn({ thread, turn, messages, said, callers = [] }) {
      const agent = JSON.stringify(turn.agent);
      const policy = JSON.stringify(turn.policy);
      const texts = messages.map((message) => JSON.stringify(message));
      const asker = [turn.channelId, turn.userId, turn.correlationId];
      const used = [turn.usage.inputTokens, turn.usage.outputTokens];
      await write((statement) => {
        const now = clock.now();
        statement(INSERT_THREAD, thread.id, thread.agentId, thread.date, thread.title.replaceAll('\0', ' '), now, now);
        const named = [turn.key, turn.messageId ?? null];
        statement(INSERT_TURN, turn.id, thread.id, ...asker, turn.depth, turn.state, turn.steps, ...used, turn.startedAt, ...named);
        statement('INSERT INTO turnagents VALUES (?, ?, ?)', turn.id, agent, policy);
        if (turn.traceparent !== undefined) statement(INSERT_TRACE, turn.id, turn.traceparent);
        for (const text of texts) statement(INSERT_MESSAGE, text, null, turn.id);
        if (said !== undefined) events.said(statement, turn, said);
        charge(statement, callers);
      });
    },

    async recordStep(turnId, { step, message, calls, usage, own, model, took, end, callers = [] }) {
      const text = JSON.stringify(message);
      const rows = calls.map(({ callId, name, extensionId, tool, input, effect, state, result }) => {
        const what = [callId, name, extensionId, tool, JSON.stringify(input) ?? 'null'];
        return [...what, effect, state, result && JSON.stringify(result)];
      });
      await write((statement) => {
        const used = [usage.inputTokens, usage.outputTokens, own.inputTokens, own.outputTokens] as const;
        found(statement(STEP_DONE, step + 1, ...used, model, turnId).changes, `turn '${turnId}'`);
        statement(INSERT_MESSAGE, text, null, turnId);
        if (took) statement(INSERT_STEP, turnId, step, model, took.began, took.ended, own.inputTokens, own.outputTokens);
        rows.forEach((row, index) => statement(INSERT_CALL, turnId, step, index, ...row));
        if (end !== undefined) setState(statement, turnId, end, usage);
        charge(statement, callers);
      });
    },

    setCall: (call, state) => setCall(call, state, { result: null }),
    finishCall: (call, result, began) => setCall(call, 'finished', { result, began }),

    async recordResults(turnId, message, retain) {
      const text = JSON.stringify(message);
      await write((statement) => {
        found(statement(INSERT_MESSAGE, text, retainText(retain), turnId).changes, `turn '${turnId}'`);
      });
    },

    setState: (turnId, state, usage) => write((statement) => setState(statement, turnId, state, usage)),

    async compact(threadId, throughSeq, replacement) {
      const texts = replacement.map((part) => [JSON.stringify(part.message), retainText(part.retain)] as const);
      await write((statement) => {
        found(statement('UPDATE threads SET compactions = compactions + 1 WHERE id = ?', threadId).changes, `thread '${threadId}'`);
        statement('DELETE FROM messages WHERE thread = ? AND seq <= ?', threadId, throughSeq);
        // They take the last numbers of what they replace, so that later messages keep theirs.
        texts.forEach(([text, retain], place) => {
          statement(`INSERT INTO messages VALUES (?, ?, '', ?, ?)`, threadId, throughSeq - texts.length + 1 + place, text, retain);
        });
      });
    },

    async rewrite(threadId, messages) {
      const rows = messages.map(({ turnId, message, retain }) => [turnId, JSON.stringify(message), retainText(retain)] as const);
      await write((statement) => {
        statement('DELETE FROM messages WHERE thread = ?', threadId);
        rows.forEach((row, at) => statement('INSERT INTO messages VALUES (?, ?, ?, ?, ?)', threadId, at + 1, ...row));
        for (const { turnId, call } of unreadableOfTurns(store, threadId)) {
          if (call === null) statement('DELETE FROM turnagents WHERE turn = ?', turnId);
          else statement('DELETE FROM calls WHERE turn = ? AND step = ? AND place = ?', turnId, ...call);
          statement(`UPDATE turns SET state = 'error' WHERE id = ? AND ${IS_OPEN}`, turnId);
        }
      });
    },

    rename: (threadId, title) =>
      write((statement) => {
        const { changes } = statement('UPDATE threads SET title = ? WHERE id = ?', title.replaceAll('\0', ' '), threadId);
        found(changes, `thread '${threadId}'`);
      }),

    branch: ({ id, of, before, title }) =>
      write((statement) => {
        const now = clock.now();
        const end = before ?? Number.MAX_SAFE_INTEGER;
        const last = store.get(LAST_TURN, of, end)?.turn ?? null;
        const turn = `${id}/branch`;
        found(statement(INSERT_BRANCH, id, title.replaceAll('\0', ' '), now, now, of).changes, `thread '${of}'`);
        statement('INSERT INTO threadbranches (thread, branch) VALUES (?, ?)', id, of);
        statement(BRANCH_MESSAGES, id, last, turn, of, end);
        statement(BRANCH_TURN, turn, id, last);
        statement('INSERT INTO turnends (turn, ended) SELECT id, started FROM turns WHERE id = ?', turn);
        statement('INSERT INTO turnagents SELECT ?, agent, policy FROM turnagents WHERE turn = ?', turn, last);
      }),

    remove: (threadId) =>
      write((statement) => {
        let removed = 0;
        for (const id of [threadId, ...calledFrom(store, threadId)]) {
          for (const table of ['calls', 'calltimes', 'steps', 'turnagents', 'turndelegated', 'turnends', 'turntraces'])
            statement(`DELETE FROM ${table} WHERE turn IN (SELECT id FROM turns WHERE thread = ?)`, id);
          for (const table of ['turns', 'messages', 'threadbranches']) statement(`DELETE FROM ${table} WHERE thread = ?`, id);
          removed += statement('DELETE FROM threads WHERE id = ?', id).changes;
        }
        found(removed, `thread '${threadId}'`);
        events.removed(statement, threadId);
      }),
  };
}

/** Throws `thread_busy` inside a write of somebody who does not hold the thread any more. */
export function checkThreadFence(store: Store, fence: Fence): void {
  if (!isHeldInWrite(store, fence)) throw threadTaken(fence);
}

/**
 * Ids of the threads that its turns called, and those that they called: they begin with `threadId/`. So may that of another conversation,
 * which has a turn that nobody called; what is below that one is called from there.
 */
function calledFrom(store: Store, threadId: string): readonly string[] {
  const below = 'SELECT thread, min(depth) AS depth FROM turns WHERE thread >= ? AND thread < ? GROUP BY thread';
  const rows = store.all(below, `${threadId}/`, `${threadId}0`).map((row) => ({ id: text(row.thread), depth: Number(row.depth) }));
  const others = new Set(rows.filter(({ depth }) => depth === 0).map(({ id }) => id));
  const isOthers = (id: string): boolean => id.length > threadId.length && (others.has(id) || isOthers(id.slice(0, id.lastIndexOf('/'))));
  return rows.map(({ id }) => id).filter((id) => !isOthers(id));
}

/** The rows of a thread's turns that cannot be read; `call`: step and place of that call, null: the turn itself. */
function unreadableOfTurns(store: Store, threadId: string) {
  const read = rowReader(store.file);
  const turns = store.all(`${TURN} WHERE thread = ?`, threadId);
  const calls = store.all('SELECT calls.* FROM calls JOIN turns ON turn = id WHERE thread = ?', threadId);
  const found = [
    ...turns.map((row) => ({ turnId: text(row.id), call: null, ...attempt(() => read.turn(row)) })),
    ...calls.map((row) => ({
      turnId: text(row.turn),
      call: [Number(row.step), Number(row.place)] as const,
      ...attempt(() => read.call(row)),
    })),
  ];
  return found.flatMap(({ turnId, call, why }) => (why === null ? [] : { turnId, call, why }));
}

function attempt<T>(read: () => T): { readonly value: T | null; readonly why: string | null } {
  try {
    return { value: read(), why: null };
  } catch (error) {
    if (error instanceof PithError && error.code === 'database_failed') return { value: null, why: messageOf(error) };
    throw error;
  }
}

function usageOf(row: SqlRow): Usage {
  return { inputTokens: Number(row.input), outputTokens: Number(row.output) };
}

function retainText(retain: Readonly<Record<string, Retain>>): string | null {
  return Object.keys(retain).length === 0 ? null : JSON.stringify(retain);
}

function found(changes: number, what: string): void {
  if (changes === 0) throw new PithError('thread_unknown', `${what} is not stored`);
}

/** Turns rows into records. A row that cannot be read is `database_failed` with its name; other rows are not touched by it. */
function rowReader(file: string) {
  return {
    thread(row: SqlRow): ThreadRecord {
      return {
        id: text(row.id),
        agentId: text(row.agent),
        date: text(row.date),
        title: text(row.title),
        createdAt: Number(row.created),
        updatedAt: Number(row.updated),
        compactions: Number(row.compactions),
        branchOf: row.branch === null ? null : text(row.branch),
        ...(row.user === null ? {} : { userId: text(row.user) }),
      };
    },

    message(threadId: string, row: SqlRow): StoredMessage {
      const what = `message ${String(row.seq)} of thread '${threadId}'`;
      const place = { file, thread: threadId };
      return {
        seq: Number(row.seq),
        turnId: text(row.turn),
        message: json<Message>(place, what, row.message, isMessage),
        retain: row.retain === null ? {} : json<Record<string, Retain>>(place, `what ${what} retains`, row.retain, isPlainMap),
      };
    },

    turn(row: SqlRow): TurnRecord {
      const what = `turn '${text(row.id)}' of thread '${text(row.thread)}'`;
      const place = { file, thread: text(row.thread) };
      return {
        id: text(row.id),
        threadId: text(row.thread),
        agent: json<AgentSpec>(place, `the agent of ${what}`, row.agent, (value) => isPlainMap(value) && typeof value['id'] === 'string'),
        policy: json<TurnPolicy>(place, `the policy of ${what}`, row.policy, isPlainMap),
        channelId: text(row.channel),
        ...(row.message === null ? {} : { messageId: text(row.message) }),
        userId: text(row.user),
        correlationId: text(row.correlation),
        depth: Number(row.depth),
        state: text(row.state) as TurnState,
        steps: Number(row.steps),
        usage: usageOf(row),
        startedAt: Number(row.started),
        key: row.key === null ? null : text(row.key),
        ...(row.traceparent === null ? {} : { traceparent: text(row.traceparent) }),
      };
    },

    call(row: SqlRow): CallRecord {
      const place = { file, thread: null };
      const what = `call ${String(row.step)}/${String(row.place)} of turn '${text(row.turn)}'`;
      return {
        turnId: text(row.turn),
        step: Number(row.step),
        index: Number(row.place),
        callId: text(row.call),
        name: text(row.name),
        extensionId: text(row.extension),
        tool: text(row.tool),
        effect: text(row.effect) as NonNullable<Tool['effect']>,
        state: text(row.state) as CallState,
        input: json<JsonValue>(place, `the input of ${what}`, row.input, () => true),
        result:
          row.result === null
            ? null
            : json<ToolResult>(
                place,
                `the result of ${what}`,
                row.result,
                (value) => isPlainMap(value) && typeof value['ok'] === 'boolean',
              ),
      };
    },
  };
}

function text(value: SqlValue | undefined): string {
  return String(value);
}

/** `thread` null: the row does not say. */
type RowPlace = { readonly file: string; readonly thread: string | null };

function json<T>({ file, thread }: RowPlace, what: string, value: SqlValue | undefined, isValid: (value: unknown) => boolean): T {
  const { parsed, cause } = parse(String(value));
  if (cause === undefined && isValid(parsed)) return parsed as T;
  throw new PithError('database_failed', `${what} cannot be read: its row in ${file} is damaged`, {
    cause,
    where: file,
    cure: `repair the conversation with pith threads check ${thread ?? '--all'} --repair, or restore the file from a backup`,
  });
}

function parse(value: string): { readonly parsed?: unknown; readonly cause?: unknown } {
  try {
    return { parsed: JSON.parse(value) };
  } catch (cause) {
    return { cause };
  }
}
