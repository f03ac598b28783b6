import type { Conversations } from '../../contract/index.ts';
import { coversOf, shownQuestion, startersOfPath, summaryOf, type Approval, type PersonApprovals } from './approval.ts';
import type { ThreadWork } from './queue.ts';
import type { ConversationRows } from './sqlite-conversations.ts';

interface Kept {
  readonly rows: ConversationRows;
  readonly approvals: PersonApprovals;
  readonly work: ThreadWork;
}

/** What the kernel answers who shows conversations. `kept` is opened when something is asked. */
export function createConversations(kept: () => Kept): Conversations {
  const withState = async ({ open, ...rest }: ReturnType<ConversationRows['list']>['found'][number]) => {
    if (open !== 'running') return { ...rest, state: open ?? 'idle' } as const;
    return { ...rest, state: (await kept().work.isHeld(rest.id)) ? 'running' : 'cut_off' } as const;
  };
  return {
    async list(asked) {
      const { found, cursor } = kept().rows.list(asked);
      return { conversations: await Promise.all(found.map(withState)), cursor };
    },
    async find(threadId) {
      const found = kept().rows.find(threadId);
      return found === null ? null : withState(found);
    },
    messages: async (...asked) => kept().rows.messages(...asked),
    changes: async (since) => kept().rows.changes(since),
    async questions({ userId, threadId, id }) {
      const { approvals } = kept();
      const one = id === undefined ? null : await approvals.get(id);
      const found = id === undefined ? await approvals.list(threadId) : one === null ? [] : [one];
      return found
        .filter((each) => (userId ?? each.userId) === each.userId && (threadId ?? each.rootThreadId) === each.rootThreadId)
        .map((each) => questionOf(each, approvals));
    },
    async answer(id, { answer, by, reason }) {
      const { approvals } = kept();
      const asked = await approvals.get(id);
      const attended = asked !== null && (await approvals.isAwaited(asked.rootThreadId));
      await approvals.answer(id, { answer, by, ...(reason === undefined || reason === '' ? {} : { reason }) });
      return { attended };
    },
    async stop(threadId, by, signal) {
      const ended = await kept().work.stop(threadId, by, signal);
      return ended === null ? 'idle' : ended ? 'stopped' : 'stopping';
    },
  };
}

function questionOf(asked: Approval, { offered }: Pick<PersonApprovals, 'offered'>) {
  const { answer, by, reason, details, enforced, number, userId, createdAt, expiresAt, rootThreadId: threadId } = asked;
  const { id, tool, input, digest, agents } = shownQuestion(asked);
  const covers = coversOf(asked);
  const what = {
    id,
    number,
    threadId,
    userId,
    tool,
    input,
    digest,
    agents,
    startedBy: startersOfPath(asked.path),
    summary: summaryOf(asked),
  };
  const answered = answer === null ? null : { answer, by, reason };
  return { ...what, details, enforced, covers, answers: offered(asked), createdAt, expiresAt, answered };
}
