import { ulid } from 'ulid';
import { toolError } from '../../contract/tool.ts';
import type { ToolResult, TurnEvent } from '../../contract/index.ts';
import { decisionFrom, startersOfPath, type Approval, type AskingTurn, type Question, OPEN_MS, type CallRecord } from '../threads/index.ts';
import type { Ask } from '../tools/approval.ts';
import { digestOf } from '../tools/gate.ts';
import { callers } from './call-tree.ts';
import { startersOf } from './foreign-turn.ts';
import type { RunningTurn } from './turn-types.ts';

/** What the gate says of a call: it runs, it does not with `result`, or a person is asked first. */
export interface CallDecision {
  readonly result: ToolResult | null;
  readonly question: AskedQuestion | null;
  /** What a person agreed to beside the input. */
  readonly approved?: string;
}

export interface AskedQuestion {
  readonly question: Question;
  /** It has not been written yet. */
  readonly isNew: boolean;
}

export const RUNS: CallDecision = { result: null, question: null };

/** The answer that a person gave to this very call or for its tool, or the question that they are to be asked. */
export async function decisionOf(turn: RunningTurn, record: CallRecord, asking: Ask): Promise<CallDecision> {
  const question = questionOf(turn, record, asking);
  const { details, subject } = question;
  const { decision, changed } = decisionFrom(await turn.deps.approvals.answersFor(question), question);
  if (decision === null) {
    const what = changed === 'subject' ? 'what would run' : `the extension '${record.extensionId}'`;
    const why = `${what} has changed since you approved this: the answer was for what it was before`;
    const told = changed ? { ...question, details: details === null ? why : `${why}\n${details}` } : question;
    return { result: null, question: { question: told, isNew: true } };
  }
  if (decision.answer === null) return { result: null, question: { question: decision, isNew: false } };
  if (decision.answer === 'no') return { result: denied(decision), question: null };
  return subject === null ? RUNS : { ...RUNS, approved: subject };
}

/** What the channel is told, also that of the turns which called this one: the person talks with the outermost. */
export function announceQuestion(turn: RunningTurn, { question }: AskedQuestion): TurnEvent {
  const { id, tool, input, digest, path, rootThreadId: thread, details, always } = question;
  const startedBy = startersOfPath(path);
  const event: TurnEvent = {
    type: 'approval-request',
    id,
    tool,
    input,
    digest,
    agents: path.map(({ agentId }) => agentId),
    thread,
    ...(startedBy.length === 0 ? {} : { startedBy }),
    ...(details === null ? {} : { details }),
    ...(always === null ? { once: true } : {}),
  };
  for (const caller of callers(turn.parent)) caller.events.push(event);
  return event;
}

/** A tool says that the agent which it runs waits for a person, and one does. */
export function isSuspended(turn: RunningTurn, result: ToolResult): boolean {
  return !result.ok && result.error.code === 'awaiting_approval' && turn.progress.suspended;
}

export function denied({ reason, by }: Pick<Approval, 'reason' | 'by'>): ToolResult {
  const why = reason ?? 'they gave no reason';
  const who = by === null ? 'no person approved it' : 'a person did not approve it';
  return toolError('approval_denied', `not run: ${who}: ${why}; do not try the same again unless they ask for it`);
}

function questionOf(turn: RunningTurn, { turnId, step, index, extensionId, tool, input }: CallRecord, asking: Ask): Question {
  const path = [...callers(turn)].reverse().map(({ record }): AskingTurn => {
    const startedBy = startersOf(record.policy);
    const { id: turnId, threadId: thread, agent } = record;
    return { agentId: agent.id, turnId, threadId: thread, ...(startedBy.length === 0 ? {} : { startedBy }) };
  });
  const { threadId, channelId, userId, correlationId } = turn.record;
  const createdAt = turn.deps.clock.now();
  return {
    id: questionId(ulid(createdAt)),
    turnId,
    step,
    index,
    rootThreadId: path[0]?.threadId ?? threadId,
    threadId,
    tool: `${extensionId}/${tool}`,
    input,
    digest: digestOf(input),
    details: asking.text,
    subject: asking.subject,
    always: coveredBy(asking, startersOfPath(path)),
    source: turn.deps.extensions.sourceOf(extensionId),
    path,
    channelId,
    userId,
    correlationId,
    createdAt,
    expiresAt: createdAt + OPEN_MS,
  };
}

/** What a person allows always in their own turns is not allowed to a turn that a stranger has begun, and the other way round. */
function coveredBy({ always }: Ask, starters: readonly string[]): string | null {
  return always === null || starters.length === 0 ? always : `${always} started by ${[...starters].sort().join(', ')}`;
}

/** Short enough to be typed: the part of the time that differs, and chance. */
function questionId(id: string): string {
  return `${id.slice(4, 10)}-${id.slice(-4)}`.toLowerCase();
}
