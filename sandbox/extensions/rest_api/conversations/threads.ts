import { kernelCommands } from '@pith/command-line';
import { hiddenFolders, printableLine } from '@pith/plain-text';
import { KeyedQueue } from '@pith/promises';
import { EVENT_STREAM } from '@pith/server-answers';
import {
  codeOf,
  CommandProvider,
  type Conversations,
  type ExtensionContext,
  type JsonValue,
  PithError,
  Places,
  type Remote,
  type TurnPolicy,
  z,
} from 'pith';
import type { HttpUsers, RouteAnswer } from 'pith/http';
import type { Cursors } from '../cursors.ts';
import { preconditionFailed, tagOf } from '../entity-tags.ts';
import { KEY_USED } from '../repeated-requests.ts';
import { type ApiRequest, type ApiRoute, apiRoute, unknownTurn } from '../route.ts';
import { CHANNEL_ID, type LiveTurn, type LiveTurns } from './live-turns.ts';
import type { QueuedMessages } from './queued-messages.ts';
import type { TurnEnds } from './turn-ends.ts';
import type { OwnedThread, OwnedThreads } from './owned-threads.ts';
import type { RunningElsewhere } from './running-elsewhere.ts';
import type { RemovedThread } from './tables.ts';
import type { UsedKeys } from './used-keys.ts';
import {
  choiceShape,
  count,
  cursor as cursorShape,
  flag,
  messageBody,
  openThreadShape,
  takenBackShape,
  threadListShape,
  threadShape,
  traceShape,
  turnResultShape,
  usageShape,
} from './shapes.ts';

export interface ThreadPorts {
  readonly context: Pick<ExtensionContext, 'clock' | 'find' | 'use'>;
  readonly conversations: Remote<Conversations>;
  readonly users: Remote<HttpUsers>;
  readonly turns: LiveTurns;
  readonly queued: Pick<QueuedMessages, 'waiting'>;
  readonly elsewhere: Pick<RunningElsewhere, 'report'>;
  readonly threads: OwnedThreads;
  readonly ends: TurnEnds;
  readonly keys: UsedKeys;
  readonly cursors: Cursors;
  /** What is kept of a thread that was removed. */
  forget(removed: RemovedThread): Promise<void>;
}

type Messages = Awaited<ReturnType<Conversations['messages']>>;

/** Images of a message, in base64. */
const MOST_BYTES = 32 * 1024 * 1024;
const PAGE = 50;
const MOST = 200;

export function threadRoutes(ports: ThreadPorts): readonly ApiRoute[] {
  return [...readingRoutes(ports), ...turnRoutes(ports), ...changingRoutes(ports)].map((route) => ({
    ...route,
    answer: async (request) => ({ thread: request.params['id'] ?? null, ...(await route.answer(request)) }),
  }));
}

