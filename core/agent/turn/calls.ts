import { headAndTail, nearest, someOf } from '@pith/plain-text';
import { ulid } from 'ulid';
import { digestOf, inputProblem, judge, type Judgement, tooManyCalls } from '../tools/gate.ts';
import { type Diagnostic, type JsonValue, toolError, type ToolResult, type TurnEvent } from '../../contract/index.ts';
import type { CallRecord } from '../threads/thread.ts';
import {
  type Ask,
  type Approval,
  type AskingTurn,
  decisionFrom,
  OPEN_MS,
  type Question,
  startersOfPath,
  shownQuestion,
} from '../threads/approval.ts';
import { strictId } from '../prompt/request.ts';
import { callers, callsLeft, spendCalls } from './call-tree.ts';
import type { RawCall } from './answer.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import { missingTools } from '../tools/tools.ts';
import { runTool, withFixed } from '../tools/turn-tools.ts';
import type { AskedCall, RunningTurn } from './running-turn.ts';
import { startersOf } from './origin.ts';
import { callSpan, waitSpan } from './spans.ts';

/** A call and what the gate decided. */
export interface DecidedCall extends CallDecision {
  readonly record: CallRecord;
}

/** Finds the tool and reads the input of each call. What cannot run carries its answer. */
export async function readCalls(turn: RunningTurn, calls: readonly RawCall[]): Promise<readonly AskedCall[]> {
  const findings = calls.some(({ name }) => mayBeAway(name, turn)) ? await turn.deps.host.providers.findings() : [];
  const ids = new Set<string>();
  return calls.map(({ callId, name: called, input: text }, index) => {
    // Ids and names are stored as text, which has neither NUL nor lone surrogates; a model that repeats itself writes them without end.
    const [given, name] = [callId, called].map((each) => each.slice(0, LONGEST_NAME).replaceAll('\0', '').toWellFormed()) as [
      string,
      string,
    ];
    // Some servers give parallel calls the same id, or none: results could not be told apart.
    const id = given === '' || ids.has(given) ? strictId(`${turn.record.id} ${turn.progress.steps} ${index} ${given}`) : given;
    ids.add(id);
    const { all, toolsByName } = turn.offer;
    const tool = toolsByName.get(name) ?? all.find(({ modelName }) => modelName === name) ?? null; // one on demand may be called by its name
    const read = parseInput(text);
    const problem = tool === null ? unknownTool(name, turn, findings) : 'why' in read ? invalidInput(name, read.why) : null;
    return { callId: id, name, tool, input: 'why' in read ? {} : read.input, problem };
  });
}

/** A call whose turn has not come. */
export interface PendingCall {
  readonly record: CallRecord;
  /** It may run beside others: it only reads, runs an agent in a thread of its own, or has its answer. */
  readonly runsInParallel: boolean;
  /** What the gate says of it now. Never twice. */
  decide(): Promise<CallDecision>;
}

/** Each call of a new step, in the order in which the model asked. */
export function pendingCalls(turn: RunningTurn, step: number, asked: readonly AskedCall[]): readonly PendingCall[] {
  const before = turn.progress.calls;
  const left = callsLeft(turn).calls;
  const most = before + left;
  spendCalls(turn, Math.min(asked.length, left));
  return asked.map((call, index): PendingCall => {
    const record = recordOf(turn.record.id, step, index, call);
    const problem = index < left ? call.problem : tooManyCalls(most);
    if (problem) return answeredCall({ ...record, result: problem }, problem);
    return { record, runsInParallel: runsInParallel(call.tool), decide: () => decideCall(turn, record, before + index, most) };
  });
}

/** One that does not run any more. */
export function answeredCall(record: CallRecord, result: ToolResult): PendingCall {
  return { record, runsInParallel: true, decide: async () => ({ result, question: null }) };
}

export function runsInParallel(tool: OfferedTool | null): boolean {
  return tool === null || tool.descriptor.effect === 'read' || tool.descriptor.runsAgent === true;
}

/** What runs side by side, in the order of the answer: a call that has an effect is alone, and what comes between two of these is together. */
export function batches(calls: readonly PendingCall[]): readonly (readonly PendingCall[])[] {
  const found: PendingCall[][] = [];
  for (const call of calls) {
    const last = found.at(-1);
    if (call.runsInParallel && last?.[0]?.runsInParallel) last.push(call);
    else found.push([call]);
  }
  return found;
}

export function decided(calls: readonly PendingCall[]): Promise<readonly DecidedCall[]> {
  return Promise.all(calls.map(async ({ record, decide }) => ({ record, ...(await decide()) })));
}

