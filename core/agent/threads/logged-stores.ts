import { untilAborted } from '@pith/promises';
import { type Clock, messageOf, PithError } from '../../contract/index.ts';
import type { Fence, Store } from '../../store/index.ts';
import type { Approval, ApprovalStore } from './approval.ts';
import { begunThread, entryOf, type Operations, operationsOn, parseEntry } from './log-entry.ts';
import { type ThreadHold, type ThreadQueue, threadOf } from './queue.ts';
import { createSqliteApprovals } from './sqlite-approvals.ts';
import { createSqliteThreads } from './sqlite-threads.ts';
import type { Charge, Threads, ThreadWriter } from './thread.ts';
import type { ThreadLog } from './thread-log.ts';

interface Stores {
  readonly threads: Threads;
  readonly approvals: ApprovalStore;
  readonly queue: ThreadQueue;
}

/**
 * Stores in memory whose conversations are kept in a log: a write resolves when its entry is there, and who takes a thread gets it as the
 * log has it. A conversation is a thread with the threads of those that its turns call, in one log. `store` is that of `stores`.
 */
export function loggedStores(stores: Stores, log: ThreadLog, { store, clock }: { readonly store: Store; readonly clock: Clock }): Stores {
  const copies = new Copies(stores, log, (at) => {
    const then = { ...clock, now: at };
    return { threads: createSqliteThreads(store, then), approvals: createSqliteApprovals(store, then) };
  });
  const record = <Name extends keyof Operations>(
    copy: Copy,
    name: Name,
    given: Parameters<Operations[Name]>,
    act: () => Promise<unknown>,
  ) => copy.record(entryOf(clock.now(), name, ...given), act);
  return {
    threads: loggedThreads(stores.threads, copies, record),
    approvals: loggedApprovals(stores.approvals, copies, record),
    queue: {
      acquire: (threadId, signal) => copies.acquire(threadId, signal),
      async run(threadId, task, signal) {
        const hold = await copies.acquire(threadId, signal);
        try {
          return await task(hold);
        } finally {
          await hold.release();
        }
      },
    },
  };
}

type Record = <Name extends keyof Operations>(
  copy: Copy,
  name: Name,
  given: Parameters<Operations[Name]>,
  act: () => Promise<unknown>,
) => Promise<void>;

function loggedThreads(threads: Threads, copies: Copies, record: Record): Threads {
  const after = async <T>(threadId: string, read: () => Promise<T>): Promise<T> => {
    await copies.refresh(threadId);
    return read();
  };
  return {
    find: (threadId) => after(threadId, () => threads.find(threadId)),
    load: (threadId) => after(threadId, () => threads.load(threadId)),
    inspect: (threadId) => after(threadId, () => threads.inspect(threadId)),
    unfinished: (threadId) => after(threadId, () => threads.unfinished(threadId)),
    last: (threadId) => after(threadId, () => threads.last(threadId)),
    keyed: (threadId, key) => after(threadId, () => threads.keyed(threadId, key)),
    usage: (threadId, since) => after(threadId, () => threads.usage(threadId, since)),
    list: (limit) => copies.list(limit),
    delegated: (turnId) => threads.delegated(turnId),
    trace: (named) => threads.trace(named),
    writer(fence) {
      const copy = copies.held(fence);
      const writer = threads.writer(fence);
      const logged =
        <Name extends keyof Operations & keyof ThreadWriter>(name: Name) =>
        (...given: Parameters<ThreadWriter[Name]>) =>
          record(copy, name, given as Parameters<Operations[Name]>, () =>
            (writer[name] as (...all: typeof given) => Promise<void>)(...given),
          );
      return {
        beginTurn(begun) {
          const { said: _said, ...kept } = begun;
          return record(copy, 'beginTurn', [withoutFences(kept)], () => writer.beginTurn(begun));
        },
        recordStep: (turnId, step) => record(copy, 'recordStep', [turnId, withoutFences(step)], () => writer.recordStep(turnId, step)),
        setCall: logged('setCall'),
        finishCall: logged('finishCall'),
        recordResults: logged('recordResults'),
        setState: logged('setState'),
        compact: logged('compact'),
        rewrite: logged('rewrite'),
        rename: logged('rename'),
        branch: () =>
          Promise.reject(
            new PithError('not_allowed', 'a conversation in a store of the program has no branches', { cure: 'begin another thread' }),
          ),
        remove: (threadId) => copies.remove(copy, () => writer.remove(threadId)),
      };
    },
  };
}

function loggedApprovals(approvals: ApprovalStore, copies: Copies, record: Record): ApprovalStore {
  return {
    async list(threadId) {
      if (threadId !== undefined) await copies.refresh(threadId);
      return approvals.list(threadId);
    },
    get: (id) => approvals.get(id),
    offered: (question) => approvals.offered(question),
    permissions: (threadId) => approvals.permissions(threadId),
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
    forget: (threadId, fence) => approvals.forget(threadId, fence), // what removes the thread does it in the log
  };
}

