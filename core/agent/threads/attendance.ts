import type { Clock } from '../../contract/index.ts';
import type { Leases } from '../../store/leases.ts';
import type { Approval, Approvals } from './approval.ts';
import type { Threads } from './thread.ts';

/** Who waits for an answer: a process that shows a question goes on with its conversation itself. */
export interface Attendance {
  /** Resolves with the question's answer, whoever gives it, or when nobody did in time. While it waits, this process attends the conversation. */
  answered(approval: Approval, signal: AbortSignal): Promise<Approval>;
  /** Whether some process attends the conversation now. */
  isAttended(threadId: string): boolean;
  /** Whether within `ms` somebody goes on with the conversation's suspended turn, or has ended it. */
  isContinued(threadId: string, ms: number, signal: AbortSignal): Promise<boolean>;
}

/** Approvals as a person's commands see them. */
export type AttendedApprovals = Approvals & Attendance;

const LEASE_MS = 3_000;
const PAUSE_MS = 200;

export function createAttendance(
  approvals: Pick<Approvals, 'get'>,
  threads: Pick<Threads, 'unfinished'>,
  leases: Leases,
  clock: Clock,
): Attendance {
  return {
    async answered(approval, signal) {
      const lease = await leases.acquire(nameOf(approval.rootThreadId), LEASE_MS);
      try {
        for (;;) {
          const now = approvals.get(approval.id) ?? approval;
          if (now.answer !== null) return now;
          await clock.sleep(PAUSE_MS, signal);
        }
      } finally {
        await lease?.release();
      }
    },

    isAttended: (threadId) => leases.isHeld(nameOf(threadId), LEASE_MS),

    async isContinued(threadId, ms, signal) {
      const end = clock.now() + ms;
      while (threads.unfinished(threadId)?.turn.state === 'awaiting_approval') {
        if (clock.now() >= end) return false;
        await clock.sleep(PAUSE_MS, signal);
      }
      return true;
    },
  };
}

function nameOf(threadId: string): string {
  return `approval:${threadId}`;
}