/** The tool that a recorded call is for: by its name, or, where names have changed since it was asked for, by what it is. */
export function toolOf({ offer }: RunningTurn, { name, extensionId, tool }: CallRecord): OfferedTool | undefined {
  const isIt = (each: OfferedTool) => each.extensionId === extensionId && each.descriptor.name === tool;
  const found = offer.toolsByName.get(name);
  return found && isIt(found) ? found : [...offer.toolsByName.values(), ...offer.all].find(isIt);
}

/** What the gate says of a call. `mostCalls`: how many this turn may make in all. */
export async function decideCall(turn: RunningTurn, record: CallRecord, callsBefore: number, mostCalls: number): Promise<CallDecision> {
  const { deps, plan, offer } = turn;
  const offered = toolOf(turn, record);
  if (offered === undefined) return { result: toolError('tool_gone', `not run: '${record.name}' is no longer there`), question: null };
  const agents = [...callers(turn)].reverse().map((each) => each.record.agent.id);
  const call = { offered, input: structuredClone(record.input), agents, turn: offer.info, idempotencyKey: keyOf(record) };
  const { result, ask, notifyGuards } = await judge(deps, { ...call, callsBefore, mostCalls, policy: plan.policy }, turn.signal);
  if (result !== null) return { result, question: null };
  const decision = ask === null ? RUNS : await decisionOf(turn, record, ask);
  return { ...decision, result: decision.result && (await notifyGuards(decision.result)), notifyGuards };
}

function recordOf(turnId: string, step: number, index: number, { callId, name, tool, input }: AskedCall): CallRecord {
  const { effect, name: toolName } = tool?.descriptor ?? { effect: 'read' as const, name };
  return {
    turnId,
    step,
    index,
    callId,
    name,
    extensionId: tool?.extensionId ?? '',
    tool: toolName,
    input: withFixed(input, tool),
    effect,
    state: 'requested',
    result: null,
  };
}

/** Models write nothing at all for a tool without arguments. The model learns what is wrong and may try again. */
function parseInput(text: string): { readonly input: JsonValue } | { readonly why: string } {
  if (text.trim() === '') return { input: {} };
  const why = `is not a JSON object: ${text.length > SHOWN_INPUT ? `${text.slice(0, SHOWN_INPUT)}…` : text}`;
  try {
    const input = JSON.parse(text) as JsonValue;
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return { why };
    const problem = inputProblem(input);
    return problem === null ? { input } : { why: problem };
  } catch {
    return { why }; // where it breaks off helps nobody who cannot count characters
  }
}

const SHOWN_INPUT = 200;
/** Longer than a name or an id that a server takes. */
const LONGEST_NAME = 200;

function invalidInput(name: string, why: string): ToolResult {
  return toolError('tool_input_invalid', `the input of '${name}' ${why}`);
}

/** It may be of something that is not there now; as for an MCP server, whose name is before a `_`. */
function mayBeAway(name: string, { offer }: RunningTurn): boolean {
  return name.includes('_') && nearest(name, callable(offer)).length === 0;
}

/** What the model may call: first what `find_tools` has given it, last what it may still give. */
function callable({ all, toolsByName }: RunningTurn['offer']): readonly string[] {
  const given = [...toolsByName.values()];
  return [...new Set([...given.filter(({ onDemand }) => onDemand), ...given, ...all].map(({ modelName }) => modelName))];
}

const MOST_NAMED = 40;

function unknownTool(name: string, turn: RunningTurn, findings: readonly Diagnostic[]): ToolResult {
  const names = callable(turn.offer);
  const close = nearest(name, names);
  const hint =
    close.length > 0
      ? `; the nearest ${close.length === 1 ? 'is' : 'are'} ${close.join(', ')}`
      : names.length > 0
        ? `; there are ${someOf(names, MOST_NAMED)}`
        : '; this agent has no tools';
  const missing = missingTools(turn.plan.spec, turn.deps.host.extensions);
  return toolError('tool_unknown', `there is no tool '${name}'${hint}${missing}${whyAway(name, findings)}`);
}

/** What extensions say of something that the name begins with, such as a server that has not answered yet. */
function whyAway(name: string, findings: readonly Diagnostic[]): string {
  const isOf = ({ severity, message }: Diagnostic) =>
    severity === 'warning' && [...message.matchAll(/'([^']+)'/gu)].some(([, quoted]) => name.startsWith(`${quoted}_`));
  return findings
    .filter(isOf)
    .map(({ message }) => `; ${message}`)
    .join('');
}

/** What the gate says of a call: it runs, it does not with `result`, or a person is asked first. */
export interface CallDecision {
  readonly result: ToolResult | null;
  readonly question: AskedQuestion | null;
  /** What a person agreed to beside the input. */
  readonly approved?: string;
  /** Tells guards what came of it once it has run, and adds their notes. Absent: nobody waits to hear. */
  readonly notifyGuards?: Judgement['notifyGuards'];
}