/** How many conversations that nobody works on stay in memory. */
const IDLE = 16;
/** Entries that are asked for at once. */
const PAGE = 500;

/** What is in memory of the log. */
class Copies {
  /** By the id of the conversation's first thread, that was used last at the end. */
  readonly #copies = new Map<string, Copy>();

  constructor(
    private readonly stores: Stores,
    private readonly log: ThreadLog,
    private readonly storesAt: (at: () => number) => Omit<Stores, 'queue'>,
  ) {}

  /** As `ThreadQueue.acquire`; the conversation is as the log has it. */
  async acquire(threadId: string, signal?: AbortSignal): Promise<ThreadHold> {
    const copy = this.#copyOf(threadId);
    copy.users += 1;
    const leave = () => this.#left(copy);
    const hold = await this.stores.queue.acquire(threadId, signal).catch(async (error: unknown) => {
      await leave();
      throw error;
    });
    let released: Promise<void> | undefined;
    try {
      if (copy.holds === 0) await this.#restore(copy, hold.fence, signal);
      copy.holds += 1;
    } catch (error) {
      await hold.release();
      await leave();
      throw error;
    }
    const release = async () => {
      copy.holds -= 1;
      await hold.release().finally(leave);
    };
    return { ...hold, release: () => (released ??= release()) };
  }

  /** That of a thread which is held. */
  held(fence: Fence): Copy {
    return this.#copyOf(threadOf(fence));
  }

  /** The conversation is as the log has it, or as who holds it in this process has it. */
  async refresh(threadId: string): Promise<void> {
    if (this.#copyOf(threadId).holds === 0) await this.within(threadId, async () => undefined);
  }

  /** For whoever writes without working on the thread. */
  async within<T>(threadId: string, act: (copy: Copy) => Promise<T>): Promise<T> {
    const copy = this.#copyOf(threadId);
    if (copy.holds > 0) return act(copy);
    copy.users += 1;
    const restored = async ({ fence }: ThreadHold) => {
      await this.#restore(copy, fence);
      return act(copy);
    };
    return this.stores.queue.run(copy.id, restored).finally(() => this.#left(copy));
  }

  async remove(copy: Copy, act: () => Promise<void>): Promise<void> {
    await act();
    copy.failure = new PithError('thread_unknown', `there is no thread '${copy.id}' any more`); // what is in memory is not what the log has
    await answered(copy.id, 'remove', () => this.log.remove(copy.id));
  }

  async list(limit: number) {
    const ids = await answered('', 'list', () => this.log.list(limit));
    const found = await Promise.all(
      ids.map(async (id) => {
        const [first] = await answered(id, 'read', () => this.log.read(id, 0, 1));
        return first === undefined ? null : begunThread(parseEntry(first, id, 1));
      }),
    );
    return found.filter((thread) => thread !== null);
  }

  /** Of the conversation to which a thread belongs: that of a turn which called it and is under way, else its own. */
  #copyOf(threadId: string): Copy {
    let copy: Copy | undefined;
    for (let id = threadId; copy === undefined && id.includes('/');) {
      id = id.slice(0, id.lastIndexOf('/'));
      const above = this.#copies.get(id);
      if (above !== undefined && above.holds > 0) copy = above;
    }
    copy ??= this.#copies.get(threadId) ?? new Copy(threadId, this.log);
    this.#copies.delete(copy.id);
    this.#copies.set(copy.id, copy);
    return copy;
  }

  /** Reads what has been added since it was read last. */
  async #restore(copy: Copy, fence: Fence, signal?: AbortSignal): Promise<void> {
    await copy.written();
    if (copy.failure === null && copy.length > 0) {
      const [last, ...added] = await this.#read(copy.id, copy.length - 1, signal);
      if (last === copy.last) return this.#replay(copy, added, fence);
    }
    const entries = await this.#read(copy.id, 0, signal);
    await this.#forget(copy, fence);
    await this.#replay(copy, entries, fence);
  }

