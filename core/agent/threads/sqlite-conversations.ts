import type { Conversations, Message } from '../../contract/index.ts';
import type { SqlRow, Store } from '../../store/index.ts';
import { isMessage } from './thread.ts';

const NEXT = '(SELECT coalesce(max(place), 0) + 1 FROM conversations)';
const AGAIN = 'ON CONFLICT (thread) DO UPDATE SET place = excluded.place, removed = 0';
/** So many removed threads are still told of. */
const REMOVED = 10_000;

/**
 * Whose each thread is, and the place of its last change among those of all: triggers write it, so that an older Pith that runs beside this one
 * does too. `asked`: the place of the last question or answer. What is removed keeps its row for a while.
 */
export const CONVERSATIONS_TABLE = `CREATE TABLE IF NOT EXISTS conversations (
     thread TEXT PRIMARY KEY, user TEXT NOT NULL, place INTEGER NOT NULL, asked INTEGER NOT NULL DEFAULT 0, removed INTEGER NOT NULL DEFAULT 0
   ) WITHOUT ROWID;
   CREATE UNIQUE INDEX IF NOT EXISTS conversationsplace ON conversations (place);
   CREATE INDEX IF NOT EXISTS conversationsremoved ON conversations (place) WHERE removed = 1;`;

/** The user of a thread without a turn of its own, which was a branch before its first message, is the person of this machine. */
export const CONVERSATIONS_OF_THREADS = `${CONVERSATIONS_TABLE}
   INSERT OR IGNORE INTO conversations (thread, user, place) SELECT
     id, coalesce((SELECT user FROM turns WHERE thread = threads.id ORDER BY started, turns.id LIMIT 1), 'local'),
     (SELECT coalesce(max(place), 0) FROM conversations) + row_number() OVER (ORDER BY updated, id) FROM threads;
   CREATE TRIGGER conversationbegan AFTER INSERT ON turns BEGIN
     INSERT INTO conversations (thread, user, place) VALUES (new.thread, new.user, ${NEXT})
       ${AGAIN}, user = CASE removed WHEN 1 THEN excluded.user ELSE user END;
   END;
   CREATE TRIGGER conversationbranched AFTER INSERT ON threadbranches BEGIN
     INSERT INTO conversations (thread, user, place) SELECT new.thread, user, ${NEXT} FROM conversations WHERE thread = new.branch
       ${AGAIN}, user = excluded.user;
   END;
   CREATE TRIGGER conversationsaid AFTER INSERT ON messages BEGIN
     UPDATE conversations SET place = ${NEXT} WHERE thread = new.thread;
   END;
   CREATE TRIGGER conversationstate AFTER UPDATE OF state ON turns WHEN new.state <> old.state BEGIN
     UPDATE conversations SET place = ${NEXT} WHERE thread = new.thread;
   END;
   CREATE TRIGGER conversationtitle AFTER UPDATE OF title ON threads BEGIN
     UPDATE conversations SET place = ${NEXT} WHERE thread = new.id;
   END;
   CREATE TRIGGER conversationremoved AFTER DELETE ON threads BEGIN
     UPDATE conversations SET place = ${NEXT}, removed = 1 WHERE thread = old.id;
     DELETE FROM conversations WHERE removed = 1 AND place < ${NEXT} - ${REMOVED};
   END;`;

export const CONVERSATIONS_OF_APPROVALS = `${CONVERSATIONS_TABLE}
   CREATE TRIGGER conversationasked AFTER INSERT ON approvals BEGIN
     UPDATE conversations SET place = ${NEXT}, asked = ${NEXT} WHERE thread = new.root;
   END;
   CREATE TRIGGER conversationanswered AFTER UPDATE OF answer ON approvals BEGIN
     UPDATE conversations SET place = ${NEXT}, asked = ${NEXT} WHERE thread = new.root;
   END;`;

const CONVERSATION = `SELECT threads.id, agent, title, created, updated, branch, user,
    (SELECT state FROM turns WHERE turns.thread = threads.id AND state IN ('running', 'awaiting_approval')
      ORDER BY started DESC, turns.id DESC LIMIT 1) AS open
  FROM threads JOIN conversations ON conversations.thread = threads.id LEFT JOIN threadbranches ON threadbranches.thread = threads.id`;
const LIST = `${CONVERSATION}
  WHERE instr(threads.id, '/') = 0 AND (updated < ? OR (updated = ? AND threads.id > ?)) AND (? IS NULL OR user = ?)
    AND (instr(lower(title), ?) > 0 OR instr(title, ?) > 0)
  ORDER BY updated DESC, threads.id LIMIT ?`;

