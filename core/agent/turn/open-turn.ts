import { activeTraceparent } from '@pith/genai-spans';
import { ulid } from 'ulid';
import type { Span } from '@pith/genai-spans';
import { untilAborted } from '@pith/promises';
import { codeOf, type Message, PithError, toolError, type ToolResult, type TurnEvent } from '../../contract/index.ts';
import type {
  Usage,
  TurnEndReason,
  CallRecord,
  Delegated,
  StoredMessage,
  Threads,
  ThreadWriter,
  TurnRecord,
  Unfinished,
} from '../threads/thread.ts';
import type { Fence } from '../../store/index.ts';
import { LOCAL_USER } from '../../declarations/index.ts';
import { dayOf, planTurn, UNKNOWN_CHANNEL } from './plan.ts';
import {
  type Attachment,
  callIdsOf,
  checkedAttachments,
  checkedText,
  checkedHistory,
  distinct,
  documentsIn,
  resultPart,
  textOfAnswer,
  userMessage,
} from '../prompt/messages.ts';
import { sentHistory } from '../prompt/history.ts';
import { ModelPrompt } from '../prompt/request.ts';
import {
  inheritedPolicy,
  isPersons,
  refuseDeclaredModel,
  refuseNamedModel,
  refuseOthersThread,
  refuseOthersTurn,
  withOwnModel,
} from './origin.ts';
import { turnSpan } from './spans.ts';
import type { OriginalRequest } from '../../kernel/index.ts';
import { costOf } from '../../models/index.ts';
import { type CallNode, chargesOf, countCalled, NO_USE, refuseUnpriced, sumOf, withCost } from './call-tree.ts';
import { type NoticeSink, type RunningTurn, StepEvents, type TurnDependencies, type TurnEnd } from './running-turn.ts';
import type { Approval, ApprovalStore } from '../threads/approval.ts';
import { answeredCall, decideCall, denied, keyOf, type PendingCall, runsInParallel, toolOf } from './calls.ts';

/** A turn whose row and first message are on disk. */
interface OpenedTurn {
  readonly turn: RunningTurn;
  /** Calls that were asked for before the program ended, without an answer yet. */
  readonly open: readonly CallRecord[];
  /** The answer is there already; only the turn's end was not written. */
  readonly answered: boolean;
}

export interface Opening {
  readonly deps: TurnDependencies;
  readonly notices: NoticeSink;
  readonly request: OriginalRequest;
  readonly node: CallNode;
  readonly signal: AbortSignal;
  readonly fence: Fence;
}

/** Begins a turn, or continues the thread's unfinished one or the one of the request's key. null: there was nothing to continue. */
export async function* openTurn(opening: Opening): AsyncGenerator<TurnEvent, OpenedTurn | EndedTurn | null, undefined> {
  const { deps, request } = opening;
  refuseNamedModel(request, deps.models);
  await refuseOthersThread(request, deps.threads);
  const keyed = request.key === undefined ? null : await keyedTurn(deps.threads, request.threadId, request.key);
  if (keyed && 'end' in keyed) refuseOthersTurn(request, keyed.record);
  if (keyed) return 'end' in keyed ? keyed : yield* continueTurn(opening, keyed);
  const unfinished = await deps.threads.unfinished(request.threadId);
  if (request.resume && unfinished) return yield* continueTurn(opening, unfinished);
  if (request.input !== undefined && request.input.trim() !== '') return yield* beginTurn(opening, cleanText(opening), unfinished);
  if (!request.resume) throw new PithError('usage', 'the message is empty', { cure: 'write something' });
  if ((await deps.threads.find(request.threadId)) === null) {
    throw new PithError('thread_unknown', `there is no thread '${request.threadId}'`, { cure: 'name another thread, or begin a new one' });
  }
  yield {
    type: 'notice',
    code: 'nothing_to_resume',
    message: `thread '${request.threadId}' has no answer that was cut off; one that was stopped has ended: send a message`,
  };
  return null;
}

/** What a person sends. */
interface SentText {
  readonly text: string;
  readonly title?: string;
  readonly attachments: readonly Attachment[];
  readonly history: readonly Message[];
}

/** Without secrets: a person may paste one. Throws `usage` for attachments and a history that cannot be sent. */
function cleanText({ deps: { host }, request: { input = '', title, attachments = [], history = [] } }: Opening): SentText {
  return host.secrets.redactJson({
    text: checkedText(input),
    ...(title !== undefined && { title }),
    attachments: checkedAttachments(attachments),
    history: checkedHistory(history),
  });
}

