import type { Clock, JsonValue } from '../../contract/index.ts';
import type { SqlRow, Statement, Store } from '../../store/index.ts';
import {
  answeredBefore,
  covers,
  coversOf,
  expiredAt,
  OPEN_MS,
  onceOnly,
  startersOfPath,
  unknownApproval,
  type Approval,
  type ApprovalAnswer,
  type ApprovalReply,
  type ApprovalStore,
  type AskingTurn,
  type Question,
  type Permission,
  permissionKey,
} from './approval.ts';
import type { ProjectPermission, ProjectPermissions } from '../../trust/index.ts';
import { CONVERSATIONS_OF_APPROVALS } from './sqlite-conversations.ts';
import { checkThreadFence } from './sqlite-threads.ts';

/** How long a question is kept. What was answered with `always` holds as long as its conversation. */
const KEEP_MS = 30 * OPEN_MS;

/** A table of its own: Pith 0.1 inserts approvals by position, also while a newer one runs beside it. */
const GUARDS = `CREATE TABLE IF NOT EXISTS approvalguards (approval TEXT PRIMARY KEY, guard TEXT NOT NULL) WITHOUT ROWID;
   CREATE TRIGGER IF NOT EXISTS approvalgone AFTER DELETE ON approvals BEGIN DELETE FROM approvalguards WHERE approval = old.id; END;`;

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
  // What a question of before these columns says is not known to come from code that ships.
  `ALTER TABLE approvals ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE approvals ADD COLUMN summary TEXT;
   ALTER TABLE approvals ADD COLUMN enforced TEXT;
   ALTER TABLE approvals ADD COLUMN alwayskey TEXT;
   ALTER TABLE approvals ADD COLUMN covers TEXT;
   ALTER TABLE approvals ADD COLUMN ships INTEGER NOT NULL DEFAULT 0;`,
  GUARDS,
  GUARDS, // Pith from its sources had a version with a column instead
  CONVERSATIONS_OF_APPROVALS,
];

const CLOSE = 'UPDATE approvals SET answer = ?, reason = ?, answeredby = ?, answered = ? WHERE id = ? AND answer IS NULL AND expires > ?';
const APPROVAL = 'SELECT approvals.*, approvalguards.guard AS guard FROM approvals LEFT JOIN approvalguards ON approval = id';
const ALWAYS = `${APPROVAL} WHERE root = ? AND tool = ? AND answer = 'always' AND always = ?`;
const ASKED = `${APPROVAL} WHERE turn = ? AND step = ? AND place = ? AND digest = ? ORDER BY created DESC, id DESC`;
const INSERT = `INSERT INTO approvals (
    id, turn, step, place, root, thread, tool, input, digest, path, channel, user, correlation, created, expires,
    details, source, subject, always, number, summary, enforced, alwayskey, covers, ships
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
  (SELECT COALESCE(MAX(number), 0) + 1 FROM approvals WHERE answer IS NULL OR created > ?), ?, ?, ?, ?, ?)`;
const PERMISSIONS = `${APPROVAL} WHERE answer = 'always' AND always IS NOT NULL ORDER BY answered, id`;
const TAKE_BACK = `UPDATE approvals SET always = NULL WHERE root = ? AND tool = ? AND answer = 'always' AND always = ? AND source IS ?`;

/** So long a number names one question alone, so that an answer is for the one that was read. */
const NUMBER_MS = 60 * 60 * 1000;

/** Writes the events of approvals in the transactions of their rows. */
export interface ApprovalEvents {
  requested(statement: Statement, question: Question): void;
  answered(statement: Statement, question: Question, answer: ApprovalAnswer): void;
}

const NONE: ApprovalEvents = { requested: () => undefined, answered: () => undefined };

/** Permissions for the conversations of everybody. */
export interface SharedPermissions extends ProjectPermissions {
  /** Whether a question in this user's turn may be answered with one. */
  mayGive(userId: string): boolean;
}

