import { isPlainMap } from '@pith/plain-data';
import { PithError } from '../../contract/index.ts';
import type { Fence } from '../../store/index.ts';
import type { ApprovalReply, ApprovalStore, Permission, Question } from './approval.ts';
import type { Charge, ThreadRecord, ThreadWriter, Threads } from './thread.ts';

/** Of the entries. An operation that takes other arguments, or means something else, needs the next one. */
const VERSION = 1;

type Unfenced<T> = Omit<T, 'callers'> & { readonly callers?: readonly Omit<Charge, 'fence'>[] };
type Begun = Unfenced<Parameters<ThreadWriter['beginTurn']>[0]>;
type Step = Unfenced<Parameters<ThreadWriter['recordStep']>[1]>;

/** All that changes a conversation, for who holds it. The log has their names and arguments. */
export function operationsOn({ threads, approvals }: { readonly threads: Threads; readonly approvals: ApprovalStore }, fence: Fence) {
  const writer = threads.writer(fence);
  const held = (callers: readonly Omit<Charge, 'fence'>[] = []) => callers.map((charge) => ({ ...charge, fence }));
  return {
    beginTurn: (begun: Begun) => writer.beginTurn({ ...begun, callers: held(begun.callers) }),
    recordStep: (turnId: string, step: Step) => writer.recordStep(turnId, { ...step, callers: held(step.callers) }),
    setCall: writer.setCall,
    finishCall: writer.finishCall,
    recordResults: writer.recordResults,
    setState: writer.setState,
    compact: writer.compact,
    rewrite: writer.rewrite,
    rename: writer.rename,
    ask: (question: Question) => approvals.ask(question, fence),
    answer: async (id: string, reply: ApprovalReply) => void (await approvals.answer(id, reply)),
    reject: (open: Parameters<ApprovalStore['reject']>[0], said: Parameters<ApprovalStore['reject']>[1]) =>
      approvals.reject(open, said, fence),
    takeBack: async (permission: Permission) => void (await approvals.takeBack(permission)),
  };
}

export type Operations = ReturnType<typeof operationsOn>;

export function entryOf<Name extends keyof Operations>(at: number, name: Name, ...given: Parameters<Operations[Name]>): string {
  return JSON.stringify({ v: VERSION, at, do: name, with: given });
}

export interface LogEntry {
  readonly at: number;
  readonly name: keyof Operations;
  readonly given: readonly unknown[];
}

/** Throws `database_failed` for what no Pith has written, or a later one. */
export function parseEntry(text: string, threadId: string, place: number): LogEntry {
  const found = parsed(text);
  const { v, at, do: name, with: given } = isPlainMap(found) ? found : {};
  if (typeof v === 'number' && v > VERSION) {
    throw new PithError('database_failed', `store: entry ${place} of thread '${threadId}' has version ${v}, this Pith knows ${VERSION}`, {
      where: threadId,
      cure: 'use the newer Pith that wrote it',
    });
  }
  if (v === VERSION && typeof at === 'number' && typeof name === 'string' && Array.isArray(given))
    return { at, name: name as keyof Operations, given };
  throw damaged(threadId, place);
}

/** To try again does not help. `cause`: what happened where it was done again. */
export function damaged(threadId: string, place: number, cause?: unknown): PithError {
  return new PithError('database_failed', `store: entry ${place} of thread '${threadId}' cannot be read: it is not what was added`, {
    cause,
    where: threadId,
    cure: 'restore the thread from a backup, or remove it',
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // its reader says so
  }
}

/** The thread as its first entry began it; null: that entry began none. */
export function begunThread({ at, name, given }: LogEntry): ThreadRecord | null {
  if (name !== 'beginTurn') return null;
  const { thread } = (given[0] ?? {}) as { readonly thread?: Partial<Begun['thread']> | null };
  if (typeof thread?.id !== 'string' || typeof thread.title !== 'string') return null;
  return { ...(thread as Begun['thread']), createdAt: at, updatedAt: at, compactions: 0, branchOf: null };
}
