import { nearest } from '../../contract/nearest.ts';
import { toolError } from '../../contract/tool.ts';
import type { JsonValue, Message, Retain, ToolResult, TurnEvent } from '../../contract/index.ts';
import type { CallRecord } from '../../threads/thread.ts';
import { needsApproval } from '../tools/approval.ts';
import { decide, digestOf } from '../tools/gate.ts';
import { spendCalls } from './family.ts';
import { callsLeft } from './limits.ts';
import { boundedResult } from './bounded-result.ts';
import { missingTools } from '../tools/missing-tools.ts';
import { resultPart } from './messages.ts';
import type { RawCall } from './step.ts';
import { withFixed } from '../tools/agent-tools.ts';
import type { AskedCall, RunningTurn } from './turn-types.ts';

/** A call and what the gate decided: `result` is there when it does not run. */
export interface DecidedCall {
  readonly record: CallRecord;
  readonly result: ToolResult | null;
}

/** Finds the tool and reads the input of each call. What cannot run carries its answer. */
export function readCalls(turn: RunningTurn, calls: readonly RawCall[]): readonly AskedCall[] {
  const taken = new Set<string>();
  return calls.map(({ callId: given, name, input: text }, index) => {
    // Some servers give parallel calls the same id, or none: results could not be told apart.
    const callId = given === '' || taken.has(given) ? `${given || 'call'}-${turn.steps}-${index}` : given;
    taken.add(callId);
    const tool = turn.toolsByName.get(name) ?? null;
    const input = parseInput(text);
    const problem = tool === null ? unknownTool(name, turn) : input === null ? invalidInput(name, text) : null;
    return { callId, name, tool, input: input ?? {}, problem };
  });
}

/** Sends each call through the gate, in the order in which the model asked. Waits only where a tool must be asked itself. */
export function decideCalls(
  turn: RunningTurn,
  step: number,
  asked: readonly AskedCall[],
): readonly DecidedCall[] | Promise<readonly DecidedCall[]> {
  const before = turn.calls;
  const most = before + callsLeft(turn).calls;
  spendCalls(turn, asked.length);
  let waits = false;
  const decided = asked.map((call, index) => {
    const record = recordOf(turn.record.id, step, index, call);
    const result = call.problem ?? refusal(turn, record, before + index, most);
    if (!(result instanceof Promise)) return { record, result };
    waits = true;
    return result.then((settled) => ({ record, result: settled }));
  });
  return waits ? Promise.all(decided) : (decided as readonly DecidedCall[]);
}

/** Runs what the gate let through, side by side; the message has the results in the order of the calls. Never rejects for a tool's sake. */
export async function runCalls(
  turn: RunningTurn,
  calls: readonly DecidedCall[],
): Promise<{ readonly message: Message; readonly retain: Readonly<Record<string, Retain>>; readonly stored: Promise<unknown> }> {
  const { threads } = turn.deps;
  const stored: Promise<void>[] = [];
  const finished = await Promise.all(
    calls.map(async ({ record, result: given }) => {
      const result = given ?? boundedResult(await callTool(turn, record));
      if (record.state !== 'finished') {
        const write = threads.finishCall(record.turnId, record.step, record.index, result);
        write.catch(() => undefined); // reported when all are awaited; sibling calls may still run
        stored.push(write);
      }
      turn.emit(await resultEvent(turn, record, result));
      return { record, result };
    }),
  );
  const retain: Record<string, Retain> = {};
  for (const { record, result } of finished) if (result.ok && result.retain) retain[record.callId] = result.retain;
  const message: Message = { role: 'tool', content: finished.map(({ record, result }) => resultPart(record.callId, record.name, result)) };
  return { message, retain, stored: Promise.all(stored) };
}

/** The key that every attempt at this call has. */
export function keyOf({ turnId, step, index }: Pick<CallRecord, 'turnId' | 'step' | 'index'>): string {
  return `${turnId}/${step}/${index}`;
}

