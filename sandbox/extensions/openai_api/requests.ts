import { ulid } from 'ulid';
import { within } from '@pith/promises';
import { EVENT_STREAM, sentEvent, withHeartbeats } from '@pith/server-answers';
import type { ExtensionContext, JsonValue, Remote } from 'pith';
import type { Caller, HttpUsers, RouteAnswer, RouteRequest } from 'pith/http';
import type { ProgramEnd, ProgramTurns } from 'pith/program_turns';
import { type AnswerPart, answerParts } from './answer-parts.ts';
import { type BranchPorts, branchBehind, lastSeq } from './branches.ts';
import { type AnswerHead, chatChunks, chatCompletion } from './chat-answer.ts';
import { type AskedTurn, readChat } from './chat-request.ts';
import { ApiError, apiErrorOf, apiErrorOfEnd, errorAnswer } from './errors.ts';
import type { KeptResponses } from './kept-responses.ts';
import { responseEvents, threadOfItem } from './responses-answer.ts';
import { readResponse } from './responses-request.ts';
import { CHAT, FORGET_RESPONSE, MODEL, MODELS, RESPONSE, RESPONSES } from './routes.ts';

interface Ports extends Pick<ExtensionContext, 'clock'>, BranchPorts {
  readonly turns: Remote<ProgramTurns>;
  readonly users: Remote<HttpUsers>;
  readonly kept: KeptResponses;
}

/** A request of somebody who is known. */
type KnownRequest = RouteRequest & { readonly caller: Caller };

const HANDLERS: Readonly<Record<string, (request: KnownRequest, ports: Ports) => Promise<RouteAnswer>>> = {
  [MODELS]: async ({ caller }, { users }) => {
    const agents = await users.agents(caller.role);
    return { status: 200, json: { object: 'list', data: agents.map(modelOf) } };
  },
  [MODEL]: async ({ caller, params }, { users }) => {
    const { id = '' } = params;
    const found = (await users.agents(caller.role)).find((agent) => agent.id === id);
    if (found === undefined)
      throw new ApiError(404, `there is no model '${id.slice(0, 100)}'`, { code: 'model_not_found', param: 'model' });
    return { status: 200, json: modelOf(found) };
  },
  [CHAT]: answerChat,
  [RESPONSES]: answerResponse,
  [RESPONSE]: async ({ params, caller }, { kept }) => {
    const { id = '' } = params;
    const found = await kept.find(id, caller.userId);
    if (found === null) throw unknownResponse(id);
    return { status: 200, json: found.body };
  },
  [FORGET_RESPONSE]: async ({ params, caller }, { kept }) => {
    const { id = '' } = params;
    if (!(await kept.remove(id, caller.userId))) throw unknownResponse(id);
    return { status: 200, json: { id, object: 'response', deleted: true } };
  },
};

/** Answers in the shape of this interface, errors too. */
export function openAiRequests(ports: Ports) {
  return (request: RouteRequest): Promise<RouteAnswer> => answerRequest(request, ports);
}

async function answerRequest(request: RouteRequest, ports: Ports): Promise<RouteAnswer> {
  const handle = HANDLERS[request.route];
  try {
    if (handle === undefined || request.caller === null) throw new ApiError(404, 'there is nothing at this address', { code: 'not_found' });
    return await handle(request as KnownRequest, ports);
  } catch (error) {
    const answer = errorAnswer(error);
    if (answer.status === 500) throw error; // the listener writes it to the log and says nothing of it
    return answer;
  }
}

async function answerChat(request: KnownRequest, ports: Ports): Promise<RouteAnswer> {
  const asked = readChat(request.body);
  const begun = await begin(request, ports, asked, threadNamed(request));
  const { head } = begun;
  if (asked.stream) return streamed(begun, chatChunks(head, begun.parts, asked.includesUsage), { ...ports, last: 'data: [DONE]\n\n' });
  const { json, end } = await chatCompletion(head, begun.parts);
  return { status: 200, headers: { ...begun.headers, ...approvalHeader(end) }, json };
}

async function answerResponse(request: KnownRequest, ports: Ports): Promise<RouteAnswer> {
  const asked = readResponse(request.body);
  const { userId } = request.caller;
  const { kept } = ports;
  const begun = await begin(request, ports, asked, threadNamed(request) ?? (await threadBefore(asked, request, ports)));
  const { head, threadId } = begun;
  const events = responseEvents({ ...head, repeated: asked.repeated }, begun.parts);
  const keep = async (event: JsonEvent): Promise<void> => {
    if (asked.store && ENDED.includes(event.type))
      await kept.keep(`resp_${head.id}`, { userId, threadId, body: event['response'] ?? null, seq: await lastSeq(ports, threadId) });
  };
  if (asked.stream) return streamed(begun, events, { ...ports, named: true, keep });
  let last: JsonEvent | null = null;
  for await (const event of events) last = event;
  const { json, end } = { json: last?.['response'] ?? null, end: begun.end() };
  if (end?.reason === 'error') throw apiErrorOfEnd(end);
  if (last !== null) await keep(last);
  return { status: 200, headers: { ...begun.headers, ...approvalHeader(end) }, json };
}