interface AskedQuestion {
  readonly question: Question;
  /** It has not been written yet. */
  readonly isNew: boolean;
}

const RUNS: CallDecision = { result: null, question: null };

/** The answer that a person gave to this very call or for its tool, or the question that they are to be asked. */
async function decisionOf(turn: RunningTurn, record: CallRecord, asking: Ask): Promise<CallDecision> {
  const question = questionOf(turn, record, asking);
  const { details, subject } = question;
  const decision = decisionFrom(await turn.deps.approvals.answersFor(question), question);
  const runs = subject === null ? RUNS : { ...RUNS, approved: subject };
  if (decision.kind === 'allowed') return runs;
  if (decision.kind === 'said') {
    const { said } = decision;
    if (said.answer === null) return { result: null, question: { question: said, isNew: false } };
    waitSpan(turn, record, said);
    return said.answer === 'no' ? { result: denied(said), question: null } : runs;
  }
  const { changed } = decision;
  const what = { subject: 'what would run', extension: `the extension '${record.extensionId}'`, guard: 'what guards say of it' };
  const why = changed && `${what[changed]} has changed since you approved this: the answer was for what it was before`;
  const asked = changed ? { ...question, details: details === null ? why : `${why}\n${details}` } : question;
  return { result: null, question: { question: asked, isNew: true } };
}

/** What the channel shows, also that of the turns which called this one: the person talks with the outermost. */
export function announceQuestion(turn: RunningTurn, { question }: AskedQuestion): TurnEvent {
  const event: TurnEvent = { type: 'approval-request', ...shownQuestion(question) };
  for (const caller of callers(turn.parent)) caller.events.push(event);
  return event;
}

/** A tool says that the agent which it runs waits for a person, and one does; or that whoever runs it elsewhere has not answered. */
function isSuspended(turn: RunningTurn, record: CallRecord, result: ToolResult): boolean {
  if (result.ok) return false;
  const { code } = result.error;
  if (code === 'awaiting_result') return toolOf(turn, record)?.elsewhere === true;
  return code === 'awaiting_approval' && turn.progress.suspended;
}

export function denied({ reason, by }: Pick<Approval, 'reason' | 'by'>): ToolResult {
  const why = reason ?? 'they gave no reason';
  const who = by === null ? 'no person approved it' : 'a person did not approve it';
  return toolError('approval_denied', `not run: ${who}: ${why}; do not try the same again unless they ask for it`);
}

function questionOf(turn: RunningTurn, { turnId, step, index, extensionId, tool, input }: CallRecord, asking: Ask): Question {
  const path = [...callers(turn)].reverse().map(({ record }): AskingTurn => {
    const startedBy = startersOf(record.policy);
    const { id: turnId, threadId: thread, agent } = record;
    return { agentId: agent.id, turnId, threadId: thread, ...(startedBy.length === 0 ? {} : { startedBy }) };
  });
  const { threadId, channelId, userId, correlationId } = turn.record;
  const createdAt = turn.deps.clock.now();
  return {
    id: questionId(ulid(createdAt)),
    turnId,
    step,
    index,
    rootThreadId: path[0]?.threadId ?? threadId,
    threadId,
    tool: `${extensionId}/${tool}`,
    input,
    digest: digestOf(input),
    number: 0, // is given when it is stored
    ...asking,
    always: coveredBy(asking, startersOfPath(path)),
    source: turn.deps.host.extensions.sourceOf(extensionId),
    path,
    channelId,
    userId,
    correlationId,
    createdAt,
    expiresAt: createdAt + OPEN_MS,
  };
}

/** What a person allows always in their own turns is not allowed to a turn that a stranger has begun, and the other way round. */
function coveredBy({ always }: Ask, starters: readonly string[]): string | null {
  return always === null || starters.length === 0 ? always : `${always} started by ${[...starters].sort().join(', ')}`;
}

/** Short enough to be typed: the part of the time that differs, and chance. */
function questionId(id: string): string {
  return `${id.slice(4, 10)}-${id.slice(-4)}`.toLowerCase();
}

/** Runs what the gate let through, side by side, and gives the results in the order of the calls; null: it waits for a person. Never fails for a tool's sake. */
export async function* runCalls(
  turn: RunningTurn,
  calls: readonly DecidedCall[],
  stored: Promise<void>[],
): AsyncGenerator<TurnEvent, readonly (ToolResult | null)[], undefined> {
  // Who fails waits for the others: what they did is answered as well.
  const running = Promise.allSettled(calls.map((call) => runOne(turn, call, stored))).then((ended) =>
    ended.map((each) => {
      if (each.status === 'rejected') throw each.reason;
      return each.value;
    }),
  );
  yield* turn.events.until(running);
  return running;
}

