import { type Clock, type JsonValue, PithError } from '../../contract/index.ts';
import { printableLine } from '@pith/plain-text';
import type { Fence, Leases } from '../../store/index.ts';
import type { Threads } from './thread.ts';
import type { ProjectPermission } from '../../trust/index.ts';

/** `always`: in the conversation; `project`: in every conversation of the project. */
export type ApprovalAnswer = 'once' | 'always' | 'project' | 'no';

/** A turn on the way from the person to a question. */
export interface AskingTurn {
  readonly agentId: string;
  readonly turnId: string;
  readonly threadId: string;
  /** Extensions outside the kernel from which it comes; absent: it comes from none. */
  readonly startedBy?: readonly string[];
}

/** Ids of the extensions outside the kernel that began a turn on the way to a question. */
export function startersOfPath(path: readonly AskingTurn[]): readonly string[] {
  return [...new Set(path.flatMap(({ startedBy = [] }) => startedBy))];
}

/** What a person is asked before a call. */
export interface Ask {
  /** What the call does, in the tool's words. */
  readonly summary: string | null;
  /** What the tool wants a person to read beside the input. */
  readonly details: string | null;
  /** What is enforced while the call runs. */
  readonly enforced: string | null;
  /** What a yes is for beside the input: it holds for nothing else; null: for the input alone. */
  readonly subject: string | null;
  /** What an `always` covers: `input:`, `subject:`, `tool:` or `key:` and what names it. A later call with the same one is not asked about. null: it is not offered. */
  readonly always: string | null;
  /** How the tool names what an `always` covers: `command:npm test`; null: it does not. */
  readonly key: string | null;
  /** The same in the tool's words. */
  readonly covers: string | null;
  /** Why guards want a person asked; null: none does. A yes holds for the same reason only. */
  readonly guard: string | null;
  /** What the tool says comes from code that came with Pith. */
  readonly ships: boolean;
}