const SAID = `SELECT json_extract(result, '$.title') AS title, json_type(result, '$.retain') IS NOT NULL AS retained
  FROM calls WHERE turn = ? AND call = ? AND json_valid(result)`;

type Read<Name extends keyof Conversations> = Awaited<ReturnType<Conversations[Name]>>;
type Listed = Omit<Read<'list'>['conversations'][number], 'state'> & { readonly open: 'running' | 'awaiting_approval' | null };

const MOST = 200;
const PAGE = 50;
const CHANGES = 1000;

/** `message` is null where it cannot be read. */
export interface KeptMessage {
  readonly seq: number;
  readonly turnId: string;
  readonly message: Message | null;
  /** What the tools said of their results, by the ids of the calls. */
  readonly said: ReadonlyMap<string, { readonly title: string | null; readonly retained: boolean }>;
}

/** What is kept of conversations, for whoever shows them. */
export interface ConversationRows {
  list(asked: Parameters<Conversations['list']>[0]): { readonly found: readonly Listed[]; readonly cursor: string | null };
  find(threadId: string): Listed | null;
  messages(...asked: Parameters<Conversations['messages']>): readonly KeptMessage[];
  changes(since: number | null): Read<'changes'>;
}

/** Of a store whose tables of threads have been made. */
export function conversationRows(store: Store): ConversationRows {
  return {
    list({ userId = null, text = '', after = '', limit = PAGE }) {
      const most = bounded(limit);
      const [, updated = String(Number.MAX_SAFE_INTEGER), id = ''] = /^(\d+) (.*)$/su.exec(after) ?? [];
      const word = text.toLowerCase();
      const rows = store.all(LIST, Number(updated), Number(updated), id, userId, userId, word, text, most + 1);
      const found = rows.slice(0, most).map(listedOf);
      const last = found.at(-1);
      return { found, cursor: rows.length > most && last ? `${last.updatedAt} ${last.id}` : null };
    },

    find(threadId) {
      const row = store.get(`${CONVERSATION} WHERE threads.id = ?`, threadId);
      return row === null ? null : listedOf(row);
    },

    messages(threadId, { after, before = Number.MAX_SAFE_INTEGER, limit = PAGE } = {}) {
      const order = after === undefined ? 'DESC' : 'ASC';
      const select = `SELECT seq, turn, message FROM messages WHERE thread = ? AND seq > ? AND seq < ? ORDER BY seq ${order} LIMIT ?`;
      const rows = store.all(select, threadId, after ?? -1, before, bounded(limit)).map((row) => messageOf(row, store));
      return after === undefined ? rows.toReversed() : rows;
    },

    changes(since) {
      const place = Number(store.get('SELECT coalesce(max(place), 0) AS place FROM conversations')?.place);
      if (since === null || since >= place) return { place, threads: [] };
      const rows = store.all('SELECT * FROM conversations WHERE place > ? ORDER BY place LIMIT ?', since, CHANGES);
      const threads = rows.map(({ thread, user, removed, asked }) => ({
        id: String(thread),
        userId: String(user),
        removed: removed === 1,
        asked: Number(asked) > since,
      }));
      return { place: rows.length < CHANGES ? place : Number(rows.at(-1)?.place), threads };
    },
  };
}

function bounded(limit: number): number {
  return Math.min(Math.max(Math.trunc(limit), 1), MOST);
}

function listedOf(row: SqlRow): Listed {
  return {
    id: String(row.id),
    userId: String(row.user),
    agentId: String(row.agent),
    title: String(row.title),
    open: row.open === 'running' || row.open === 'awaiting_approval' ? row.open : null,
    createdAt: Number(row.created),
    updatedAt: Number(row.updated),
    branchOf: row.branch === null ? null : String(row.branch),
  };
}

function messageOf({ seq, turn, message: text }: SqlRow, store: Store): KeptMessage {
  const message = parsed(String(text));
  const ids = message?.role === 'tool' ? message.content.flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : [])) : [];
  const said = ids.flatMap((id) => {
    const row = store.get(SAID, String(turn), id);
    return row === null ? [] : [[id, { title: typeof row.title === 'string' ? row.title : null, retained: row.retained === 1 }] as const];
  });
  return { seq: Number(seq), turnId: String(turn), message, said: new Map(said) };
}

function parsed(text: string): Message | null {
  try {
    const value: unknown = JSON.parse(text);
    return isMessage(value) ? (value as Message) : null;
  } catch {
    return null; // it is shown as unreadable
  }
}
