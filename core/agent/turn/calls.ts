import { nearest } from '@pith/plain-text';
import { inputProblem } from '../../kernel/index.ts';
import { type JsonValue, toolError, type ToolResult, type TurnEvent } from '../../contract/index.ts';
import { type CallRecord, decisionFrom, startersOfPath, type Approval, type AskingTurn, type Question, OPEN_MS } from '../threads/index.ts';
import { needsApproval, decide, type Ask, digestOf } from '../tools/gate.ts';
import { spendCalls, callsLeft, callers } from './call-tree.ts';
import type { RawCall } from './step.ts';
import { withFixed, missingTools, type OfferedTool } from '../tools/tools.ts';
import type { AskedCall, RunningTurn } from './running-turn.ts';
import { ulid } from 'ulid';
import { startersOf } from './foreign-turn.ts';

/** A call and what the gate decided. */
export interface DecidedCall extends CallDecision {
  readonly record: CallRecord;
}

/** Finds the tool and reads the input of each call. What cannot run carries its answer. */
export function readCalls(turn: RunningTurn, calls: readonly RawCall[]): readonly AskedCall[] {
  const taken = new Set<string>();
  return calls.map(({ callId: given, name, input: text }, index) => {
    // Some servers give parallel calls the same id, or none: results could not be told apart.
    const callId = given === '' || taken.has(given) ? `${given || 'call'}-${turn.progress.steps}-${index}` : given;
    taken.add(callId);
    const tool = turn.offer.toolsByName.get(name) ?? null;
    const read = parseInput(text);
    const problem = tool === null ? unknownTool(name, turn) : 'why' in read ? invalidInput(name, read.why) : null;
    return { callId, name, tool, input: 'why' in read ? {} : read.input, problem };
  });
}

/** Sends each call through the gate, in the order in which the model asked. */
export function decideCalls(turn: RunningTurn, step: number, asked: readonly AskedCall[]): Promise<readonly DecidedCall[]> {
  const before = turn.progress.calls;
  const most = before + callsLeft(turn).calls;
  spendCalls(turn, asked.length);
  return Promise.all(
    asked.map(async (call, index): Promise<DecidedCall> => {
      const record = recordOf(turn.record.id, step, index, call);
      if (call.problem) return { record, result: call.problem, question: null };
      return { record, ...(await decideCall(turn, record, before + index, most)) };
    }),
  );
}

/** The tool that a recorded call is for: by its name, or, where names have changed since it was asked for, by what it is. */
export function toolOf({ offer }: RunningTurn, { name, extensionId, tool }: CallRecord): OfferedTool | undefined {
  const isIt = (each: OfferedTool) => each.extensionId === extensionId && each.descriptor.name === tool;
  const found = offer.toolsByName.get(name);
  return found && isIt(found) ? found : [...offer.toolsByName.values()].find(isIt);
}

/** What the gate says of a call. `mostCalls`: how many this turn may make in all. */
export async function decideCall(turn: RunningTurn, record: CallRecord, callsBefore: number, mostCalls: number): Promise<CallDecision> {
  const { deps, plan } = turn;
  const { extensionId, tool, input } = record;
  const offered = toolOf(turn, record);
  if (offered?.descriptor.needsApproval === 'maybe') await deps.hooks?.begin(extensionId, turn.offer.info);
  const needed = offered !== undefined && (await needsApproval(deps, offered, input, plan.info));
  const decision = decide({ extensionId, tool, needsApproval: needed !== false, callsBefore, mostCalls, policy: plan.policy });
  if (typeof decision === 'object') return { result: toolError(decision.code, decision.message), question: null };
  if (needed === false) return RUNS;
  // Nobody is asked about a call that its tool will refuse; the kernel refuses it then, whatever the tool would do.
  const refused = await deps.host.providers.tools.refusal(extensionId, tool, input);
  return refused === null ? decisionOf(turn, record, needed) : { result: toolError('tool_input_invalid', refused), question: null };
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

/** Models write nothing at all for a tool without arguments. What is wrong is told to the model, which may try again. */
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

function invalidInput(name: string, why: string): ToolResult {
  return toolError('tool_input_invalid', `the input of '${name}' ${why}`);
}

function unknownTool(name: string, turn: RunningTurn): ToolResult {
  const names = [...turn.offer.toolsByName.keys()];
  const close = nearest(name, names);
  const hint =
    close.length > 0
      ? `; the nearest are ${close.join(', ')}`
      : names.length > 0
        ? `; there are ${names.slice(0, 20).join(', ')}`
        : '; this agent has no tools';
  return toolError('tool_unknown', `there is no tool '${name}'${hint}${missingTools(turn.plan.spec, turn.deps.host.extensions)}`);
}

/** What the gate says of a call: it runs, it does not with `result`, or a person is asked first. */
export interface CallDecision {
  readonly result: ToolResult | null;
  readonly question: AskedQuestion | null;
  /** What a person agreed to beside the input. */
  readonly approved?: string;
}

export interface AskedQuestion {
  readonly question: Question;
  /** It has not been written yet. */
  readonly isNew: boolean;
}

export const RUNS: CallDecision = { result: null, question: null };

/** The answer that a person gave to this very call or for its tool, or the question that they are to be asked. */
export async function decisionOf(turn: RunningTurn, record: CallRecord, asking: Ask): Promise<CallDecision> {
  const question = questionOf(turn, record, asking);
  const { details, subject } = question;
  const { decision, changed } = decisionFrom(await turn.deps.approvals.answersFor(question), question);
  if (decision === null) {
    const what = changed === 'subject' ? 'what would run' : `the extension '${record.extensionId}'`;
    const why = `${what} has changed since you approved this: the answer was for what it was before`;
    const told = changed ? { ...question, details: details === null ? why : `${why}\n${details}` } : question;
    return { result: null, question: { question: told, isNew: true } };
  }
  if (decision.answer === null) return { result: null, question: { question: decision, isNew: false } };
  if (decision.answer === 'no') return { result: denied(decision), question: null };
  return subject === null ? RUNS : { ...RUNS, approved: subject };
}

/** What the channel is told, also that of the turns which called this one: the person talks with the outermost. */
export function announceQuestion(turn: RunningTurn, { question }: AskedQuestion): TurnEvent {
  const { id, tool, input, digest, path, rootThreadId: thread, details, always } = question;
  const startedBy = startersOfPath(path);
  const event: TurnEvent = {
    type: 'approval-request',
    id,
    tool,
    input,
    digest,
    agents: path.map(({ agentId }) => agentId),
    thread,
    ...(startedBy.length === 0 ? {} : { startedBy }),
    ...(details === null ? {} : { details }),
    ...(always === null ? { once: true } : {}),
  };
  for (const caller of callers(turn.parent)) caller.events.push(event);
  return event;
}

/** A tool says that the agent which it runs waits for a person, and one does. */
export function isSuspended(turn: RunningTurn, result: ToolResult): boolean {
  return !result.ok && result.error.code === 'awaiting_approval' && turn.progress.suspended;
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
    details: asking.text,
    subject: asking.subject,
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