/** What a call asks a person. Its fields never change; only the answer is added, once. */
export interface Question extends Ask {
  readonly id: string;
  /** The call that waits. */
  readonly turnId: string;
  readonly step: number;
  readonly index: number;
  /** The thread in which the person talks: that of the outermost turn. */
  readonly rootThreadId: string;
  /** The thread of the turn that asks. */
  readonly threadId: string;
  /** `extension/tool`. */
  readonly tool: string;
  readonly input: JsonValue;
  /** SHA-256 of the exact input. */
  readonly digest: string;
  /** By which a person names it: no other question that is open, or was asked within the hour, has it. 0: it is not stored yet. */
  readonly number: number;
  /** Digest of the extension's sources that were to run; null: not known. */
  readonly source: string | null;
  /** The outermost turn first, the asking one last. */
  readonly path: readonly AskingTurn[];
  readonly channelId: string;
  readonly userId: string;
  readonly correlationId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface Approval extends Question {
  /** null while it is open. */
  readonly answer: ApprovalAnswer | null;
  /** Why not, in the words that the model sees. */
  readonly reason: string | null;
  /** Who answered; null when nobody did in time. */
  readonly by: string | null;
  readonly answeredAt: number | null;
}

export interface ApprovalReply {
  readonly answer: ApprovalAnswer;
  readonly reason?: string;
  readonly by: string;
  /** The conversation, for who knows it. */
  readonly threadId?: string;
}

/** What a call does, in one line. What a stranger says of it is marked as such. */
export function summaryOf({ tool, summary, ships }: Pick<Question, 'tool' | 'summary' | 'ships'>): string {
  if (ships && summary !== null) return summary;
  const [extension = '', name = ''] = tool.split('/', 2);
  const call = `run ${name} of ${extension}`;
  return summary === null ? call : `${call} (it says: ${summary})`;
}

/** What an `always` covers, in one line; null: it is not offered. */
export function coversOf({ tool, always, covers, ships }: Pick<Question, 'tool' | 'always' | 'covers' | 'ships'>): string | null {
  if (always === null) return null;
  if (covers !== null) return ships ? covers : `it says: ${covers}`;
  const name = tool.slice(tool.indexOf('/') + 1);
  if (always.startsWith('tool:')) return `every call of ${name}`;
  return always.startsWith('subject:') ? 'the same with any arguments' : 'exactly this call';
}

/** The agents that led to a question, and the foreign extensions that started them. */
export function askersText(path: Question['path']): string {
  const ids = startersOfPath(path);
  const started = `, started by extension${ids.length > 1 ? 's' : ''} ${ids.map((id) => `'${printableLine(id)}'`).join(' and ')}`;
  return `${path.map(({ agentId }) => printableLine(agentId)).join(' → ')}${ids.length === 0 ? '' : started}`;
}

/** What a person is shown of a question, as data. */
export function shownQuestion(question: Question) {
  const { id, tool, input, digest, path, rootThreadId: thread, details, enforced, always } = question;
  const startedBy = startersOfPath(path);
  const covers = coversOf(question);
  return {
    id,
    tool,
    input,
    digest,
    agents: path.map(({ agentId }) => agentId),
    thread,
    ...(startedBy.length === 0 ? {} : { startedBy }),
    summary: summaryOf(question),
    ...(details === null ? {} : { details }),
    ...(enforced === null ? {} : { enforced }),
    ...(covers === null ? {} : { covers }),
    ...(always === null ? { once: true as const } : {}),
  };
}

/** What people are asked and what they answered. */
interface Approvals {
  /** Open questions, oldest first; of one conversation when its thread is named. */
  list(rootThreadId?: string): Promise<readonly Approval[]>;
  /** `threadId`: its conversation, for who knows it: of one that is kept elsewhere, what is asked there may have left the memory. */
  get(id: string, threadId?: string): Promise<Approval | null>;
  /**
   * Exactly one answer is taken; an `always` answers with it what else is open in the conversation and covered by it, and `project` in all of
   * them. Rejects `approval_unknown`, `approval_answered` with who was first, `not_allowed` for an answer that is not offered, or `trust_failed`
   * where the permission of the project cannot be written.
   */
  answer(id: string, reply: ApprovalReply): Promise<Approval>;
  /** The answers that a question takes. */
  offered(question: Question): readonly ApprovalAnswer[];
  /** What need not be asked any more: in the project, then in conversations, or in the one that is named. Oldest first. */
  permissions(rootThreadId?: string): Promise<readonly Permission[]>;
  /** It is asked again from the next call. False: it was taken back before. */
  takeBack(permission: Permission): Promise<boolean>;
}

/** What the gate does with approvals, beside what people do. A row and its event are one commit. */
export interface ApprovalStore extends Approvals {
  /** What was answered so far that may decide a call. */
  answersFor(call: AskedCall): Promise<GivenAnswers>;
  /** Rejects `thread_busy` once somebody else holds the thread. */
  ask(question: Question, fence: Fence): Promise<void>;
  /** Deletes the questions of a conversation, and what was answered there. */
  forget(threadId: string, fence: Fence): Promise<void>;
  /** Open questions that `turnId` waits for: its own, and those of agents that it called. */
  askedFor(turnId: string): Promise<readonly Approval[]>;
  /** Answers what is still open of these with no. `by` null: nobody did. Rejects `thread_busy` once somebody else holds the thread. */
  reject(open: readonly Approval[], said: { readonly reason: string; readonly by: string | null }, fence: Fence): Promise<void>;
}

/** What of a question decides whether an earlier answer holds for it. */
export type AskedCall = Pick<
  Question,
  'turnId' | 'step' | 'index' | 'digest' | 'tool' | 'rootThreadId' | 'source' | 'subject' | 'always' | 'guard'
>;

interface GivenAnswers {
  /** A permission of the project covers it. */
  readonly inProject: boolean;
  /** In the conversation, to questions about what this one is about. */
  readonly always: readonly Approval[];
  /** About this call with these very arguments, the newest first. */
  readonly asked: readonly Approval[];
}

/** What earlier answers say of a call: it may run, what was said last decides (`said` may be open still), or a person is to be asked. */
type Decision =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'said'; readonly said: Approval }
  /** `changed`: what has changed since there was a yes. */
  | { readonly kind: 'unasked'; readonly changed: 'extension' | 'guard' | 'subject' | null };

