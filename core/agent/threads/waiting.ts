import type { Clock } from '../../contract/index.ts';
import type { Leases } from '../../store/index.ts';
import type { Approval, Approvals } from './approval.ts';
import type { Threads } from './thread.ts';

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

export interface AnswerWaitingOptions {
  readonly approvals: Pick<Approvals, 'get'>;
  readonly threads: Pick<Threads, 'unfinished'>;
  readonly leases: Leases;
  readonly clock: Clock;
}

export function createAnswerWaiting({ approvals, threads, leases, clock }: AnswerWaitingOptions): AnswerWaiting {
  return {
    async waitFor(approval, signal) {
      const lease = await leases.acquire(nameOf(approval.rootThreadId), LEASE_MS);
      try {
        for (;;) {
          const now = (await approvals.get(approval.id)) ?? approval;
          if (now.answer !== null) return now;
          await clock.sleep(PAUSE_MS, signal);
        }
      } finally {
        await lease?.release();
      }
    },

    isAwaited: (threadId) => leases.isHeld(nameOf(threadId), LEASE_MS),

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

/** Whether a question may be shown elsewhere: `wait` while somebody is about to answer it, `settled` when it is not open any more. */
export async function stateOfQuestion(
  id: string,
  approvals: Pick<PersonApprovals, 'get' | 'isAwaited'>,
  clock: Pick<Clock, 'now'>,
): Promise<'open' | 'wait' | 'settled'> {
  const asked = await approvals.get(id);
  if (asked === null || asked.answer !== null) return 'settled';
  return asked.createdAt + FIRST_MS > clock.now() || (await approvals.isAwaited(asked.rootThreadId)) ? 'wait' : 'open';
}

function nameOf(threadId: string): string {
  return `approval:${threadId}`;
}