function readingRoutes({ context, conversations, cursors, turns, elsewhere, threads, ends }: ThreadPorts): readonly ApiRoute[] {
  return [
    apiRoute(
      {
        method: 'GET',
        path: '/api/threads',
        need: 'user',
        summary: 'List your conversations, newest first',
        query: z.strictObject({
          cursor: cursorShape(),
          text: z.string().optional(),
          limit: count(MOST, PAGE),
          all: flag(),
        }),
        result: threadListShape(),
      },
      async (request) => {
        const { caller, query } = request;
        const { cursor, text, limit, all } = query;
        if (all && caller.may !== 'admin') throw new PithError('not_allowed', 'only an administrator lists the conversations of all');
        const whose = all ? {} : { userId: caller.userId };
        const after = cursor === undefined ? undefined : await cursors.placeIn(request, cursor);
        const found = await conversations.list({ ...whose, ...given({ text, after }), limit });
        elsewhere.report(found.conversations);
        const next = found.cursor === null ? null : await cursors.of(request, found.cursor);
        return { status: 200, json: plain({ threads: found.conversations, cursor: next }) };
      },
    ),
    apiRoute(
      {
        method: 'GET',
        path: '/api/threads/{id}',
        need: 'user',
        summary: 'Show a conversation: its last messages, or those before or behind one, and what is said now',
        query: z.strictObject({
          after: z.coerce.number().int().optional(),
          before: z.coerce.number().int().optional(),
          limit: count(MOST, PAGE),
          all: flag(),
        }),
        result: openThreadShape(),
        isTagged: true,
      },
      async ({ caller, params, query: { after, before, limit, all } }) => {
        const owned = await threads.of(params['id'] as string, caller, all);
        const { live, messages } = await consistent(turns, owned.id, () =>
          conversations.messages(owned.id, { ...given({ after, before }), limit }),
        );
        const thread = shownThread(owned);
        elsewhere.report([thread]);
        const [first] = messages;
        const older = first !== undefined && (await conversations.messages(owned.id, { before: first.seq, limit: 1 })).length > 0;
        const [last] = live === null ? await conversations.messages(owned.id, { limit: 1 }) : [];
        const hide = hiddenFolders(context.use(Places));
        const end = last === undefined ? null : hide(await ends.of(owned.id, last.turnId));
        const shownMessages = messages.map((each) => ({ ...each, documents: hide(each.documents), results: hide(each.results) }));
        return { status: 200, headers: { etag: tagOf(thread.title) }, json: plain({ thread, messages: shownMessages, older, live, end }) };
      },
    ),
    apiRoute(
      {
        method: 'GET',
        path: '/api/threads/{id}/context',
        need: 'user',
        summary: 'Show what the model would be sent with a next message, and the tokens of each part',
        query: z.strictObject({ text: z.string().default('') }),
      },
      async ({ caller, params, query: { text }, signal }) => {
        const { id, agentId } = await threads.begun(params['id'] as string, caller);
        const asked = { userId: caller.userId, signal, options: { text, channel: CHANNEL_ID }, session: { threadId: id, agentId } };
        const { values } = await shown(context, 'context', {}, asked);
        return { status: 200, json: values[0] as JsonValue };
      },
    ),
    apiRoute(
      {
        method: 'GET',
        path: '/api/threads/{id}/trace',
        need: 'user',
        summary: 'Show what a turn did and when: model steps, tool calls, waits and called turns. Without `turn` the newest one',
        query: z.strictObject({ turn: z.string().min(1).optional(), last: count(MOST, PAGE), all: flag() }),
        result: traceShape(),
      },
      async ({ caller, params, query: { turn, last, all }, signal }) => {
        const { id } = await threads.begun(params['id'] as string, caller, all);
        const asked = { userId: caller.userId, signal, options: { last } };
        const traced = await shown(context, 'trace', { id: turn ?? id }, asked).catch((error: unknown) => {
          throw codeOf(error, '') === 'thread_unknown' ? unknownTurn(turn) : error;
        });
        const found = traced.values[0] as { readonly threadId: string };
        if (found.threadId !== id) throw unknownTurn(turn);
        return { status: 200, json: plain(found) };
      },
    ),
    apiRoute(
      {
        method: 'GET',
        path: '/api/threads/{id}/usage',
        need: 'user',
        summary: 'Show the tokens that a conversation has used, and what they cost',
        result: usageShape(),
      },
      async ({ caller, params, signal }) => {
        const { id, conversation } = await threads.of(params['id'] as string, caller);
        if (conversation === null) return { status: 200, json: { model: null, effort: null, used: [] } };
        const { values } = await shown(context, 'threads usage', { id }, { userId: caller.userId, signal });
        const { thread: _, ...used } = values[0] as { readonly [key: string]: JsonValue };
        return { status: 200, json: used };
      },
    ),
    apiRoute(
      {
        method: 'GET',
        path: '/api/threads/{id}/export',
        need: 'user',
        summary: 'Export a conversation as Markdown, or as JSON with its messages as models get them',
        query: z.strictObject({ format: z.enum(['md', 'json']).default('md') }),
        types: ['text/markdown', 'application/json'],
      },
      async ({ caller, params, query: { format }, signal }) => {
        const owned = await threads.of(params['id'] as string, caller);
        const { id, title, conversation } = owned;
        if (conversation === null) return format === 'json' ? emptyJson(owned) : markdown(`# ${title}\n\nConversation ${id}\n`);
        const { values, text } = await shown(context, 'threads export', { id }, { userId: caller.userId, signal });
        if (format === 'json') return { status: 200, json: values[0] as JsonValue };
        return markdown(text);
      },
    ),
  ];
}