/**
 * By what was said of this call with these very arguments, or always in the project or the conversation of what its question covers.
 * A yes holds for the code and the subject that it was said to, and for the reasons of guards that were read with it.
 */
export function decisionFrom({ inProject, always, asked }: GivenAnswers, call: AskedCall): Decision {
  if (inProject || always.some((each) => covers(each, call))) return { kind: 'allowed' };
  const isSame = (each: Approval) => each.source === call.source && each.subject === call.subject && answersGuard(each, call);
  const said = asked.find(isSame) ?? asked[0] ?? null;
  if (said === null) return { kind: 'unasked', changed: always.length > 0 ? 'extension' : null };
  const isYes = said.answer !== null && said.answer !== 'no';
  if (isYes && said.subject !== call.subject) return { kind: 'unasked', changed: 'subject' };
  if (isYes && said.source !== call.source) return { kind: 'unasked', changed: 'extension' };
  if (isYes && !answersGuard(said, call)) return { kind: 'unasked', changed: 'guard' };
  return { kind: 'said', said };
}

function answersGuard(said: Pick<Question, 'guard'>, { guard }: typeof said): boolean {
  return guard === null || said.guard === guard;
}

/** Whether an `always` to the first question answers the second: same tool, same code, same thing that was shown. */
export function covers(said: Pick<Question, 'tool' | 'source' | 'always'>, { tool, source, always }: typeof said): boolean {
  return always !== null && said.always === always && said.tool === tool && said.source === source;
}

/** How long a question waits. */
export const OPEN_MS = 24 * 60 * 60 * 1000;
const UNANSWERED = 'nobody answered within 24 h';

/** The question as it is at `now`: one that nobody answered in time was answered with no. */
export function expiredAt(approval: Approval, now: number): Approval {
  if (approval.answer !== null || approval.expiresAt > now) return approval;
  return { ...approval, answer: 'no', reason: UNANSWERED, answeredAt: approval.expiresAt };
}

export function unknownApproval(id: string, open: readonly Approval[]): PithError {
  const ids = open.map(({ number }) => String(number));
  return new PithError('approval_unknown', `there is no open question '${id}'`, {
    where: id,
    cure: ids.length === 0 ? 'nothing waits for approval now' : `open: ${ids.slice(0, 10).join(', ')}; see: pith approvals`,
  });
}

/** Refuses an `always` or a `project` that is not offered. */
export function onceOnly({ id, tool, always }: Approval): PithError {
  const why =
    always === null
      ? 'always: each such call needs its own approval'
      : 'always in this project: the answer is for this conversation at most';
  return new PithError('not_allowed', `'${tool}' cannot be approved ${why}`, {
    where: id,
    cure: `approve this one with: pith approvals approve ${id}`,
  });
}

export function answeredBefore(approval: Approval): PithError {
  return new PithError('approval_answered', `the question '${approval.id}' is no longer open: ${saidOf(approval)}`, {
    where: approval.id,
    cure: 'see: pith approvals',
  });
}

/** "by ann: once", "by nobody …" of an answer, for people. */
function saidOf({ answer, by, reason }: Approval): string {
  if (by === null) return reason ?? 'withdrawn';
  return `answered by ${by}: ${answer}${reason === null ? '' : ` (${reason})`}`;
}

/** Who waits for an answer: a process that shows a question goes on with its conversation itself. */
export interface AnswerWaiting {
  /** Resolves with the question's answer, whoever gives it, or when nobody did in time. Meanwhile `isAwaited` is true for the conversation. */
  waitFor(approval: Approval, signal: AbortSignal): Promise<Approval>;
  /** Whether some process waits for an answer in the conversation. */
  isAwaited(threadId: string): Promise<boolean>;
  /** Whether within `ms` somebody goes on with the conversation's suspended turn, or has ended it. */
  isContinued(threadId: string, ms: number, signal: AbortSignal): Promise<boolean>;
}

/** Approvals as a person's commands see them. */
export type PersonApprovals = Approvals & AnswerWaiting;