async function* beginTurn(
  opening: Opening,
  input: SentText,
  unfinished: Unfinished | null,
): AsyncGenerator<TurnEvent, OpenedTurn, undefined> {
  const { deps, request, node, signal, fence } = opening;
  const writer = deps.threads.writer(fence);
  const { parent } = request;
  countCalled(node);
  const { threadId, channelId = parent?.channelId ?? UNKNOWN_CHANNEL, userId = parent?.userId ?? LOCAL_USER } = request;
  const { messageId = parent?.messageId } = request;
  const { spec, notes } = await untilAborted(deps.registry.resolve(request.agent), signal);
  refuseDeclaredModel(spec, deps.models);
  const inherited = inheritedPolicy(request, spec, node.parent);
  const policy = withOwnModel(deps, spec, inherited, node.parent);
  if (policy !== inherited)
    yield {
      type: 'notice',
      code: 'model_not_chosen',
      message: `no person chose the model '${spec.model}' of the agent '${spec.id}': it has only the tools of the extension that offers it; name it under 'models' in the settings, or in an agent of your own`,
    };
  const loaded = await deps.threads.load(threadId);
  const id = ulid(deps.clock.now());
  const given = loaded === null ? input.history : [];
  const history = sentHistory(loaded?.messages ?? given.map((message, at) => ({ seq: at + 1, turnId: id, message, retain: {} })));
  const record: TurnRecord = {
    id,
    threadId,
    agent: spec,
    channelId,
    ...(messageId === undefined ? {} : { messageId }),
    userId,
    policy,
    correlationId: parent?.correlationId ?? request.correlationId ?? ulid(deps.clock.now()),
    depth: node.depth,
    state: 'running',
    steps: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
    startedAt: deps.clock.now(),
    key: request.key ?? null,
  };
  const date = loaded?.thread.date ?? dayOf(deps.clock.now());
  const compactions = loaded?.thread.compactions ?? 0;
  const plan = await planTurn(deps, { turn: record, notes, thread: { date, compactions, history }, text: input.text }, signal);
  refuseUnpriced({ deps, plan, parent: node.parent });
  // Nothing stored has changed until here: a message that cannot be answered leaves the thread and its open questions as they were.
  if (unfinished?.turn.state === 'awaiting_approval')
    await closeSuspended({ ...deps, fence }, unfinished, { text: input.text, by: userId });
  else if (unfinished) await closeUnfinished(writer, unfinished, loaded?.messages ?? []);
  const before = unfinished ? sentHistory((await deps.threads.load(threadId))?.messages ?? []) : history;
  const message = userMessage(
    plan.turnParts.map(({ text }) => text),
    input.text,
    { documents: plan.documents, attachments: input.attachments },
  );
  const said = record.depth === 0 && isPersons(request) ? input.text : undefined; // a callee's task is no person's message
  const thread = { id: threadId, agentId: spec.id, date, title: input.title ?? titleOf(input.text) };
  const span = turnSpan({ plan, record, parent: node.parent });
  const begin = { thread, messages: [...given, message], said, callers: chargesOf(node.parent) };
  await begunUnder(span, () => writer.beginTurn({ ...begin, turn: { ...record, ...traceHere() } }));
  const delegated = { turns: 0, steps: 0, calls: 0 };
  const messages = [...before.map((stored) => stored.message), message];
  const turn = running(opening, { plan, record, span, documents: documentsIn([message]), delegated, messages });
  return { turn, open: [], answered: false };
}

function traceHere(): Pick<TurnRecord, 'traceparent'> {
  const traceparent = activeTraceparent();
  return traceparent === undefined ? {} : { traceparent };
}

async function begunUnder(span: Span, begin: () => Promise<void>): Promise<void> {
  try {
    await span.run(begin);
  } catch (error) {
    span.end({ 'error.type': codeOf(error, 'database_failed') });
    throw error;
  }
}

