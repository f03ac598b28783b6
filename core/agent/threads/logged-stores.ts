import { type Clock, PithError } from '../../contract/index.ts';
import type { Store } from '../../store/index.ts';
import type { Approval, ApprovalStore } from './approval.ts';
import { checkedLog } from './checked-log.ts';
import { Copies, type Copy, type Replaying, type Stores } from './conversation-copies.ts';
import { entryOf, type Operations } from './log-entry.ts';
import { queueOf } from './queue.ts';
import { createSqliteApprovals } from './sqlite-approvals.ts';
import { createSqliteThreads } from './sqlite-threads.ts';
import type { Charge, Threads, ThreadWriter } from './thread.ts';
import type { ThreadLog } from './thread-log.ts';

interface LoggedStoresOptions extends Pick<Replaying, 'forget'> {
  /** Stores in `store`, which is in memory. */
  readonly stores: Stores;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: ThreadLog;
}

/**
 * Stores in memory whose conversations are kept in a log: a write resolves when its entry is there, and who takes a thread gets it as the
 * log has it. A conversation is a thread with the threads of those that its turns call, in one log.
 */
export function loggedStores({ stores, store, clock, log, forget }: LoggedStoresOptions): Stores {
  const storesAt: Replaying['storesAt'] = (now) => {
    const then = { ...clock, now };
    return { threads: createSqliteThreads(store, then), approvals: createSqliteApprovals(store, then) };
  };
  const copies = new Copies(stores, checkedLog(log), { storesAt, forget });
  const record: RecordOperation = (copy, name, given, act) => copy.record(entryOf(clock.now(), name, ...given), act);
  return {
    threads: loggedThreads(stores.threads, copies, record),
    approvals: loggedApprovals(stores.approvals, copies, record),
    queue: queueOf((...asked) => copies.acquire(...asked)),
  };
}

/** Adds what `act` does to the log of a conversation. */
type RecordOperation = <Name extends keyof Operations>(
  copy: Copy,
  name: Name,
  given: Parameters<Operations[Name]>,
  act: () => Promise<unknown>,
) => Promise<void>;

function loggedThreads(threads: Threads, copies: Copies, record: RecordOperation): Threads {
  const after = <T>(threadId: string, read: () => Promise<T>): Promise<T> => copies.within(threadId, read);
  return {
    find: (threadId) => after(threadId, () => threads.find(threadId)),
    load: (threadId) => after(threadId, () => threads.load(threadId)),
    inspect: (threadId) => after(threadId, () => threads.inspect(threadId)),
    unfinished: (threadId) => after(threadId, () => threads.unfinished(threadId)),
    last: (threadId) => after(threadId, () => threads.last(threadId)),
    keyed: (threadId, key) => after(threadId, () => threads.keyed(threadId, key)),
    usage: (threadId, since) => after(threadId, () => threads.usage(threadId, since)),
    list: (limit) => copies.list(limit),
    delegated: (threadId, turnId) => copies.remembered(threadId, () => threads.delegated(threadId, turnId)),
    trace: (named, most) => threads.trace(named, most),
    writer(fence) {
      const copy = copies.held(fence);
      const writer = threads.writer(fence);
      return {
        beginTurn(begun) {
          const { said: _said, ...kept } = begun;
          return record(copy, 'beginTurn', [withoutFences(kept)], () => writer.beginTurn(begun));
        },
        recordStep: (turnId, step) => record(copy, 'recordStep', [turnId, withoutFences(step)], () => writer.recordStep(turnId, step)),
        setCall: (call, state) => record(copy, 'setCall', [keyOf(call), state], () => writer.setCall(call, state)),
        finishCall: (call, result, began) =>
          record(copy, 'finishCall', [keyOf(call), result, began], () => writer.finishCall(call, result, began)),
        recordResults: (...given) => record(copy, 'recordResults', given, () => writer.recordResults(...given)),
        setState: (...given) => record(copy, 'setState', given, () => writer.setState(...given)),
        compact: (...given) => record(copy, 'compact', given, () => writer.compact(...given)),
        rewrite: (...given) => record(copy, 'rewrite', given, () => writer.rewrite(...given)),
        rename: (...given) => record(copy, 'rename', given, () => writer.rename(...given)),
        branch: () =>
          Promise.reject(
            new PithError('not_allowed', 'a conversation in a store of the program has no branches', { cure: 'begin another thread' }),
          ),
        remove: () => copies.remove(copy, fence),
      };
    },
  };
}

function loggedApprovals(approvals: ApprovalStore, copies: Copies, record: RecordOperation): ApprovalStore {
  const after = <T>(threadId: string | undefined, read: () => Promise<T>): Promise<T> =>
    threadId === undefined ? read() : copies.within(threadId, read);
  return {
    list: (threadId) => after(threadId, () => approvals.list(threadId)),
    get: (id, threadId) => after(threadId, () => approvals.get(id)),
    offered: (question) => approvals.offered(question),
    permissions: (threadId) => after(threadId, () => approvals.permissions(threadId)),
    answersFor: (call) => approvals.answersFor(call),
    askedFor: (turnId) => approvals.askedFor(turnId),
    async answer(id, reply) {
      const threadId = reply.threadId ?? (await approvals.get(id))?.rootThreadId;
      if (threadId === undefined) return approvals.answer(id, reply); // which says that there is no such question
      let said!: Approval;
      const act = async () => void (said = await approvals.answer(id, reply));
      await copies.within(threadId, (copy) => record(copy, 'answer', [id, reply], act));
      return said;
    },
    async takeBack(permission) {
      let taken = false;
      const act = async () => void (taken = await approvals.takeBack(permission));
      if (permission.threadId === null) await act();
      else await copies.within(permission.threadId, (copy) => record(copy, 'takeBack', [permission], act));
      return taken;
    },
    ask: (question, fence) => record(copies.held(fence), 'ask', [question], () => approvals.ask(question, fence)),
    reject: (open, said, fence) =>
      open.length === 0 ? Promise.resolve() : record(copies.held(fence), 'reject', [open, said], () => approvals.reject(open, said, fence)),
    forget: () => Promise.resolve(), // what removes the thread does it
  };
}

function keyOf({ turnId, step, index }: Parameters<ThreadWriter['setCall']>[0]) {
  return { turnId, step, index };
}

/** The fences of those that wait for a turn are of this process. */
function withoutFences<T extends { readonly callers?: readonly Charge[] }>({ callers, ...rest }: T) {
  return callers === undefined ? rest : { ...rest, callers: callers.map(({ fence: _fence, ...charge }) => charge) };
}
