import type { Clock, JsonValue, SqlRow } from '../../contract/index.ts';
import { PithError } from '../../contract/errors.ts';
import type { Store } from '../../store/store.ts';
import type { Statement } from '../../store/writer.ts';
import type { Approval, ApprovalAnswer, Approvals, AskingTurn, Question } from './approval.ts';
import type { Fence } from './queue.ts';

/** How long a question waits. */
export const OPEN_MS = 24 * 60 * 60 * 1000;
/** How long a question is kept. What was answered with `always` holds as long as its conversation. */
const KEEP_MS = 30 * OPEN_MS;
const UNANSWERED = 'nobody answered within 24 h';

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

/** What the gate does with approvals, beside what people do. */
export interface ApprovalStore extends Approvals {
  /**
   * What was said of this call with these very arguments, or always in the thread of what its question covers; null when nobody was asked yet.
   * A yes holds for the code and the subject that it was said to: `changed` says what has changed since there was one.
   */
  decision(question: Asked): { readonly decision: Approval | null; readonly changed: 'extension' | 'subject' | null };
  /** Rejects with what `fence` throws. */
  ask(question: Question, fence: Fence): Promise<void>;
  /** Open questions that `turnId` waits for: its own, and those of agents that it called. */
  askedFor(turnId: string): readonly Approval[];
  /** Answers what is still open of these with no. `by` null: nobody did. Rejects with what `fence` throws. */
  reject(open: readonly Approval[], said: { readonly reason: string; readonly by: string | null }, fence: Fence): Promise<void>;
}

type Asked = Pick<Question, 'turnId' | 'step' | 'index' | 'digest' | 'tool' | 'rootThreadId' | 'source' | 'subject' | 'always'>;

/** Writes the events of approvals in the transactions of their rows. */
export interface ApprovalEvents {
  requested(statement: Statement, question: Question): void;
  answered(statement: Statement, question: Question, answer: ApprovalAnswer): void;
}

const NONE: ApprovalEvents = { requested: () => undefined, answered: () => undefined };

export function createApprovals(store: Store, clock: Clock, events: ApprovalEvents = NONE): ApprovalStore {
  store.migrate('approvals', SCHEMA);

  const read = (row: SqlRow): Approval => approvalOf(row, clock.now());
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
    const { changes } = statement(
      'UPDATE approvals SET answer = ?, reason = ?, answeredby = ?, answered = ? WHERE id = ? AND answer IS NULL AND expires > ?',
      answer,
      reason ?? null,
      by,
      now,
      approval.id,
      now,
    );
    if (changes === 1) events.answered(statement, approval, answer);
    return changes === 1;
  };

  return {
    list,
    get,

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

    decision(question) {
      const { turnId, step, index, digest, tool, rootThreadId, source, subject, always: key } = question;
      const always = store
        .all(`SELECT * FROM approvals WHERE root = ? AND tool = ? AND answer = 'always' AND always = ?`, rootThreadId, tool, key)
        .map(read);
      const valid = always.find((each) => covers(each, question));
      if (valid) return { decision: valid, changed: null };
      const asked = store
        .all(
          'SELECT * FROM approvals WHERE turn = ? AND step = ? AND place = ? AND digest = ? ORDER BY created DESC, id DESC',
          turnId,
          step,
          index,
          digest,
        )
        .map(read);
      const said = asked.find((each) => each.source === source && each.subject === subject) ?? asked[0] ?? null;
      const isYes = said?.answer === 'once' || said?.answer === 'always';
      if (isYes && said.subject !== subject) return { decision: null, changed: 'subject' };
      if (isYes && said.source !== source) return { decision: null, changed: 'extension' };
      return { decision: said, changed: said === null && always.length > 0 ? 'extension' : null };
    },

    async ask(question, fence) {
      const { id, turnId, step, index, rootThreadId, threadId, tool, digest, channelId, userId, correlationId } = question;
      const [input, path] = [JSON.stringify(question.input), JSON.stringify(question.path)];
      const call = [id, turnId, step, index, rootThreadId, threadId, tool, input, digest, path] as const;
      const asker = [channelId, userId, correlationId, question.createdAt, question.expiresAt] as const;
      await store.write((statement) => {
        fence();
        statement(`DELETE FROM approvals WHERE created <= ? AND answer IS NOT 'always'`, question.createdAt - KEEP_MS);
        statement(
          'INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, NULL, ?, ?, ?, ?)',
          ...call,
          ...asker,
          question.details,
          question.source,
          question.subject,
          question.always,
        );
        events.requested(statement, question);
      });
    },

    askedFor: (turnId) => list().filter(({ path }) => path.some((turn) => turn.turnId === turnId)),

    async reject(open, { reason, by }, fence) {
      if (open.length === 0) return;
      await store.write((statement) => {
        fence();
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

function approvalOf(row: SqlRow, now: number): Approval {
  const expiresAt = Number(row.expires);
  const expired = row.answer === null && expiresAt <= now;
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
    expiresAt,
    answer: expired ? 'no' : (row.answer as ApprovalAnswer | null),
    reason: expired ? UNANSWERED : (row.reason as string | null),
    by: row.answeredby as string | null,
    answeredAt: expired ? expiresAt : row.answered === null ? null : Number(row.answered),
  };
}

/** Whether an `always` to the first question answers the second: same tool, same code, same thing that was shown. */
function covers(said: Pick<Question, 'tool' | 'source' | 'always'>, { tool, source, always }: typeof said): boolean {
  return always !== null && said.always === always && said.tool === tool && said.source === source;
}

function onceOnly({ id, tool }: Approval): PithError {
  return new PithError('not_allowed', `'${tool}' cannot be approved always: each such call needs its own approval`, {
    where: id,
    cure: `approve this one with: pith approvals approve ${id}`,
  });
}

export function unknownApproval(id: string, open: readonly Approval[]): PithError {
  const ids = open.map((each) => each.id);
  return new PithError('approval_unknown', `there is no question '${id}'`, {
    where: id,
    cure: ids.length === 0 ? 'nothing waits for approval now' : `open are ${ids.slice(0, 10).join(', ')}; see: pith approvals list`,
  });
}

/** "by ann: once", "by nobody …" of an answer, for people. */
export function saidOf({ answer, by, reason }: Pick<Approval, 'answer' | 'by' | 'reason'>): string {
  if (by === null) return reason ?? 'withdrawn';
  return `answered by ${by}: ${answer}${reason === null ? '' : ` (${reason})`}`;
}

function answeredBefore(approval: Approval): PithError {
  return new PithError('approval_answered', `the question '${approval.id}' is no longer open: ${saidOf(approval)}`, {
    where: approval.id,
    cure: 'see: pith approvals list',
  });
}
