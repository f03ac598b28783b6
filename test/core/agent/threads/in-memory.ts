import type { Message } from '../../../../core/contract/index.ts';
import type { ApprovalStore, StoredMessage, Threads, ThreadWriter, TurnRecord } from '../../../../core/agent/index.ts';
import type { createAgents } from '../../../../core/agent/index.ts';

type Stores = ReturnType<Parameters<typeof createAgents>[0]['stores']>;

/** As much of the stores as a turn needs that runs to its end alone: conversations that end with the process, and nobody who is asked. */
export function storesInMemory(): Stores {
  const threads = new Map<string, NonNullable<Awaited<ReturnType<Threads['load']>>>['thread']>();
  const messages = new Map<string, StoredMessage[]>();
  const turns = new Map<string, TurnRecord>();
  const add = (turnId: string, message: Message): void => {
    const written = messages.get(turns.get(turnId)!.threadId)!;
    written.push({ seq: written.length + 1, turnId, message, retain: {} });
  };
  const unused = () => Promise.reject(new Error('a turn alone needs no such thing'));
  const writer: ThreadWriter = {
    async beginTurn({ thread, turn, messages: first }) {
      threads.set(thread.id, { ...thread, createdAt: 0, updatedAt: 0, compactions: 0, branchOf: null });
      if (!messages.has(thread.id)) messages.set(thread.id, []);
      turns.set(turn.id, turn);
      for (const message of first) add(turn.id, message);
    },
    recordStep: async (turnId, { message }) => add(turnId, message),
    recordResults: async (turnId, message) => add(turnId, message),
    setCall: async () => undefined,
    finishCall: async () => undefined,
    setState: async () => undefined,
    compact: unused,
    rewrite: unused,
    rename: unused,
    branch: unused,
    remove: unused,
  };
  const hold = {
    lost: new AbortController().signal,
    stopped: new AbortController().signal,
    fence: { name: 'alone', holder: 'alone' },
    release: async () => undefined,
  };
  return {
    threads: {
      find: async (threadId) => threads.get(threadId) ?? null,
      async load(threadId) {
        const thread = threads.get(threadId);
        return thread ? { thread, messages: [...messages.get(threadId)!] } : null;
      },
      inspect: unused,
      list: unused,
      usage: unused,
      last: async () => null,
      unfinished: async () => null,
      keyed: async () => null,
      trace: unused,
      delegated: async () => ({ turns: 0, steps: 0, calls: 0 }),
      writer: () => writer,
    },
    approvals: noApprovals,
    queue: { acquire: async () => hold, run: (_thread, task) => task(hold) },
  };
}

/** Nobody is asked. */
const noApprovals: ApprovalStore = {
  list: async () => [],
  get: async () => null,
  answersFor: async () => ({ inProject: false, always: [], asked: [] }),
  offered: () => ['once', 'no'],
  permissions: async () => [],
  takeBack: async () => false,
  askedFor: async () => [],
  ask: () => Promise.reject(new Error('nobody can be asked')),
  reject: async () => undefined,
  forget: async () => undefined,
  answer: () => Promise.reject(new Error('nothing is asked')),
};
