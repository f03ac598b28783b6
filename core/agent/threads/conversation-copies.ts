import { carried } from '@pith/genai-spans';
import { untilAborted } from '@pith/promises';
import { codeOf, PithError } from '../../contract/index.ts';
import type { Fence } from '../../store/index.ts';
import type { ApprovalStore } from './approval.ts';
import { wrongLog } from './checked-log.ts';
import { begunThread, damaged, operationsOn, parseEntry } from './log-entry.ts';
import { type ThreadHold, type ThreadQueue, threadOf } from './queue.ts';
import type { ThreadRecord, Threads } from './thread.ts';
import type { ThreadLog } from './thread-log.ts';

export interface Stores {
  readonly threads: Threads;
  readonly approvals: ApprovalStore;
  readonly queue: ThreadQueue;
}

export interface Replaying {
  /** The same stores at another time, which publish nothing: for what has been done before. */
  storesAt(now: () => number): Omit<Stores, 'queue'>;
  /** Drops from memory what is neither its threads nor its approvals, such as its events. */
  forget(threadId: string): Promise<void>;
}

/** How many conversations that nobody works on stay in memory. */
const IDLE = 16;
/** Entries that are asked for at once. */
const PAGE = 500;
/** How many logs are read at once for a list: each has its title in its first entry. */
const AT_ONCE = 10;

/** In a list. */
const UNREADABLE: Omit<ThreadRecord, 'id'> = {
  agentId: '',
  date: '',
  title: '',
  createdAt: 0,
  updatedAt: 0,
  compactions: 0,
  branchOf: null,
};

/** What is in memory of the log. */
export class Copies {
  /** By the id of the conversation's first thread, that was used last at the end. */
  readonly #copies = new Map<string, Copy>();

  constructor(
    private readonly stores: Stores,
    private readonly log: ThreadLog,
    private readonly replaying: Replaying,
  ) {}