/** What came of a turn, or its events. */
const TURN_TYPES = ['application/json', 'text/event-stream'];

function turnRoutes(ports: ThreadPorts): readonly ApiRoute[] {
  const { users, conversations, turns, queued, threads, keys } = ports;
  const result = turnResultShape();
  return [
    apiRoute(
      {
        method: 'POST',
        path: '/api/threads/{id}/messages',
        need: 'user',
        summary: 'Say something; the turn goes on when you leave. Accept: text/event-stream tells its events',
        body: messageBody(),
        mostBytes: MOST_BYTES,
        result,
        types: TURN_TYPES,
      },
      async (request) => {
        const { caller, params, body, headers } = request;
        const owned = await threads.of(params['id'] as string, caller);
        const { key = headers['idempotency-key'], ...message } = body;
        if (key !== undefined && !(await keys.isFor(owned.id, key, plain(message)))) return KEY_USED;
        const { text: input, attachments = [], model, effort } = message;
        const { id: agent } = await users.agent(body.agent ?? owned.conversation?.agentId, caller.role);
        const turn = await turns.start({
          agent,
          input,
          attachments,
          threadId: owned.id,
          userId: caller.userId,
          ...(owned.conversation === null && owned.title !== '' ? { title: owned.title } : {}),
          ...given({ key, policy: policyOf({ model, effort }) }),
        });
        return watched(ports, request, turn);
      },
    ),
    apiRoute(
      {
        method: 'POST',
        path: '/api/threads/{id}/continue',
        need: 'user',
        summary: 'Go on with a turn that was cut off, or whose questions are answered',
        body: choiceShape().default({}),
        result,
        types: TURN_TYPES,
      },
      async (request) => {
        const { caller, params, body } = request;
        const { id: threadId, agentId: agent } = await threads.begun(params['id'] as string, caller);
        const running = turns.first(threadId);
        const policy = given({ policy: policyOf(body) });
        const turn = running ?? (await turns.start({ agent, threadId, userId: caller.userId, resume: true, ...policy }));
        return watched(ports, request, turn);
      },
    ),
    apiRoute(
      {
        method: 'POST',
        path: '/api/threads/{id}/stop',
        need: 'user',
        summary: 'Stop what runs in a conversation, in whichever process; what waits behind it begins',
        body: z.strictObject({}).default({}),
        result: z.strictObject({ state: z.enum(['stopped', 'stopping', 'idle']) }),
      },
      async ({ caller, params, signal }) => {
        const { id } = await threads.of(params['id'] as string, caller);
        return { status: 200, json: { state: await conversations.stop(id, caller.userId, signal) } };
      },
    ),
    apiRoute(
      {
        method: 'GET',
        path: '/api/threads/{id}/waiting',
        need: 'user',
        summary: 'List the messages that wait in a conversation, the oldest first',
        result: z.strictObject({ waiting: z.array(z.strictObject({ key: z.string(), text: z.string() })) }),
      },
      async ({ caller, params }) => {
        const { id } = await threads.of(params['id'] as string, caller);
        return { status: 200, json: plain({ waiting: await queued.waiting(id) }) };
      },
    ),
    apiRoute(
      {
        method: 'DELETE',
        path: '/api/threads/{id}/waiting/{key}',
        need: 'user',
        summary: 'Take back a message that waits in a conversation; answers what it said',
        result: takenBackShape(),
      },
      async ({ caller, params }) => {
        const { id: threadId, userId } = await threads.of(params['id'] as string, caller);
        const key = params['key'] as string;
        const asked = await turns.takeBack({ threadId, userId, key });
        if (asked !== null) return { status: 200, json: plain({ text: asked.input ?? '', attachments: asked.attachments ?? [] }) };
        throw new PithError('not_found', `there is no waiting message with the key '${key}'`, {
          cure: 'list those that wait: GET /api/threads/{id}/waiting',
        });
      },
    ),
  ];
}

