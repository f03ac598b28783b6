import { PithError, z } from 'pith';
import { type ApiRoute, apiRoute } from '../route.ts';
import { count, cursor as cursorShape, questionShape } from './shapes.ts';
import { plain, type ThreadPorts } from './threads.ts';

const MOST = 200;

/** The questions that tools ask before they act. A token that may only chat sees those of its user, and answers none. */
export function approvalRoutes({ conversations, cursors, turns }: ThreadPorts): readonly ApiRoute[] {
  /** The same for what nobody asked and for what somebody else was asked. */
  const owned = async (id: string, userId: string) => {
    const [question] = await conversations.questions({ id, userId });
    if (question === undefined)
      throw new PithError('approval_unknown', `there is no question '${id}'`, { cure: 'list them: GET /api/approvals' });
    return question;
  };
  return [
    apiRoute(
      {
        method: 'GET',
        path: '/api/approvals',
        need: 'user',
        summary: 'List the open questions in your conversations, oldest first',
        query: z.strictObject({ thread: z.string().optional(), cursor: cursorShape(), limit: count(MOST, MOST) }),
        result: z.strictObject({ approvals: z.array(questionShape()), cursor: z.string().nullable() }),
      },
      async (request) => {
        const { caller, query } = request;
        const { thread, cursor, limit } = query;
        const { userId } = caller;
        const after = cursor === undefined ? '' : await cursors.placeIn(request, cursor);
        const open = await conversations.questions({ userId, ...(thread === undefined ? {} : { threadId: thread }) });
        const rest = open.map((each) => ({ each, place: placeOf(each) })).filter(({ place }) => place > after);
        const page = rest.sort((a, b) => (a.place < b.place ? -1 : 1)).slice(0, limit);
        const last = page.length < rest.length ? page.at(-1) : undefined;
        const next = last === undefined ? null : await cursors.of(request, last.place);
        return { status: 200, json: { approvals: page.map(({ each }) => plain(each)), cursor: next } };
      },
    ),
    apiRoute(
      {
        method: 'GET',
        path: '/api/approvals/{id}',
        need: 'user',
        summary: 'Show a question with all that its tool shows, or its answer',
        result: z.strictObject({ approval: questionShape() }),
      },
      async ({ caller, params }) => ({ status: 200, json: { approval: plain(await owned(params['id'] as string, caller.userId)) } }),
    ),
    apiRoute(
      {
        method: 'POST',
        path: '/api/approvals/{id}',
        need: 'approve',
        summary: 'Answer a question; the turn goes on once none is open',
        body: z.strictObject({ answer: z.enum(['once', 'always', 'project', 'no']), reason: z.string().max(2000).optional() }),
        result: z.strictObject({ approval: questionShape(), continues: z.boolean() }),
      },
      async ({ caller: { userId }, params, body: { answer, reason } }) => {
        const { id, threadId } = await owned(params['id'] as string, userId);
        const { attended } = await conversations.answer(id, { answer, by: userId, ...(reason === undefined ? {} : { reason }) });
        const isOpen = (await conversations.questions({ threadId })).length > 0;
        const thread = isOpen || attended ? null : await conversations.find(threadId);
        if (thread?.state === 'awaiting_approval') await turns.start({ agent: thread.agentId, threadId, userId, resume: true });
        return { status: 200, thread: threadId, json: { approval: plain(await owned(id, userId)), continues: !isOpen } };
      },
    ),
  ];
}

/** The place of a question among the others, oldest first. It stays the same once the question is answered. */
function placeOf({ createdAt, id }: { readonly createdAt: number; readonly id: string }): string {
  return `${String(createdAt).padStart(16, '0')}-${id}`;
}