async function* continueTurn(opening: Opening, unfinished: Unfinished): AsyncGenerator<TurnEvent, OpenedTurn, undefined> {
  const { deps, request, signal } = opening;
  if (request.input && request.key === undefined)
    yield {
      type: 'notice',
      code: 'input_not_sent',
      message: 'the unfinished turn is continued first; send the message again afterwards',
    };
  const loaded = await deps.threads.load(request.threadId);
  const { turn: record, calls } = unfinished;
  refuseOthersTurn(request, record);
  const history = withoutBrokenAnswer(record, sentHistory(loaded?.messages ?? [], record.id));
  const date = loaded?.thread.date ?? dayOf(deps.clock.now());
  // Of the new request only the model, its effort and less time count: what the turn may do was settled when it began.
  const { model = record.policy.model, effort = record.policy.effort, limits } = request.policy ?? {};
  const time = Math.min(limits?.time_budget_ms ?? Infinity, record.policy.limits?.time_budget_ms ?? Infinity);
  const policy = {
    ...record.policy,
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...(time === Infinity ? {} : { limits: { ...record.policy.limits, time_budget_ms: time } }),
  };
  const thread = { date, compactions: loaded?.thread.compactions ?? 0, history };
  const plan = await planTurn(deps, { turn: { ...record, policy }, notes: [], thread, text: null }, signal);
  refuseUnpriced({ deps, plan, parent: opening.node.parent });
  if (record.state !== 'running') await deps.threads.writer(opening.fence).setState(record.id, 'running', record.usage);
  const delegated = await deps.threads.delegated(record.threadId, record.id);
  const used = (await deps.threads.usage(request.threadId, record.startedAt)).map(({ model: ref, ...usage }) =>
    withCost(usage, ref === null ? null : costOf(usage, deps.models.price(ref))),
  );
  const { cost = null } = used.reduce(sumOf, NO_USE);
  const turn = running(opening, {
    plan,
    record: { ...record, usage: withCost(record.usage, cost) },
    span: turnSpan({ plan, record, parent: opening.node.parent }),
    documents: documentsIn(history.flatMap(({ turnId, message }) => (turnId === record.id ? message : []))),
    delegated,
    messages: history.map(({ message }) => message),
  });
  turn.progress.calls = calls.length;
  turn.progress.text = textOf(record, history);
  return { turn, open: openCalls(unfinished, history), answered: isAnswered(history.at(-1), record) };
}

interface Begun extends Pick<RunningTurn, 'plan' | 'record' | 'span' | 'documents'> {
  readonly delegated: Delegated;
  /** Of the thread, with that of this turn. */
  readonly messages: readonly Message[];
}

function running(
  { deps, notices, node, signal, fence }: Opening,
  { plan, record, span, documents, delegated, messages }: Begun,
): RunningTurn {
  return {
    deps,
    plan,
    record,
    writer: deps.threads.writer(fence),
    fence,
    documents,
    span,
    notices,
    parent: node.parent,
    signal,
    events: new StepEvents(),
    offer: {
      toolsByName: new Map(plan.tools.offered.map((tool) => [tool.modelName, tool])),
      all: plan.tools.all,
      functionTools: plan.tools.functions,
      late: plan.tools.late,
      renewals: plan.tools.renewals,
      info: { ...plan.info, held: distinct([...plan.info.held, ...documents]) },
    },
    conversation: {
      prompt: new ModelPrompt(plan.system, messages, plan.model),
      effort: plan.policy.effort ?? plan.spec.effort ?? deps.effort?.() ?? null,
      meter: { tokens: 0, counted: 0, incompressible: 0 },
    },
    progress: {
      usage: record.usage,
      request: NO_USE,
      unrecorded: NO_USE,
      steps: record.steps,
      asking: new Set(),
      calls: 0,
      called: new Map(),
      delegated,
      suspended: false,
      text: '',
    },
  };
}

function isAnswered(last: StoredMessage | undefined, record: TurnRecord): boolean {
  return last?.turnId === record.id && last.message.role === 'assistant' && callIdsOf(last.message).length === 0;
}

const TITLE_LENGTH = 80;
/** Characters that are looked at for a title: there may be many spaces. */
const TITLE_LOOK = 4096;