function changingRoutes({ context, turns, threads, forget }: ThreadPorts): readonly ApiRoute[] {
  const renames = new KeyedQueue();
  return [
    apiRoute(
      {
        method: 'POST',
        path: '/api/threads',
        need: 'user',
        summary: 'Begin a conversation: its first message makes it',
        body: z.strictObject({}).default({}),
        result: z.strictObject({ id: z.string() }),
        status: 201,
      },
      async ({ caller }) => ({ status: 201, json: { id: await threads.begin(caller) } }),
    ),
    apiRoute(
      {
        method: 'POST',
        path: '/api/threads/{id}/branch',
        need: 'user',
        summary: 'Make a conversation that begins like this one, or is what was before a message of yours; both stay',
        body: z.strictObject({ before: z.int().optional(), title: z.string().min(1).optional() }).default({}),
        result: z.strictObject({ id: z.string(), text: z.string().nullable() }),
        status: 201,
      },
      async ({ caller, params, body: { before, title }, signal }) => {
        const { id } = await threads.begun(params['id'] as string, caller);
        const words: Readonly<Record<string, string[]>> = title === undefined ? {} : { title: [title] };
        const asked = { userId: caller.userId, signal, ...(before === undefined ? {} : { options: { before } }) };
        const made = (await command(context, 'threads branch', { id, ...words }, asked)).values[0] as { thread: string; text?: string };
        return { status: 201, json: { id: made.thread, text: made.text ?? null } };
      },
    ),
    apiRoute(
      {
        method: 'POST',
        path: '/api/threads/{id}/compact',
        need: 'user',
        summary: 'Shorten a conversation so that it fits its model again',
        body: z.strictObject({}).default({}),
        result: z.strictObject({ tokensBefore: z.number(), tokensAfter: z.number() }),
      },
      async ({ caller, params, signal }) => {
        const { id, conversation } = await idle(threads.of(params['id'] as string, caller), turns);
        if (conversation === null) return { status: 200, json: { tokensBefore: 0, tokensAfter: 0 } };
        const { values } = await command(context, 'threads compact', { id }, { userId: caller.userId, signal });
        const { tokensBefore, tokensAfter } = values[0] as { tokensBefore: number; tokensAfter: number };
        return { status: 200, json: { tokensBefore, tokensAfter } };
      },
    ),
    apiRoute(
      {
        method: 'PATCH',
        path: '/api/threads/{id}',
        need: 'user',
        summary: 'Rename a conversation; with If-Match only while its title is the one that you read',
        body: z.strictObject({ title: z.string().trim().min(1).max(200) }),
        result: z.strictObject({ thread: threadShape() }),
        reads: ['If-Match'],
        isTagged: true,
      },
      async ({ caller, params, body: { title }, headers, signal }) => {
        const id = params['id'] as string;
        return renames.run(id, async () => {
          const found = await idle(threads.of(id, caller), turns);
          const wanted = headers['if-match'];
          if (wanted !== undefined && wanted !== '*' && wanted !== tagOf(found.title)) return preconditionFailed();
          if (found.conversation === null) await threads.name(id, printableLine(title));
          else await command(context, 'threads rename', { id, title: [title] }, { userId: caller.userId, signal });
          const thread = shownThread(await threads.of(id, caller));
          return { status: 200, headers: { etag: tagOf(thread.title) }, json: plain({ thread }) };
        });
      },
    ),
    apiRoute(
      {
        method: 'DELETE',
        path: '/api/threads/{id}',
        need: 'user',
        summary: 'Delete a conversation with all that was said, done and asked in it',
        status: 204,
      },
      async ({ caller, params, signal }) => {
        const { id, conversation } = await idle(threads.of(params['id'] as string, caller), turns);
        if (conversation !== null)
          await command(context, 'threads delete', { id }, { userId: caller.userId, signal, options: { yes: true } });
        await forget({ threadId: id, at: context.clock.now() }); // at once: others hear of it later
        return { status: 204 };
      },
    ),
  ];
}

