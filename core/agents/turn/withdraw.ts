import { toolError } from '../../contract/tool.ts';
import type { ToolResult } from '../../contract/index.ts';
import type { Approval } from '../../threads/approval.ts';
import type { ApprovalStore } from '../../threads/approvals.ts';
import type { Fence } from '../../threads/queue.ts';
import type { CallRecord, Threads } from '../../threads/thread.ts';
import { denied } from './asking.ts';
import { closeUnfinished, type Unfinished } from './resume.ts';

/** Why nobody will answer any more. `by`: whose doing that is, null for nobody's. */
export interface Withdrawal {
  readonly reason: string;
  readonly by: string | null;
}

interface Stores {
  readonly threads: Threads;
  readonly approvals: ApprovalStore;
  /** Of the thread of the turn that ends: the threads of those that it called stand under it. */
  readonly fence: Fence;
}

const LONGEST_REASON = 2000;

/** Ends a suspended turn that a new message takes the place of: its open questions are answered with no and that message. */
export async function closeSuspended(
  stores: Stores,
  unfinished: Unfinished,
  { text, by }: { readonly text: string; readonly by: string },
): Promise<void> {
  const { turn } = unfinished;
  const said = text.length > LONGEST_REASON ? `${text.slice(0, LONGEST_REASON)}…` : text;
  const withdrawal = { reason: `they wrote instead: ${said}`, by };
  const open = await withdraw(stores, turn.id, withdrawal);
  const { threads, fence } = stores;
  const messages = threads.load(turn.threadId)?.messages ?? [];
  await closeUnfinished(threads.writer(fence), unfinished, messages, (record) => answerFor(record, open, withdrawal));
}

/** Answers what `turnId` still waits for with no, and ends the turns that it called and that wait too. Returns what was open. */
export async function withdraw(stores: Stores, turnId: string, { reason, by }: Withdrawal): Promise<readonly Approval[]> {
  const { threads, approvals, fence } = stores;
  const open = approvals.askedFor(turnId);
  await approvals.reject(open, { reason, by }, fence);
  const called = new Map(
    open.flatMap(({ path }) => path.slice(path.findIndex((each) => each.turnId === turnId) + 1)).map((each) => [each.turnId, each]),
  );
  for (const { turnId: id, threadId } of called.values()) {
    const unfinished = threads.unfinished(threadId);
    if (unfinished?.turn.id !== id || unfinished.turn.state !== 'awaiting_approval') continue;
    const messages = threads.load(threadId)?.messages ?? [];
    await closeUnfinished(threads.writer(fence), unfinished, messages, (record) => answerFor(record, open, { reason, by }));
  }
  return open;
}

function answerFor({ turnId, step, index, name }: CallRecord, open: readonly Approval[], { reason, by }: Withdrawal): ToolResult {
  const own = open.some((each) => each.turnId === turnId && each.step === step && each.index === index);
  if (own) return denied({ reason, by });
  const asked = open.map(({ tool }) => `'${tool}'`).join(', ');
  return toolError(
    'approval_denied',
    open.length === 0
      ? `not run: another message came before '${name}' could run`
      : `not finished: an agent that it called asked for approval of ${asked}, which no person gave: ${reason}`,
  );
}