  /** As `ThreadQueue.acquire`; the conversation is as the log has it. */
  async acquire(threadId: string, signal?: AbortSignal, caller?: string): Promise<ThreadHold> {
    if (caller !== undefined && threadId.startsWith(`${caller}/`)) this.#copyOf(caller).called.add(threadId);
    const copy = this.#copyOf(threadId);
    copy.users += 1;
    const leave = () => this.#left(copy);
    const hold = await this.stores.queue.acquire(threadId, signal).catch((error: unknown) => {
      leave();
      throw error;
    });
    let released: Promise<void> | undefined;
    try {
      if (copy.holds === 0) await this.#restoreIfReadable(copy, hold.fence, signal);
      copy.holds += 1;
    } catch (error) {
      await hold.release().finally(leave);
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

  /** Reads or writes without working on the thread: the conversation is as the log has it, or as who holds it here has it, until `act` has ended. */
  async within<T>(threadId: string, act: (copy: Copy) => Promise<T>): Promise<T> {
    const copy = this.#copyOf(threadId);
    copy.users += 1;
    const restored = async ({ fence }: ThreadHold) => {
      await this.#restore(copy, fence);
      return act(copy);
    };
    const working = async () => {
      if (copy.failure !== null) throw copy.failure;
      return act(copy);
    };
    const acting = copy.holds > 0 ? working() : this.stores.queue.run(copy.id, restored);
    return acting.finally(() => this.#left(copy));
  }

  /** As `within`, for what nobody else changes: of a conversation that is in memory the log is not asked. */
  remembered<T>(threadId: string, read: () => Promise<T>): Promise<T> {
    const copy = this.#copyOf(threadId);
    return copy.length > 0 && copy.failure === null && !copy.isLeaving ? read() : this.within(threadId, read);
  }

  /** For who holds it. What the log has need not be readable. */
  async remove(copy: Copy, fence: Fence): Promise<void> {
    if (copy.length === 0 && copy.failure === null)
      throw new PithError('thread_unknown', `there is no thread '${copy.id}'`, {
        where: copy.id,
        cure: 'list the threads, and correct the id',
      });
    await this.log.remove(copy.id);
    await this.#forget(copy, fence);
  }

  async list(limit: number) {
    const ids = await this.log.list(limit);
    const found: (ThreadRecord | null)[] = [];
    for (let from = 0; from < ids.length; from += AT_ONCE)
      found.push(...(await Promise.all(ids.slice(from, from + AT_ONCE).map((id) => this.#begun(id)))));
    return found.filter((thread) => thread !== null);
  }

  /** As its first entry has it, without a title where that cannot be read: a new title, which a program cannot give, is in a later one. */
  async #begun(id: string): Promise<ThreadRecord | null> {
    const [first] = await this.log.read(id, 0, 1);
    if (first === undefined) return null;
    let begun: ThreadRecord | null = null;
    try {
      begun = begunThread(parseEntry(first, id, 1));
    } catch (error) {
      if (codeOf(error, '') !== 'database_failed') throw error; // else who reads the thread is told
    }
    return { ...(begun ?? UNREADABLE), id };
  }

  /** Of the conversation to which a thread belongs: that whose turns called it, while somebody works there, else its own. */
  #copyOf(threadId: string): Copy {
    let copy: Copy | undefined;
    for (let id = threadId; copy === undefined && id.includes('/');) {
      id = id.slice(0, id.lastIndexOf('/'));
      const above = this.#copies.get(id);
      if (above !== undefined && above.holds > 0 && above.called.has(threadId)) copy = above;
    }
    copy ??= this.#copies.get(threadId) ?? new Copy(threadId, this.log);
    this.#copies.delete(copy.id);
    this.#copies.set(copy.id, copy);
    return copy;
  }

  /** As `#restore`; what fails is told to whoever reads or writes the conversation. */
  async #restoreIfReadable(copy: Copy, fence: Fence, signal?: AbortSignal): Promise<void> {
    try {
      await this.#restore(copy, fence, signal);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      copy.failure = error as PithError;
    }
  }

  /** Reads what has been added since it was read last. */
  async #restore(copy: Copy, fence: Fence, signal?: AbortSignal): Promise<void> {
    await (signal === undefined ? copy.written() : untilAborted(copy.written(), signal));
    if (copy.failure === null && copy.length > 0 && (await this.#readOn(copy, fence, signal))) return;
    await this.#forget(copy, fence);
    await this.#readOn(copy, fence, signal);
  }

  /** Reads from its last entry on, page by page. False: the log has another entry there. */
  async #readOn(copy: Copy, fence: Fence, signal?: AbortSignal): Promise<boolean> {
    let from = Math.max(copy.length - 1, 0);
    for (let before: readonly string[] | null = null; ;) {
      const reading = this.log.read(copy.id, from, PAGE);
      const page: readonly string[] = await (signal === undefined ? reading : untilAborted(reading, signal));
      if (page.length === PAGE && page.every((entry, at) => entry === before?.[at]))
        throw wrongLog(copy.id, `'read' does not give the entries after the first ${from}`);
      if (before === null && copy.length > 0 && page[0] !== copy.last) return false;
      await this.#replay(copy, page.slice(copy.length - from), fence);
      if (page.length < PAGE) return true;
      [from, before] = [from + page.length, page];
    }
  }

  async #replay(copy: Copy, entries: readonly string[], fence: Fence): Promise<void> {
    if (entries.length === 0) return;
    let now = 0;
    const stores = this.replaying.storesAt(() => now);
    const operations = operationsOn(stores, fence);
    for (const text of entries) {
      try {
        const entry = parseEntry(text, copy.id, copy.length + 1);
        const { at, name, given } = entry;
        now = at;
        const begun = begunThread(entry)?.id ?? copy.id;
        if (begun !== copy.id) copy.called.add(begun);
        if (!Object.hasOwn(operations, name)) throw damaged(copy.id, copy.length + 1);
        await (operations[name] as (...all: readonly unknown[]) => Promise<void>)(...given);
      } catch (error) {
        const isKnown = error instanceof PithError && (error.retryable || error.code === 'database_failed');
        copy.failure = isKnown ? error : damaged(copy.id, copy.length + 1, error);
        throw copy.failure;
      }
      copy.length += 1;
      copy.last = text;
    }
  }

  /** In memory alone. */
  async #forget(copy: Copy, fence: Fence): Promise<void> {
    if (copy.length === 0 && copy.failure === null) return;
    const { threads, approvals } = this.stores;
    const rows = this.replaying.storesAt(() => 0).threads.writer(fence);
    if ((await threads.find(copy.id)) !== null) await rows.remove(copy.id);
    await approvals.forget(copy.id, fence);
    await this.replaying.forget(copy.id);
    copy.empty();
  }

  /** One less works in it. Of the conversations in which nobody works, the `IDLE` that were used last stay in memory. */
  #left(copy: Copy): void {
    copy.users -= 1;
    const idle = [...this.#copies.values()].filter((each) => each.isIdle);
    for (const old of idle.slice(0, -IDLE)) if (!old.isLeaving) void this.#evict(old);
  }

  /** Whoever comes meanwhile waits until it has left, and restores it. */
  async #evict(old: Copy): Promise<void> {
    old.isLeaving = true;
    const leave = async ({ fence }: ThreadHold) => {
      if (old.isIdle) await this.#forget(old, fence);
      if (old.isIdle) this.#copies.delete(old.id);
    };
    await this.stores.queue.run(old.id, leave).catch(() => undefined); // it stays, and leaves another time
    old.isLeaving = false;
  }
}

interface Waiting {
  readonly entry: string;
  act(): Promise<unknown>;
  resolve(): void;
  reject(error: unknown): void;
}

/** A conversation in memory. */
export class Copy {
  /** Entries of the log that are in it, and the last of them. */
  length = 0;
  last: string | null = null;
  /** Ids of the threads that its turns called: their entries are in its log. */
  readonly called = new Set<string>();
  /** It is not what the log has. */
  failure: PithError | null = null;
  /** Who works in it, or waits to. */
  users = 0;
  /** Who works in it. */
  holds = 0;
  /** It is about to leave the memory. */
  isLeaving = false;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | null = null;