/** The turn as events, or what came of it. The client only watches. */
export async function watched(
  { context, conversations }: Pick<ThreadPorts, 'context' | 'conversations'>,
  { headers, signal }: Pick<ApiRequest, 'headers' | 'signal'>,
  turn: LiveTurn,
): Promise<RouteAnswer> {
  if ((headers['accept'] ?? '').includes('text/event-stream'))
    return { status: 200, headers: EVENT_STREAM, body: turn.events(context.clock, signal) };
  const { reason, text, usage, error = null } = await turn.ended;
  if (turn.turnId === null && error !== null) throw new PithError(error.code, error.message, given({ cure: error.cure }));
  const { threadId: thread } = turn.asked;
  const questions = reason === 'awaiting_approval' ? await conversations.questions({ threadId: thread }) : [];
  return { status: 200, json: plain({ thread, turn: turn.turnId, reason, text, usage, error, questions }) };
}

/** Read again until no step ended meanwhile: then no message is missing, and none is there twice. */
async function consistent(turns: LiveTurns, threadId: string, read: () => Promise<Messages>) {
  for (;;) {
    const [turn, ...waiting] = turns.of(threadId);
    const before = turn?.state();
    const messages = await read();
    const now = turns.of(threadId)[0];
    if (turn === now && turn?.steps === now?.steps) {
      const live = now === undefined ? null : { ...now.state(), waiting: waiting.length };
      return { live, messages: before === undefined || now === undefined ? messages : withoutOpenStep(messages, now) };
    }
  }
}

/** Of the step that is open, what is kept already is shown as events, too. */
function withoutOpenStep(messages: Messages, turn: LiveTurn): Messages {
  const { events } = turn.state();
  const calls = new Set(events.flatMap((event) => (event.type === 'tool-call' ? [event.id] : [])));
  const isOpen = ({ turnId, role, calls: asked, results }: Messages[number], at: number): boolean =>
    turnId === turn.turnId &&
    ([...asked, ...results].some(({ id }) => calls.has(id)) ||
      (role === 'assistant' && at === messages.length - 1 && events.some(({ type }) => type === 'text-delta')));
  return messages.filter((message, at) => !isOpen(message, at));
}

/** Rejects `thread_busy` while somebody works there. */
async function idle(found: Promise<OwnedThread>, turns: LiveTurns): Promise<OwnedThread> {
  const owned = await found;
  const isBusy = owned.conversation?.state === 'running' || turns.of(owned.id).length > 0;
  if (isBusy)
    throw new PithError('thread_busy', `a turn runs in thread '${owned.id}'`, {
      retryable: true,
      cure: 'stop it, or wait for its end',
    });
  return owned;
}

interface CommandCall {
  readonly userId: string;
  readonly signal: AbortSignal;
  readonly options?: Readonly<Record<string, string | boolean | number>>;
  readonly session?: { readonly threadId: string; readonly agentId: string };
}

/** What such a command shows, with the names of folders in place of their paths: no answer has a path of this machine. */
async function shown(context: ThreadPorts['context'], path: string, args: Readonly<Record<string, string>>, asked: CommandCall) {
  return hiddenFolders(context.use(Places))(await command(context, path, args, asked));
}

/** A command of Pith itself, for its JSON. */
function command(
  { find }: Pick<ExtensionContext, 'find'>,
  path: string,
  args: Readonly<Record<string, string | string[]>>,
  asked: CommandCall,
) {
  const { userId, signal, options = {}, session } = asked;
  return kernelCommands(find(CommandProvider)).run(path, { arguments: args, options, userId, session }, signal);
}

function shownThread({ id, userId, title, conversation }: OwnedThread) {
  const nothing = { agentId: null, title, state: 'idle', createdAt: null, updatedAt: null, branchOf: null } as const;
  return conversation ?? { id, userId, ...nothing };
}

/** As one with messages is exported. */
function emptyJson(owned: OwnedThread): RouteAnswer {
  return { status: 200, json: plain({ ...shownThread(owned), messages: [] }) };
}

function markdown(body: string): RouteAnswer {
  return { status: 200, headers: { 'content-type': 'text/markdown; charset=utf-8' }, body };
}

function policyOf({
  model,
  effort,
}: {
  readonly model?: string | undefined;
  readonly effort?: TurnPolicy['effort'];
}): TurnPolicy | undefined {
  return model === undefined && effort === undefined ? undefined : given({ model, effort });
}

/** Without what is undefined. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

export function plain(value: object): JsonValue {
  return value as JsonValue; // data of the contract, which is plain
}