  async #read(id: string, from: number, signal?: AbortSignal): Promise<readonly string[]> {
    const found: string[] = [];
    for (;;) {
      const reading = answered(id, 'read', () => this.log.read(id, from + found.length, PAGE));
      const page = await (signal === undefined ? reading : untilAborted(reading, signal));
      for (const entry of page) found.push(entry);
      if (page.length < PAGE) return found;
    }
  }

  async #replay(copy: Copy, entries: readonly string[], fence: Fence): Promise<void> {
    let now = 0;
    const operations =
      entries.length === 0
        ? null
        : operationsOn(
            this.storesAt(() => now),
            fence,
          );
    for (const text of entries) {
      try {
        const { at, name, given } = parseEntry(text, copy.id, copy.length + 1);
        now = at;
        await (operations![name] as (...all: readonly unknown[]) => Promise<void>)(...given);
      } catch (error) {
        copy.failure = error instanceof PithError ? error : failed(copy.id, `entry ${copy.length + 1} cannot be read`, error);
        throw copy.failure;
      }
      copy.length += 1;
      copy.last = text;
    }
  }

  /** In memory alone. */
  async #forget(copy: Copy, fence: Fence): Promise<void> {
    const { threads, approvals } = this.stores;
    for (const other of this.#below(copy)) other.failure ??= failed(other.id, 'it has left the memory', 'with a thread above it');
    if ((await threads.find(copy.id)) !== null) await threads.writer(fence).remove(copy.id);
    await approvals.forget(copy.id, fence);
    copy.empty();
  }

  /** Conversations whose rows go with it: theirs are ids that a program might also give to what an agent calls. */
  #below({ id }: Copy): readonly Copy[] {
    return [...this.#copies.values()].filter((other) => other.id.startsWith(`${id}/`));
  }

  /** Somebody does not need it any more; of those that nobody needs, few stay. */
  async #left(copy: Copy): Promise<void> {
    copy.users -= 1;
    const idle = [...this.#copies.values()].filter((each) => each.users === 0 && this.#below(each).length === 0);
    for (const old of idle.slice(0, -IDLE)) {
      await this.stores.queue.run(old.id, ({ fence }) => this.#forget(old, fence));
      if (old.users === 0) this.#copies.delete(old.id);
    }
  }
}

interface Waiting {
  readonly entry: string;
  act(): Promise<unknown>;
  resolve(): void;
  reject(error: unknown): void;
}

/** A conversation in memory. */
class Copy {
  /** Entries of the log that are in it, and the last of them. */
  length = 0;
  last: string | null = null;
  /** It is not what the log has. */
  failure: PithError | null = null;
  /** Who works in it, or waits to. */
  users = 0;
  /** Who works in it. */
  holds = 0;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | null = null;

  constructor(
    readonly id: string,
    private readonly log: ThreadLog,
  ) {}

  /** Acts in memory, and adds the entry to the log. What is recorded at once, or while others are added, is added together. */
  record(entry: string, act: () => Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, act, resolve, reject });
      this.#writing ??= this.#write();
    });
  }

  /** Resolves when nothing is being added. */
  async written(): Promise<void> {
    await this.#writing;
  }

  empty(): void {
    [this.length, this.last, this.failure] = [0, null, null];
  }

  async #write(): Promise<void> {
    await Promise.resolve(); // others of this tick
    while (this.#waiting.length > 0) await this.#add(this.#waiting.splice(0));
    this.#writing = null;
  }

  async #add(batch: readonly Waiting[]): Promise<void> {
    const acted = await Promise.allSettled(batch.map(({ act }) => (this.failure === null ? act() : Promise.reject(this.failure))));
    const done: Waiting[] = [];
    for (const [at, each] of batch.entries()) {
      const { status, ...outcome } = acted[at]!;
      if (status === 'fulfilled') done.push(each);
      else each.reject((outcome as { readonly reason: unknown }).reason);
    }
    if (done.length === 0) return;
    const entries = done.map(({ entry }) => entry);
    try {
      if (!(await answered(this.id, 'append', () => this.log.append(this.id, this.length, entries)))) throw taken(this.id);
    } catch (error) {
      this.failure = error as PithError;
      for (const { reject } of done) reject(error);
      return;
    }
    this.length += entries.length;
    this.last = entries.at(-1)!;
    for (const { resolve } of done) resolve();
  }
}

/** The fences of those that wait for a turn are of this process. */
function withoutFences<T extends { readonly callers?: readonly Charge[] }>({ callers, ...rest }: T) {
  return callers === undefined ? rest : { ...rest, callers: callers.map(({ fence: _fence, ...charge }) => charge) };
}

async function answered<T>(threadId: string, what: keyof ThreadLog, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw failed(threadId, `'${what}' failed`, error);
  }
}

function failed(threadId: string, what: string, cause: unknown): PithError {
  const of = threadId === '' ? '' : ` of thread '${threadId}'`;
  return new PithError('database_failed', `store${of}: ${what}: ${messageOf(cause)}`, {
    cause,
    retryable: true,
    cure: 'what was done until then is kept; run it again when the store works',
  });
}

function taken(threadId: string): PithError {
  return new PithError('thread_busy', `thread '${threadId}' was written by somebody else while a turn ran in it here`, {
    where: threadId,
    retryable: true,
    cure: 'wait until it has ended there, then send the message again',
  });
}