function titleOf(input: string): string {
  const line = input.trimStart().slice(0, TITLE_LOOK).trimEnd().replace(/\s+/g, ' ');
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH - 1)}…` : line;
}

/** A turn that came to its end before it was asked for again. */
export interface EndedTurn {
  readonly record: TurnRecord;
  readonly end: TurnEnd;
  readonly text: string;
  readonly usage: Usage;
}

/** The turn that goes by the request's key: one to continue, or what was the end of one that is over. null: there is none yet. */
async function keyedTurn(threads: Threads, threadId: string, key: string): Promise<Unfinished | EndedTurn | null> {
  const found = await threads.keyed(threadId, key);
  if (found === null) return null;
  const { turn } = found;
  const messages = (await threads.load(threadId))?.messages ?? [];
  return isResumable(turn, messages) ? found : { record: turn, end: endOf(turn), text: textOf(turn, messages), usage: turn.usage };
}

/** What it said, as if it said it now. */
export function republish({ record, text }: EndedTurn): readonly TurnEvent[] {
  const { agent, threadId, id, policy } = record;
  const start: TurnEvent = { type: 'turn-start', agent: agent.id, thread: threadId, turn: id, model: policy.model ?? agent.model };
  return text === '' ? [start] : [start, { type: 'text-delta', text }];
}

/** Without the words that broke off: they are said again, and providers refuse their own answer at the end. */
function withoutBrokenAnswer({ id, state }: TurnRecord, history: readonly StoredMessage[]): readonly StoredMessage[] {
  const last = history.at(-1);
  const broken = state === 'error' || state === 'aborted';
  return broken && last?.turnId === id && last.message.role === 'assistant' && callIdsOf(last.message).length === 0
    ? history.slice(0, -1)
    : history;
}

/** What failed or was stopped is tried again, unless the thread has gone on since. */
function isResumable({ id, state }: TurnRecord, messages: readonly StoredMessage[]): boolean {
  if (state === 'running' || state === 'awaiting_approval') return true;
  return (state === 'error' || state === 'aborted') && messages.at(-1)?.turnId === id;
}

const WHY: Readonly<Partial<Record<TurnEndReason, { readonly code: string; readonly message: string }>>> = {
  limit: { code: 'limit_reached', message: 'stopped at a limit; what was done until then is kept' },
  error: { code: 'interrupted', message: 'it ended with an error, and its thread has gone on since' },
};

function endOf({ state }: TurnRecord): TurnEnd {
  const reason = state as TurnEndReason;
  const error = WHY[reason];
  return { reason, stored: true, ...(error === undefined ? {} : { error }) };
}

function textOf({ id }: TurnRecord, messages: readonly StoredMessage[]): string {
  const asked = messages.findLastIndex(({ turnId, message }) => turnId === id && message.role === 'user');
  return (
    messages
      .filter(({ turnId, message }, at) => at > asked && turnId === id && message.role === 'assistant')
      .map(({ message }) => textOfAnswer(message))
      .findLast((text) => text !== '') ?? ''
  );
}

/** The calls of the last step that have no answer in the history yet, in their order; empty when that step is answered. */
function openCalls({ turn, calls }: Unfinished, messages: readonly StoredMessage[]): readonly CallRecord[] {
  const last = messages.at(-1);
  if (last === undefined || last.turnId !== turn.id) return [];
  const ids = callIdsOf(last.message);
  if (ids.length === 0) return [];
  const asked = calls.filter(({ callId }) => ids.includes(callId));
  const step = Math.max(...asked.map((call) => call.step));
  return asked.filter((call) => call.step === step).sort((a, b) => a.index - b.index);
}

/** Finished calls are reused, requested ones run, started ones only if that repeats nothing. */
export function resumeCalls(turn: RunningTurn, open: readonly CallRecord[]): readonly PendingCall[] {
  const before = turn.progress.calls - open.length;
  return open.map((record, index): PendingCall => {
    if (record.result !== null) return answeredCall(record, record.result);
    if (record.state === 'finished') return answeredCall(record, interrupted(record));
    if (record.state === 'started' && record.effect === 'write') return answeredCall(record, interrupted(record));
    const offered = toolOf(turn, record);
    if (offered === undefined) return answeredCall(record, toolError('tool_gone', `not run: '${record.name}' is no longer there`));
    return {
      record,
      runsInParallel: runsInParallel(offered),
      decide: () => decideCall(turn, record, before + index, turn.plan.limits.max_tool_calls),
    };
  });
}

/** Ends a turn that nobody continues. */
async function closeUnfinished(
  writer: ThreadWriter,
  unfinished: Unfinished,
  messages: readonly StoredMessage[],
  answerFor?: (record: CallRecord) => ToolResult,
): Promise<void> {
  const { turn } = unfinished;
  await Promise.all([answerOpen(writer, unfinished, messages, answerFor), writer.setState(turn.id, 'aborted', turn.usage)]);
}

/** Answers the open calls of a turn, so that the history stays one that models accept. */
export async function answerOpen(
  writer: ThreadWriter,
  unfinished: Unfinished,
  messages: readonly StoredMessage[],
  answerFor: (record: CallRecord) => ToolResult = interrupted,
): Promise<void> {
  const { turn } = unfinished;
  const open = openCalls(unfinished, messages);
  const writes: Promise<void>[] = [];
  if (open.length > 0) {
    const answers = open.map((record) => ({
      record,
      result: record.state === 'finished' && record.result ? record.result : answerFor(record),
    }));
    for (const { record, result } of answers) {
      if (record.state !== 'finished') writes.push(writer.finishCall(record, result));
    }
    const retain = Object.fromEntries(
      answers.flatMap(({ record, result }) => (result.ok && result.retain ? [[record.callId, result.retain]] : [])),
    );
    const content = answers.map(({ record, result }) => resultPart(record.callId, record.name, result));
    writes.push(writer.recordResults(turn.id, { role: 'tool', content }, retain));
  }
  await Promise.all(writes);
}

function interrupted(record: CallRecord): ToolResult {
  const key = keyOf(record);
  return toolError(
    'interrupted',
    `the program ended while '${record.name}' ran, so its outcome is not known; check before calling it again (key ${key})`,
  );
}

/** Why nobody will answer any more. `by`: whose doing that is, null for nobody's. */
interface Cancellation {
  readonly reason: string;
  readonly by: string | null;
}

interface Stores {
  readonly threads: Threads;
  readonly approvals: ApprovalStore;
  /** Of the thread of the turn that ends: the threads of those that it called are under it. */
  readonly fence: Fence;
}

const LONGEST_REASON = 2000;

/** Ends a suspended turn that a new message takes the place of: its open questions are answered with no and that message. */
async function closeSuspended(
  stores: Stores,
  unfinished: Unfinished,
  { text, by }: { readonly text: string; readonly by: string },
): Promise<void> {
  const { turn } = unfinished;
  const said = text.length > LONGEST_REASON ? `${text.slice(0, LONGEST_REASON)}…` : text;
  const cancellation = { reason: `they wrote instead: ${said}`, by };
  const open = await cancelQuestions(stores, turn.id, cancellation);
  const { threads, fence } = stores;
  const messages = (await threads.load(turn.threadId))?.messages ?? [];
  await closeUnfinished(threads.writer(fence), unfinished, messages, (record) => answerFor(record, open, cancellation));
}

/** Answers what `turnId` still waits for with no, and ends the turns that it called and that wait too. Returns what was open. */
export async function cancelQuestions(stores: Stores, turnId: string, { reason, by }: Cancellation): Promise<readonly Approval[]> {
  const { threads, approvals, fence } = stores;
  const open = await approvals.askedFor(turnId);
  await approvals.reject(open, { reason, by }, fence);
  const called = new Map(
    open.flatMap(({ path }) => path.slice(path.findIndex((each) => each.turnId === turnId) + 1)).map((each) => [each.turnId, each]),
  );
  for (const { turnId: id, threadId } of called.values()) {
    const unfinished = await threads.unfinished(threadId);
    if (unfinished?.turn.id !== id || unfinished.turn.state !== 'awaiting_approval') continue;
    const messages = (await threads.load(threadId))?.messages ?? [];
    await closeUnfinished(threads.writer(fence), unfinished, messages, (record) => answerFor(record, open, { reason, by }));
  }
  return open;
}

function answerFor({ turnId, step, index, name }: CallRecord, open: readonly Approval[], { reason, by }: Cancellation): ToolResult {
  const own = open.some((each) => each.turnId === turnId && each.step === step && each.index === index);
  if (own) return denied({ reason, by });
  if (open.some((each) => each.turnId === turnId && each.step === step && each.index < index))
    return toolError('approval_denied', `not run: it was to run after a call that no person approved: ${reason}`);
  const asked = open.map(({ tool }) => `'${tool}'`).join(', ');
  return toolError(
    'approval_denied',
    open.length === 0
      ? `not run: another message came before '${name}' could run`
      : `not finished: an agent that it called asked for approval of ${asked}, which no person gave: ${reason}`,
  );
}