const LEASE_MS = 3_000;
const PAUSE_MS = 200;

export function createAnswerWaiting(
  approvals: Pick<Approvals, 'get'>,
  threads: Pick<Threads, 'unfinished'>,
  leases: Leases,
  clock: Clock,
): AnswerWaiting {
  return {
    async waitFor(approval, signal) {
      const lease = await leases.acquire(leaseName(approval.rootThreadId), LEASE_MS);
      try {
        for (;;) {
          const now = (await approvals.get(approval.id, approval.rootThreadId)) ?? approval;
          if (now.answer !== null) return now;
          await clock.sleep(PAUSE_MS, signal);
        }
      } finally {
        await lease?.release();
      }
    },

    isAwaited: (threadId) => leases.isHeld(leaseName(threadId), LEASE_MS),

    async isContinued(threadId, ms, signal) {
      const end = clock.now() + ms;
      while ((await threads.unfinished(threadId))?.turn.state === 'awaiting_approval') {
        if (clock.now() >= end) return false;
        await clock.sleep(PAUSE_MS, signal);
      }
      return true;
    },
  };
}

/** How long the channel in which a question was asked shows it before others do. */
const FIRST_MS = 2000;

/** What is shown elsewhere of a question: `wait` while somebody is about to answer it, `settled` when it is not open any more. */
export async function noticeOfQuestion(
  id: string,
  approvals: Pick<PersonApprovals, 'get' | 'isAwaited'>,
  clock: Pick<Clock, 'now'>,
): Promise<{ readonly text: string } | 'wait' | 'settled'> {
  const asked = await approvals.get(id);
  if (asked === null || asked.answer !== null) return 'settled';
  const isFirst = asked.createdAt + FIRST_MS > clock.now() || (await approvals.isAwaited(asked.rootThreadId));
  return isFirst ? 'wait' : { text: noticeText(asked) };
}

/** Of what a tool shows, or of its arguments, in a notice. */
const NOTICED_LINES = 12;
const NOTICED_CHARACTERS = 200;

/** The same as where a question is asked, shorter: what it does, who asks, what it shows or is given, what is enforced, how to answer. */
function noticeText(question: Approval): string {
  const { number: name, path, details, input, ships, summary, enforced } = question;
  const shown = details?.trim() ? details.trimEnd().split('\n') : [];
  const saysAll = ships && summary !== null && shown.length > 0;
  const given = saysAll ? [] : argumentsOf(input).map(([argument, value]) => `${argument}: ${JSON.stringify(value)}`);
  const bounded = (lines: readonly string[], sign: string) => {
    const most = lines.slice(0, NOTICED_LINES).map((line) => `${sign}${printableLine(line, NOTICED_CHARACTERS)}`);
    return lines.length > NOTICED_LINES ? [...most, `… ${lines.length - NOTICED_LINES} more lines: pith approvals ${name} --all`] : most;
  };
  return [
    `Question ${name}: ${summaryOf(question)}`,
    `asked by ${askersText(path)}`,
    ...bounded(shown, '│ '),
    ...bounded(given, ''),
    ...(enforced === null ? [] : [enforced]),
    `Answer: pith approvals ${name}, pith approvals approve ${name} or pith approvals reject ${name}`,
  ].join('\n');
}

/** The arguments of a call by name; what is no object is called `input`. */
export function argumentsOf(input: JsonValue): readonly (readonly [name: string, value: JsonValue | undefined])[] {
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? Object.entries(input) : [['input', input]];
}

function leaseName(threadId: string): string {
  return `approval:${threadId}`;
}

/** What a person need not be asked any more. */
export interface Permission extends ProjectPermission {
  readonly scope: 'project' | 'conversation';
  /** The conversation in which it counts; null: all of the project. */
  readonly threadId: string | null;
}

/** Names what a permission covers: of two with the same one is enough. */
export function permissionKey({
  tool,
  always,
  source,
}: Pick<ProjectPermission, 'tool' | 'source'> & { readonly always: string | null }): string {
  return JSON.stringify([tool, always, source]);
}
