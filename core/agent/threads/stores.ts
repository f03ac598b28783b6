import type { Clock, PublishOptions, TopicMap } from '../../contract/index.ts';
import type { Journal } from '../../durable/index.ts';
import type { Leases, Store } from '../../store/index.ts';
import { type ApprovalEvents, createSqliteApprovals, type SharedPermissions } from './sqlite-approvals.ts';
import { createAnswerWaiting, type AnswerWaiting, type ApprovalStore } from './approval.ts';
import { createThreadQueue, createThreadWork, type ThreadQueue, type ThreadWork } from './queue.ts';
import { loggedStores } from './logged-stores.ts';
import { sealedThreads } from './sealed-threads.ts';
import { type ConversationRows, conversationRows } from './sqlite-conversations.ts';
import { createSqliteThreads } from './sqlite-threads.ts';
import type { ThreadLog } from './thread-log.ts';
import type { Threads, TurnRecord } from './thread.ts';

export interface ThreadStores {
  readonly threads: Threads;
  readonly approvals: ApprovalStore & AnswerWaiting;
  readonly queue: ThreadQueue;
  readonly work: ThreadWork;
  /** Of conversations that are kept in the store. */
  readonly rows: ConversationRows;
}

interface ThreadStoreOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Made before: its tables must be there before a transaction begins. */
  readonly journal: Pick<Journal, 'append' | 'forget' | 'forgetThread'>;
  readonly leases: Leases;
  withoutSecrets<T>(value: T): T;
  /** Of the project; null: none are kept. */
  readonly permissions: SharedPermissions | null;
  /** Where conversations are kept instead, by a program that has its own store; null: in `store`. */
  readonly log: ThreadLog | null;
}

/** Threads and approvals, whose rows and events are one commit, and the leases on threads. */
export function createThreadStores(options: ThreadStoreOptions): ThreadStores {
  const { store, clock, journal, leases, withoutSecrets, permissions, log } = options;
  const events: ApprovalEvents = {
    requested: (statement, { id, tool, path, rootThreadId, channelId, userId, correlationId }) => {
      const agents = path.map(({ agentId }) => agentId);
      const payload = { v: 1, approvalId: id, tool, agents, threadId: rootThreadId, channelId, userId } as const;
      journal.append(statement, 'approval.requested', payload, { key: keyOf(rootThreadId), correlationId });
    },
    answered: (statement, { id, rootThreadId, correlationId }, answer) => {
      const payload = { v: 1, approvalId: id, threadId: rootThreadId, answer } as const;
      journal.append(statement, 'approval.answered', payload, { key: keyOf(rootThreadId), correlationId });
    },
  };
  const here = {
    threads: createSqliteThreads(store, clock, {
      said: (statement, turn, text) => void journal.append(statement, 'user.message', ...messageSaid(turn, withoutSecrets(text))),
      removed(statement, threadId) {
        const key = keyOf(threadId);
        journal.forgetThread(statement, key, threadId);
        if (log === null) journal.append(statement, 'thread.removed', { v: 1, threadId, at: clock.now() }, { key }); // else a copy goes, too
      },
    }),
    approvals: createSqliteApprovals(store, clock, events, permissions),
    queue: createThreadQueue(leases, clock),
  };
  const forget = (threadId: string) => journal.forget(keyOf(threadId));
  const { threads, approvals, queue } = log === null ? here : loggedStores({ stores: here, store, clock, log, forget });
  return {
    threads: sealedThreads(threads),
    approvals: { ...approvals, ...createAnswerWaiting(approvals, threads, leases, clock) },
    queue,
    work: createThreadWork(leases, clock),
    rows: conversationRows(store),
  };
}

/** The event of a person's message, in order within its thread. */
function messageSaid(turn: TurnRecord, text: string): [TopicMap['user.message'], PublishOptions] {
  const { id: turnId, threadId, agent, channelId, userId, correlationId } = turn;
  return [
    { v: 1, threadId, turnId, agentId: agent.id, channelId, userId, text: text.slice(0, MOST_CHARACTERS) },
    { key: keyOf(threadId), correlationId },
  ];
}

/** What fits an event in every script, JSON escapes included; the thread has the rest. */
const MOST_CHARACTERS = 40_000;

const LONGEST_KEY = 512;

/** Events of one conversation keep their order. */
function keyOf(threadId: string): string {
  return threadId.slice(0, LONGEST_KEY).replaceAll('\0', ' ');
}
