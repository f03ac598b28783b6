import { type AGUIEvent, EventType, type RunAgentInput } from '@ag-ui/core';
import { sha256 } from '@pith/plain-data';
import { withCure } from '@pith/plain-text';
import { EVENT_STREAM, sentEvent, withHeartbeats } from '@pith/server-answers';
import { type Conversations, type ExtensionContext, PithError, type Remote } from 'pith';
import type { Caller, RouteAnswer, RouteRequest } from 'pith/http';
import type { ProgramTurns } from 'pith/program_turns';
import { runEvents } from './events.ts';
import { saidIn } from './input.ts';

interface Ports extends Pick<ExtensionContext, 'clock'> {
  readonly turns: Remote<ProgramTurns>;
  readonly conversations: Remote<Conversations>;
}

/** Runs an agent. Throws where its thread or agent is not to be had; what fails then ends the stream as an error of the run. */
export async function runAgent(request: RouteRequest, { turns, conversations, clock }: Ports): Promise<RouteAnswer> {
  const { caller, params, signal } = request;
  if (caller === null) throw new PithError('not_allowed', 'no user is known');
  const input = request.body as RunAgentInput;
  const said = saidIn(input);
  const named = await conversations.find(input.threadId);
  const own = named?.userId === caller.userId;
  // Clients name their threads themselves, so that two users may use one name.
  const newThreadId = `agui-${sha256(`${caller.userId}\n${input.threadId}`).slice(0, 26)}`;
  await answerInterrupts(input, { caller, threadId: own ? input.threadId : newThreadId }, conversations);
  const wanted = {
    ...said,
    agent: params['agent'] ?? '',
    by: caller,
    channelId: 'ag_ui',
  };
  const events = turns.run({ ...wanted, threadId: own ? input.threadId : null, newThreadId }, signal)[Symbol.asyncIterator]();
  const first = await events.next(); // what cannot begin rejects here
  const threadId = first.done !== true && first.value.type === 'thread' ? first.value.threadId : newThreadId;
  async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const event of runEvents(input, threadId, { [Symbol.asyncIterator]: () => events })) yield sentEvent(event);
  }
  return {
    status: 200,
    headers: EVENT_STREAM,
    body: withHeartbeats(body(), clock),
    failed: (error) => sentEvent({ type: EventType.RUN_ERROR, ...errorOf(error) } satisfies AGUIEvent),
  };
}

/** What a client reads of an error. */
function errorOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof PithError) return { code: error.code, message: withCure(error.message, error.cure) };
  return { code: 'internal', message: 'something went wrong; the log of Pith says what' };
}

/** Throws `not_allowed` where the token may not answer, and `approval_unknown` for a question of another thread or user. */
async function answerInterrupts(
  { resume = [] }: RunAgentInput,
  { caller, threadId }: { readonly caller: Caller; readonly threadId: string },
  conversations: Remote<Conversations>,
): Promise<void> {
  if (resume.length === 0) return;
  if (caller.may === 'chat')
    throw new PithError('not_allowed', 'this token cannot answer questions', {
      cure: 'answer with pith approvals, or use a token that was made with --may approve',
    });
  for (const { interruptId: id, status, payload } of resume) {
    const [question] = await conversations.questions({ id });
    if (question === undefined || question.threadId !== threadId || question.userId !== caller.userId)
      throw new PithError('approval_unknown', `there is no question '${id.slice(0, 100)}' in this thread`, {
        cure: 'use the ids of the interrupts of the last run',
      });
    const { approved, reason } = payloadOf(payload);
    const isYes = status === 'resolved' && approved === true;
    const why = typeof reason === 'string' ? { reason } : {};
    if (question.answered === null) await conversations.answer(id, { answer: isYes ? 'once' : 'no', by: caller.userId, ...why });
  }
}

function payloadOf(payload: unknown): { readonly approved?: unknown; readonly reason?: unknown } {
  return typeof payload === 'object' && payload !== null ? payload : {};
}