/** Why a call does not run, or null when it may. `mostCalls`: how many this turn may make in all. */
export function refusal(
  turn: RunningTurn,
  record: CallRecord,
  callsBefore: number,
  mostCalls: number,
): ToolResult | null | Promise<ToolResult | null> {
  const tool = turn.toolsByName.get(record.name);
  if (tool === undefined || tool.descriptor.needsApproval !== 'maybe')
    return refuse(turn, record, callsBefore, mostCalls, tool?.descriptor.needsApproval === 'always');
  return needsApproval(turn.deps.extensions, tool, record.input).then((needed) => refuse(turn, record, callsBefore, mostCalls, needed));
}

function refuse(turn: RunningTurn, record: CallRecord, callsBefore: number, mostCalls: number, needed: boolean): ToolResult | null {
  const { policy } = turn.prepared;
  const { extensionId, tool } = record;
  const decision = decide({ extensionId, tool, needsApproval: needed, callsBefore, mostCalls, policy });
  if (decision.kind === 'allow') return null;
  if (decision.kind === 'refuse') return toolError(decision.code, decision.message);
  const digest = digestOf(record.input).slice(0, 12);
  return toolError(
    'approval_needed',
    `not run: ${decision.reason} (arguments ${digest}), and nobody can be asked here; tell the user what you wanted to do`,
  );
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

async function callTool(turn: RunningTurn, record: CallRecord): Promise<ToolResult> {
  if (turn.signal.aborted) return toolError('aborted', 'not run: the turn was ended');
  const { clock, extensions, events } = turn.deps;
  const name = `${record.extensionId}/${record.tool}`;
  turn.called.set(name, (turn.called.get(name) ?? 0) + 1);
  const startedAt = clock.now();
  const result = await extensions.callTool(
    record.extensionId,
    record.tool,
    record.input,
    { turn: turn.info, idempotencyKey: keyOf(record) },
    turn.signal,
  );
  events.publish('tool.called', {
    turnId: record.turnId,
    extensionId: record.extensionId,
    tool: record.tool,
    ok: result.ok,
    ms: clock.now() - startedAt,
    correlationId: turn.info.correlationId,
  });
  return result;
}

async function resultEvent(turn: RunningTurn, { callId: id, name, extensionId, tool }: CallRecord, result: ToolResult): Promise<TurnEvent> {
  const line = extensionId === '' ? undefined : await turn.deps.extensions.presentTool(extensionId, tool, result);
  const outcome = result.ok ? { output: result.output } : { error: result.error };
  const { title, metadata } = result;
  const retain = result.ok ? result.retain : undefined;
  return { type: 'tool-result', id, name, ok: result.ok, at: turn.deps.clock.now(), ...outcome, title, metadata, line, retain };
}

/** null when the text is no JSON object. Models write nothing at all for a tool without arguments. */
function parseInput(text: string): JsonValue {
  if (text.trim() === '') return {};
  try {
    const value = JSON.parse(text) as JsonValue;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null; // the model is told, and may try again
  }
}

const SHOWN_INPUT = 200;

function invalidInput(name: string, text: string): ToolResult {
  const shown = text.length > SHOWN_INPUT ? `${text.slice(0, SHOWN_INPUT)}…` : text;
  return toolError('tool_input_invalid', `the input of '${name}' is not a JSON object: ${shown}`);
}

function unknownTool(name: string, turn: RunningTurn): ToolResult {
  const names = [...turn.toolsByName.keys()];
  const close = nearest(name, names);
  const hint =
    close.length > 0
      ? `; the nearest are ${close.join(', ')}`
      : names.length > 0
        ? `; there are ${names.slice(0, 20).join(', ')}`
        : '; this agent has no tools';
  return toolError('tool_unknown', `there is no tool '${name}'${hint}${missingTools(turn.prepared.spec, turn.deps.extensions)}`);
}