  constructor(
    readonly id: string,
    private readonly log: ThreadLog,
  ) {}

  /** Acts in memory, and adds the entry to the log. What is recorded at once, or while others are added, is added together. */
  record(entry: string, act: () => Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, act: carried(act), resolve, reject });
      this.#writing ??= this.#write();
    });
  }

  /** Nobody works in it, and nothing is being added. */
  get isIdle(): boolean {
    return this.users === 0 && this.#writing === null;
  }

  /** Resolves when nothing is being added. */
  async written(): Promise<void> {
    await this.#writing;
  }

  empty(): void {
    [this.length, this.last, this.failure] = [0, null, null];
    this.called.clear();
  }

  async #write(): Promise<void> {
    await Promise.resolve(); // others of this tick
    while (this.#waiting.length > 0) await this.#add(this.#waiting.splice(0));
    this.#writing = null;
  }

  async #add(batch: readonly Waiting[]): Promise<void> {
    const acted = await Promise.allSettled(batch.map(({ act }) => (this.failure === null ? act() : Promise.reject(this.failure))));
    const done: Waiting[] = [];
    for (const [at, outcome] of acted.entries()) {
      if (outcome.status === 'fulfilled') done.push(batch[at]!);
      else batch[at]!.reject(outcome.reason);
    }
    if (done.length === 0) return;
    const entries = done.map(({ entry }) => entry);
    try {
      if (!(await this.log.append(this.id, this.length, entries))) throw taken(this.id);
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

function taken(threadId: string): PithError {
  return new PithError('thread_busy', `thread '${threadId}' was written by somebody else while a turn ran in it here`, {
    where: threadId,
    retryable: true,
    cure: 'wait until it has ended there, then send the message again',
  });
}