type JsonEvent = Readonly<Record<string, JsonValue>> & { readonly type: string };

/** Events with a whole response. */
const ENDED = ['response.completed', 'response.incomplete', 'response.failed'];

/** The thread that a request of the responses interface goes on in by what it names; null: none. */
async function threadBefore(
  { previous, references }: Pick<ReturnType<typeof readResponse>, 'previous' | 'references'>,
  { caller: { userId }, signal }: KnownRequest,
  ports: Ports,
): Promise<string | null> {
  if (previous !== null) {
    const found = await ports.kept.find(previous, userId);
    if (found === null)
      throw new ApiError(404, `there is no response '${previous.slice(0, 100)}'`, {
        code: 'previous_response_not_found',
        param: 'previous_response_id',
      });
    if (found.isLast) return found.threadId;
    const branch = await branchBehind(ports, found, userId, signal);
    if (branch !== null) return branch;
    const why = 'its turn has gone on since';
    throw new ApiError(400, `previous_response_id: ${why}; name its last response, or send what was said as input`, {
      code: 'previous_response_not_last',
      param: 'previous_response_id',
    });
  }
  const named = references.at(-1);
  if (named === undefined) return null;
  const thread = threadOfItem(named);
  if (thread === null) throw new ApiError(404, `there is no item '${named.slice(0, 100)}'`, { code: 'item_not_found', param: 'input' });
  return thread;
}

/** How long a stream waits for its first part, before which an error has a status of its own. */
const FIRST_MS = 10_000;

/** A turn whose first part has come, or is late: what failed before has an error with its status. */
interface BegunTurn {
  readonly head: AnswerHead;
  readonly threadId: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: AsyncIterable<AnswerPart>;
  /** null while it runs. */
  end(): ProgramEnd | null;
}

/** Throws `ApiError` and what `ProgramTurns.run` throws. */
async function begin(request: KnownRequest, { turns, clock }: Ports, asked: AskedTurn, threadId: string | null): Promise<BegunTurn> {
  const { agent, messages, tools, output } = asked;
  const wanted = { agent, messages, tools, output, by: request.caller, channelId: 'openai_api', threadId };
  const events = turns.run(wanted, request.signal)[Symbol.asyncIterator]();
  const { value } = await events.next();
  if (value?.type !== 'thread') throw new Error('a turn without its thread');
  const rest = answerParts({ [Symbol.asyncIterator]: () => events });
  const first = rest.next();
  first.catch(() => undefined); // it is awaited again below
  const early = await (asked.stream ? within(clock, FIRST_MS, first) : first);
  if (early?.done === false && early.value.type === 'end' && early.value.reason === 'error') {
    await rest.return();
    throw apiErrorOfEnd(early.value);
  }
  let end: ProgramEnd | null = null;
  async function* parts(): AsyncGenerator<AnswerPart, void, undefined> {
    try {
      for (let next = await first; !next.done; next = await rest.next()) {
        if (next.value.type === 'end') end = next.value;
        yield next.value;
      }
    } finally {
      await rest.return();
    }
  }
  const head: AnswerHead = {
    id: ulid(clock.now()).toLowerCase(),
    threadId: value.threadId,
    model: asked.agent,
    created: Math.floor(clock.now() / 1000),
    showsSteps: request.headers['x-pith-steps'] === 'show',
    oneCall: asked.oneCall,
  };
  return { head, threadId: value.threadId, headers: { 'x-pith-thread': value.threadId }, parts: parts(), end: () => end };
}

/** `named`: each event is sent with its type as its name. `keep`: awaited before an event is sent. */
interface StreamForm extends Pick<Ports, 'clock'> {
  readonly named?: boolean;
  readonly last?: string;
  keep?(event: JsonEvent): Promise<void>;
}

function streamed(
  { headers }: Pick<BegunTurn, 'headers'>,
  events: AsyncIterable<JsonValue>,
  { clock, named = false, last = '', keep }: StreamForm,
): RouteAnswer {
  const sent = (event: JsonValue): Uint8Array => sentEvent(event, named ? { event: (event as JsonEvent).type } : {});
  const end = Buffer.from(last);
  async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const event of events) {
      await keep?.(event as JsonEvent);
      yield sent(event);
    }
    if (last !== '') yield end;
  }
  return {
    failed(error) {
      const { body: failed } = apiErrorOf(error);
      return Buffer.concat([sent(named ? { ...failed, type: 'error' } : { error: failed }), end]);
    },
    status: 200,
    headers: { ...headers, ...EVENT_STREAM },
    body: withHeartbeats(body(), clock),
  };
}

function approvalHeader(end: ProgramEnd | null): Readonly<Record<string, string>> {
  const question = end?.questions[0];
  return question === undefined ? {} : { 'x-pith-approval': question.id };
}

function threadNamed({ headers }: KnownRequest): string | null {
  return headers['x-pith-thread'] ?? null;
}

/** Agents do not say when they were made. */
function modelOf({ id }: { readonly id: string }) {
  return { id, object: 'model', created: 0, owned_by: 'pith' };
}

function unknownResponse(id: string): ApiError {
  return new ApiError(404, `there is no response '${id.slice(0, 100)}'`, { code: 'response_not_found', param: 'id' });
}