/** null: it waits for a person. */
async function runOne(turn: RunningTurn, call: DecidedCall, stored: Promise<void>[]): Promise<ToolResult | null> {
  const { record, question } = call;
  if (question) return null;
  const began = turn.deps.clock.now();
  const came = call.result ?? boundedResult(await callTool(turn, call));
  const store = (write: Promise<void>) => {
    write.catch(() => undefined); // reported when all are awaited; sibling calls may still run
    stored.push(write);
  };
  if (isSuspended(turn, record, came)) {
    if (record.effect === 'write') store(turn.writer.setCall(record, 'requested'));
    return null;
  }
  const result = call.result ?? (await afterGuards(call, came));
  if (record.state !== 'finished') store(turn.writer.finishCall(record, result, call.result === null ? began : undefined));
  if (!wasShown(turn, record)) {
    const { extensionId, tool } = record;
    const line = extensionId === '' ? undefined : await turn.deps.host.providers.tools.present(extensionId, tool, result);
    turn.events.push(resultEvent(turn, record, result, line));
  }
  return result;
}

async function afterGuards({ notifyGuards }: DecidedCall, result: ToolResult): Promise<ToolResult> {
  return notifyGuards === undefined ? result : notifyGuards(result);
}

/** A call that ended before its turn was suspended: its result has been shown. */
export function wasShown({ record: { state } }: RunningTurn, record: CallRecord): boolean {
  return state === 'awaiting_approval' && record.state === 'finished';
}

/** The key that every attempt at this call has. */
export function keyOf({ turnId, step, index }: Pick<CallRecord, 'turnId' | 'step' | 'index'>): string {
  return `${turnId}/${step}/${index}`;
}

async function callTool(turn: RunningTurn, { record, approved }: DecidedCall): Promise<ToolResult> {
  if (turn.signal.aborted) return toolError('aborted', 'not run: the turn was ended');
  const { clock, host } = turn.deps;
  const name = `${record.extensionId}/${record.tool}`;
  turn.progress.called.set(name, (turn.progress.called.get(name) ?? 0) + 1);
  const startedAt = clock.now();
  const { correlationId } = turn.offer.info;
  const idempotencyKey = keyOf(record);
  const { callId } = record;
  const about = { turn: turn.offer.info, idempotencyKey, callId, signal: turn.signal, ...(approved === undefined ? {} : { approved }) };
  const off = turn.deps.events.handle('tool.progressed', (shown) => {
    if (shown.extensionId !== record.extensionId || shown.idempotencyKey !== idempotencyKey) return;
    turn.events.push({ type: 'tool-output', id: record.callId, text: String(shown.text).slice(0, MOST_SHOWN) });
  });
  const asked = { ...record, input: structuredClone(record.input) }; // tools may change theirs; the model is sent what it asked for
  const call = () => runTool(host.providers.tools, turn.offer.all, asked, about).finally(off);
  const span = callSpan(turn, record);
  const result = await span.run(call);
  span.end(result);
  const { turnId, extensionId, tool } = record;
  turn.deps.events.publish('tool.called', { turnId, extensionId, tool, ok: result.ok, ms: clock.now() - startedAt, correlationId });
  return result;
}

/** Characters of what a tool shows at once. */
const MOST_SHOWN = 65_536;

function resultEvent(
  turn: RunningTurn,
  { callId: id, name }: CallRecord,
  result: ToolResult,
  line: string | undefined,
): Extract<TurnEvent, { type: 'tool-result' }> {
  const { title, metadata } = result;
  const at = turn.deps.clock.now();
  return result.ok
    ? { type: 'tool-result', id, name, ok: true, at, output: result.output, title, metadata, line, retain: result.retain }
    : { type: 'tool-result', id, name, ok: false, at, error: result.error, title, metadata, line, retain: undefined };
}

/** Characters of one result as JSON. Room for a part of a long skill file (1 MiB) and what is around it. */
const MOST = 1_310_720;
const HEAD = 65_536;
const TAIL = 16_384;
const MOST_OF_ERROR = 4_000;

/** A result that a row, a channel and a model can take: what is longer is cut to its head and tail, which say so, and is not kept. */
function boundedResult(result: ToolResult): ToolResult {
  if (!result.ok) {
    const { code, message } = result.error;
    return message.length <= MOST_OF_ERROR
      ? result
      : { ...result, error: { code, message: headAndTail(message, MOST_OF_ERROR - 500, 400) } };
  }
  const { output } = result;
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return text.length <= MOST ? result : { ...result, output: headAndTail(text, HEAD, TAIL), retain: undefined };
}
