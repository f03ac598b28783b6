import { isPlainMap } from '@pith/plain-data';
import type { Conversations, JsonValue, Message } from '../contract/index.ts';
import { attachmentsOf, documentLabels, isSummary, ownText, textOfAnswer } from './prompt/messages.ts';
import { coversOf, shownQuestion, startersOfPath, summaryOf, type Approval, type PersonApprovals } from './threads/approval.ts';
import type { ThreadWork } from './threads/queue.ts';
import { isSealed } from './threads/sealed-threads.ts';
import type { ConversationRows, KeptMessage } from './threads/sqlite-conversations.ts';

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
    messages: async (...asked) =>
      kept()
        .rows.messages(...asked)
        .map(shownMessage),
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

type Shown = Awaited<ReturnType<Conversations['messages']>>[number];

function shownMessage({ seq, turnId, message, said }: KeptMessage): Shown {
  const nothing = { seq, turnId, text: '', attachments: [], documents: [], calls: [], results: [] };
  if (message === null) return { ...nothing, role: 'unreadable' };
  if (isSealed(message)) return { ...nothing, role: 'sealed' };
  if (isSummary(message)) return { ...nothing, role: 'summary', text: message.role === 'user' ? ownText(message) : textOfAnswer(message) };
  if (message.role === 'user') {
    const beside = { attachments: attachmentsOf(message), documents: documentLabels(message) };
    return { ...nothing, role: 'user', text: ownText(message), ...beside };
  }
  if (message.role === 'tool') return { ...nothing, role: 'tool', results: resultsOf(message, said) };
  if (message.role === 'system') return { ...nothing, role: 'summary', text: message.content };
  return { ...nothing, role: 'assistant', text: textOfAnswer(message), calls: callsOf(message) };
}

function callsOf({ content }: Extract<Message, { role: 'assistant' }>): Shown['calls'] {
  return content.flatMap((part) =>
    part.type === 'tool-call' ? [{ id: part.toolCallId, name: part.toolName, input: (part.input ?? null) as JsonValue }] : [],
  );
}

function resultsOf({ content }: Extract<Message, { role: 'tool' }>, said: KeptMessage['said']): Shown['results'] {
  return content.flatMap((part) => {
    if (part.type !== 'tool-result') return [];
    const { output, toolCallId: id, toolName: name } = part;
    const ok = output.type !== 'error-json' && output.type !== 'error-text' && output.type !== 'execution-denied';
    const { title, retained } = said.get(id) ?? { title: null, retained: false };
    return [{ id, name, ok, title, retained, output: ('value' in output ? withoutImages(output.value) : null) as JsonValue }];
  });
}

/** The bytes of an image are its tool's; a page shows that there was one. */
function withoutImages(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((part) => (isPlainMap(part) && part['type'] === 'image-data' ? { ...part, data: '' } : part));
}