/** `project`: permissions for all conversations; null: none are kept, and that answer is not offered. */
export function createSqliteApprovals(
  store: Store,
  clock: Clock,
  events: ApprovalEvents = NONE,
  project: SharedPermissions | null = null,
): ApprovalStore {
  store.migrate('approvals', SCHEMA);

  const read = (row: SqlRow): Approval => expiredAt(approvalOf(row), clock.now());
  const get = (id: string): Approval | null => {
    const row = store.get(`${APPROVAL} WHERE id = ?`, id);
    return row === null ? null : read(row);
  };
  const list = (rootThreadId?: string): readonly Approval[] => {
    const rows =
      rootThreadId === undefined
        ? store.all(`${APPROVAL} WHERE answer IS NULL ORDER BY created, number, id`)
        : store.all(`${APPROVAL} WHERE root = ? AND answer IS NULL ORDER BY created, number, id`, rootThreadId);
    return rows.map(read).filter(({ answer }) => answer === null);
  };
  /** False when it has an answer already, or nobody can answer any more. */
  const close = (
    statement: Statement,
    approval: Approval,
    { answer, reason, by }: Omit<ApprovalReply, 'by'> & { readonly by: string | null },
  ): boolean => {
    const now = clock.now();
    const { changes } = statement(CLOSE, answer, reason?.replaceAll('\0', ' ') ?? null, by, now, approval.id, now);
    if (changes === 1) events.answered(statement, approval, answer);
    return changes === 1;
  };

  const offered = (question: Question): readonly ApprovalAnswer[] => {
    if (question.always === null) return ['once', 'no'];
    const isForAll = project !== null && startersOfPath(question.path).length === 0 && project.mayGive(question.userId);
    return isForAll ? ['once', 'always', 'project', 'no'] : ['once', 'always', 'no'];
  };
  /** null: it had been given before. */
  const keepForProject = (question: Question): ProjectPermission | null => {
    const key = permissionKey(question);
    if (project === null || project.list().some((each) => permissionKey(each) === key)) return null;
    const permission = { ...permissionOf(question), at: clock.now() };
    project.add(permission);
    return permission;
  };

  return {
    list: async (rootThreadId) => list(rootThreadId),
    get: async (id) => get(id),

    offered,

    async answer(id, reply) {
      const found = get(id);
      if (found === null) throw unknownApproval(id, list());
      if (!offered(found).includes(reply.answer)) throw onceOnly(found);
      const given = reply.answer === 'project' && found.answer === null ? keepForProject(found) : null;
      let won = false;
      await store.write((statement) => {
        won = close(statement, found, reply);
        // What else is open and covered by it is answered with it.
        if (!won || (reply.answer !== 'always' && reply.answer !== 'project')) return;
        for (const other of list(reply.answer === 'always' ? found.rootThreadId : undefined))
          if (covers(found, other)) close(statement, other, reply);
      });
      const now = get(id) ?? found;
      if (won) return now;
      if (given !== null) project?.remove(given); // somebody else said something else
      throw answeredBefore(now);
    },

    async permissions(rootThreadId) {
      project?.check(); // who asks wants to know; a call is simply asked about
      const ofProject = (project?.list() ?? []).map((each): Permission => ({ ...each, scope: 'project', threadId: null }));
      const ofThreads = new Map<string, Permission>();
      for (const said of store.all(PERMISSIONS).map(read)) {
        const key = `${said.rootThreadId} ${permissionKey(said)}`;
        if ((rootThreadId ?? said.rootThreadId) !== said.rootThreadId || ofThreads.has(key)) continue;
        ofThreads.set(key, { ...permissionOf(said), scope: 'conversation', threadId: said.rootThreadId });
      }
      return [...ofProject, ...ofThreads.values()];
    },

    async takeBack(permission) {
      const { scope, threadId, tool, always, source } = permission;
      if (scope === 'project') return project?.remove(permission) ?? false;
      let taken = false;
      await store.write((statement) => {
        taken = statement(TAKE_BACK, threadId, tool, always, source).changes > 0;
      });
      return taken;
    },

    async answersFor({ turnId, step, index, digest, tool, rootThreadId, always, source }) {
      const key = permissionKey({ tool, always, source });
      return {
        inProject: project !== null && always !== null && project.list().some((each) => permissionKey(each) === key),
        always: store.all(ALWAYS, rootThreadId, tool, always).map(read),
        asked: store.all(ASKED, turnId, step, index, digest).map(read),
      };
    },

    async ask(question, fence) {
      const { id, turnId, step, index, rootThreadId, threadId, tool, digest, channelId, userId, correlationId } = question;
      const [input, path] = [JSON.stringify(question.input), JSON.stringify(question.path)];
      const call = [id, turnId, step, index, rootThreadId, threadId, tool, input, digest, path] as const;
      const asker = [channelId, userId, correlationId, question.createdAt, question.expiresAt] as const;
      const shown = [question.details, question.source, question.subject, question.always, question.createdAt - NUMBER_MS] as const;
      const said = [question.summary, question.enforced, question.key, question.covers, question.ships ? 1 : 0] as const;
      await store.write((statement) => {
        checkThreadFence(store, fence);
        statement(`DELETE FROM approvals WHERE created <= ? AND answer IS NOT 'always'`, question.createdAt - KEEP_MS);
        statement(INSERT, ...call, ...asker, ...shown, ...said);
        if (question.guard !== null) statement('INSERT INTO approvalguards (approval, guard) VALUES (?, ?)', id, question.guard);
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

/** What an `always` to this question gives. */
function permissionOf(question: Approval | Question): ProjectPermission {
  const { tool, always, source, createdAt } = question;
  const at = 'answeredAt' in question ? (question.answeredAt ?? createdAt) : createdAt;
  return { tool, always: always ?? '', source, covers: coversOf(question) ?? '', at };
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
    number: Number(row.number),
    summary: textOf(row.summary),
    details: textOf(row.details),
    enforced: textOf(row.enforced),
    subject: textOf(row.subject),
    always: textOf(row.always),
    key: textOf(row.alwayskey),
    covers: textOf(row.covers),
    ships: row.ships === 1,
    guard: textOf(row.guard),
    source: textOf(row.source),
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

function textOf(value: unknown): string | null {
  return value === null ? null : String(value);
}
