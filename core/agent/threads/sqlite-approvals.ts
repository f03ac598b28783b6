import type { Clock, JsonValue } from '../../contract/index.ts';
import type { SqlRow, Statement, Store } from '../../store/index.ts';
import {
  answeredBefore,
  covers,
  expiredAt,
  OPEN_MS,
  onceOnly,
  unknownApproval,
  type Approval,
  type ApprovalAnswer,
  type ApprovalStore,
  type AskingTurn,
  type Question,
} from './approval.ts';
import { checkThreadFence } from './sqlite-threads.ts';

/** How long a question is kept. What was answered with `always` holds as long as its conversation. */
const KEEP_MS = 30 * OPEN_MS;

const SCHEMA = [
  `CREATE TABLE approvals (
     id TEXT PRIMARY KEY, turn TEXT NOT NULL, step INTEGER NOT NULL, place INTEGER NOT NULL, root TEXT NOT NULL, thread TEXT NOT NULL,
     tool TEXT NOT NULL, input TEXT NOT NULL, digest TEXT NOT NULL, path TEXT NOT NULL, channel TEXT NOT NULL, user TEXT NOT NULL, correlation TEXT NOT NULL,
     created INTEGER NOT NULL, expires INTEGER NOT NULL, answer TEXT, reason TEXT, answeredby TEXT, answered INTEGER
   ) WITHOUT ROWID;
   CREATE INDEX approvalscall ON approvals (turn, step, place);
   CREATE INDEX approvalsroot ON approvals (root, tool, answer);
   CREATE INDEX approvalsopen ON approvals (created) WHERE answer IS NULL;`,
  'ALTER TABLE approvals ADD COLUMN details TEXT;',
  'ALTER TABLE approvals ADD COLUMN source TEXT;',
  `CREATE INDEX approvalsold ON approvals (created) WHERE answer IS NOT 'always';`,
  'ALTER TABLE approvals ADD COLUMN subject TEXT;',
  // An `always` of before this column covered whatever the tool did: it covers nothing now but the call that it answered.
  'ALTER TABLE approvals ADD COLUMN always TEXT;',
];

const CLOSE = 'UPDATE approvals SET answer = ?, reason = ?, answeredby = ?, answered = ? WHERE id = ? AND answer IS NULL AND expires > ?';
const ALWAYS = `SELECT * FROM approvals WHERE root = ? AND tool = ? AND answer = 'always' AND always = ?`;
const ASKED = 'SELECT * FROM approvals WHERE turn = ? AND step = ? AND place = ? AND digest = ? ORDER BY created DESC, id DESC';
const INSERT = 'INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, NULL, ?, ?, ?, ?)';

/** Writes the events of approvals in the transactions of their rows. */
interface ApprovalEvents {
  requested(statement: Statement, question: Question): void;
  answered(statement: Statement, question: Question, answer: ApprovalAnswer): void;
}

const NONE: ApprovalEvents = { requested: () => undefined, answered: () => undefined };

export function createSqliteApprovals(store: Store, clock: Clock, events: ApprovalEvents = NONE): ApprovalStore {
  store.migrate('approvals', SCHEMA);

  const read = (row: SqlRow): Approval => expiredAt(approvalOf(row), clock.now());
  const get = (id: string): Approval | null => {
    const row = store.get('SELECT * FROM approvals WHERE id = ?', id);
    return row === null ? null : read(row);
  };
  const list = (rootThreadId?: string): readonly Approval[] => {
    const rows =
      rootThreadId === undefined
        ? store.all('SELECT * FROM approvals WHERE answer IS NULL ORDER BY created, id')
        : store.all('SELECT * FROM approvals WHERE root = ? AND answer IS NULL ORDER BY created, id', rootThreadId);
    return rows.map(read).filter(({ answer }) => answer === null);
  };
  /** False when it has an answer already, or nobody can answer any more. */
  const close = (statement: Statement, approval: Approval, { answer, reason, by }: Said): boolean => {
    const now = clock.now();
    const { changes } = statement(CLOSE, answer, reason ?? null, by, now, approval.id, now);
    if (changes === 1) events.answered(statement, approval, answer);
    return changes === 1;
  };

  return {
    list: async (rootThreadId) => list(rootThreadId),
    get: async (id) => get(id),

    async answer(id, reply) {
      const found = get(id);
      if (found === null) throw unknownApproval(id, list());
      if (reply.answer === 'always' && found.always === null) throw onceOnly(found);
      let won = false;
      await store.write((statement) => {
        won = close(statement, found, reply);
        // What else is open in the conversation and covered by it is answered with it.
        if (won && reply.answer === 'always')
          for (const other of list(found.rootThreadId)) if (covers(found, other)) close(statement, other, reply);
      });
      const now = get(id) ?? found;
      if (!won) throw answeredBefore(now);
      return now;
    },

    async answersFor({ turnId, step, index, digest, tool, rootThreadId, always }) {
      return {
        always: store.all(ALWAYS, rootThreadId, tool, always).map(read),
        asked: store.all(ASKED, turnId, step, index, digest).map(read),
      };
    },

    async ask(question, fence) {
      const { id, turnId, step, index, rootThreadId, threadId, tool, digest, channelId, userId, correlationId } = question;
      const [input, path] = [JSON.stringify(question.input), JSON.stringify(question.path)];
      const call = [id, turnId, step, index, rootThreadId, threadId, tool, input, digest, path] as const;
      const asker = [channelId, userId, correlationId, question.createdAt, question.expiresAt] as const;
      const shown = [question.details, question.source, question.subject, question.always] as const;
      await store.write((statement) => {
        checkThreadFence(store, fence);
        statement(`DELETE FROM approvals WHERE created <= ? AND answer IS NOT 'always'`, question.createdAt - KEEP_MS);
        statement(INSERT, ...call, ...asker, ...shown);
        events.requested(statement, question);
      });
    },

    forget: (threadId, fence) =>
      store.write((statement) => {
        checkThreadFence(store, fence);
        statement('DELETE FROM approvals WHERE root = ? OR thread = ?', threadId, threadId);
      }),

    askedFor: async (turnId) => list().filter(({ path }) => path.some((turn) => turn.turnId === turnId)),

    async reject(open, { reason, by }, fence) {
      if (open.length === 0) return;
      await store.write((statement) => {
        checkThreadFence(store, fence);
        for (const approval of open) close(statement, approval, { answer: 'no', reason, by });
      });
    },
  };
}

interface Said {
  readonly answer: ApprovalAnswer;
  readonly reason?: string;
  readonly by: string | null;
}

function approvalOf(row: SqlRow): Approval {
  return {
    id: String(row.id),
    turnId: String(row.turn),
    step: Number(row.step),
    index: Number(row.place),
    rootThreadId: String(row.root),
    threadId: String(row.thread),
    tool: String(row.tool),
    input: JSON.parse(String(row.input)) as JsonValue,
    digest: String(row.digest),
    details: row.details === null ? null : String(row.details),
    subject: row.subject === null ? null : String(row.subject),
    always: row.always === null ? null : String(row.always),
    source: row.source === null ? null : String(row.source),
    path: JSON.parse(String(row.path)) as readonly AskingTurn[],
    channelId: String(row.channel),
    userId: String(row.user),
    correlationId: String(row.correlation),
    createdAt: Number(row.created),
    expiresAt: Number(row.expires),
    answer: row.answer as ApprovalAnswer | null,
    reason: row.reason as string | null,
    by: row.answeredby as string | null,
    answeredAt: row.answered === null ? null : Number(row.answered),
  };
}
