import { toolError, type ToolResult } from '../../contract/index.ts';
import type { CallRecord, StoredMessage, Threads, ThreadWriter, Unfinished } from '../threads/thread.ts';
import type { Approval, ApprovalStore } from '../threads/approval.ts';
import type { Fence } from '../../store/index.ts';
import { decideCall, type DecidedCall, denied, keyOf, toolOf } from './calls.ts';
import { callIdsOf, resultPart } from '../prompt/messages.ts';
import type { RunningTurn } from './running-turn.ts';

/** The calls of the last step that have no answer in the history yet, in their order; empty when that step is answered. */
export function openCalls({ turn, calls }: Unfinished, messages: readonly StoredMessage[]): readonly CallRecord[] {
  const last = messages.at(-1);
  if (last === undefined || last.turnId !== turn.id) return [];
  const ids = callIdsOf(last.message);
  if (ids.length === 0) return [];
  const asked = calls.filter(({ callId }) => ids.includes(callId));
  const step = Math.max(...asked.map((call) => call.step));
  return asked.filter((call) => call.step === step).sort((a, b) => a.index - b.index);
}

/** Finished calls are reused, requested ones run, started ones only if that repeats nothing. */
export async function resumeCalls(turn: RunningTurn, open: readonly CallRecord[]): Promise<readonly DecidedCall[]> {
  const before = turn.progress.calls - open.length;
  return Promise.all(
    open.map(async (record, index): Promise<DecidedCall> => {
      if (record.state === 'finished') return { record, result: record.result ?? interrupted(record), question: null };
      if (record.state === 'started' && record.effect === 'write') return { record, result: interrupted(record), question: null };
      const offered = toolOf(turn, record);
      if (offered === undefined)
        return { record, result: toolError('tool_gone', `not run: '${record.name}' is no longer there`), question: null };
      return { record, ...(await decideCall(turn, record, before + index, turn.plan.limits.max_tool_calls)) };
    }),
  );
}

/** Ends a turn that nobody continues: its open calls are answered, so that the history stays one that models accept. */
export async function closeUnfinished(
  writer: ThreadWriter,
  unfinished: Unfinished,
  messages: readonly StoredMessage[],
  answerFor: (record: CallRecord) => ToolResult = interrupted,
): Promise<void> {
  const { turn } = unfinished;
  const open = openCalls(unfinished, messages);
  const writes: Promise<void>[] = [];
  if (open.length > 0) {
    const answers = open.map((record) => ({
      record,
      result: record.state === 'finished' && record.result ? record.result : answerFor(record),
    }));
    for (const { record, result } of answers) {
      if (record.state !== 'finished') writes.push(writer.finishCall(record, result));
    }
    const retain = Object.fromEntries(
      answers.flatMap(({ record, result }) => (result.ok && result.retain ? [[record.callId, result.retain]] : [])),
    );
    const content = answers.map(({ record, result }) => resultPart(record.callId, record.name, result));
    writes.push(writer.recordResults(turn.id, { role: 'tool', content }, retain));
  }
  writes.push(writer.setState(turn.id, 'aborted', turn.usage));
  await Promise.all(writes);
}

function interrupted(record: CallRecord): ToolResult {
  const key = keyOf(record);
  return toolError(
    'interrupted',
    `the program ended while '${record.name}' ran, so its outcome is not known; check before calling it again (key ${key})`,
  );
}

/** Why nobody will answer any more. `by`: whose doing that is, null for nobody's. */
interface Withdrawal {
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
  const messages = (await threads.load(turn.threadId))?.messages ?? [];
  await closeUnfinished(threads.writer(fence), unfinished, messages, (record) => answerFor(record, open, withdrawal));
}

/** Answers what `turnId` still waits for with no, and ends the turns that it called and that wait too. Returns what was open. */
export async function withdraw(stores: Stores, turnId: string, { reason, by }: Withdrawal): Promise<readonly Approval[]> {
  const { threads, approvals, fence } = stores;
  const open = await approvals.askedFor(turnId);
  await approvals.reject(open, { reason, by }, fence);
  const called = new Map(
    open.flatMap(({ path }) => path.slice(path.findIndex((each) => each.turnId === turnId) + 1)).map((each) => [each.turnId, each]),
  );
  for (const { turnId: id, threadId } of called.values()) {
    const unfinished = await threads.unfinished(threadId);
    if (unfinished?.turn.id !== id || unfinished.turn.state !== 'awaiting_approval') continue;
    const messages = (await threads.load(threadId))?.messages ?? [];
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
