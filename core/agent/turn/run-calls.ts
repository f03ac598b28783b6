import { type Message, type Retain, toolError, type ToolResult, type TurnEvent } from '../../contract/index.ts';
import { startSpan } from '../../durable/index.ts';
import type { CallRecord } from '../threads/index.ts';
import { isSuspended, type DecidedCall } from './calls.ts';
import { resultPart } from '../prompt/messages.ts';
import type { RunningTurn } from './running-turn.ts';
import { headAndTail } from '@pith/plain-text';

/** What came of the calls of a step. */
export interface RanCalls {
  /** The results in the order of the calls; null when one of them waits for a person. */
  readonly message: Message | null;
  readonly retain: Readonly<Record<string, Retain>>;
  /** What is being written of them. */
  readonly stored: Promise<void>[];
}

/** Runs what the gate let through, side by side. Never fails for a tool's sake. */
export async function* runCalls(turn: RunningTurn, calls: readonly DecidedCall[]): AsyncGenerator<TurnEvent, RanCalls, undefined> {
  const stored: Promise<void>[] = [];
  const running = Promise.all(calls.map((call) => runOne(turn, call, stored)));
  yield* turn.events.until(running);
  return ranCalls(await running, stored);
}

/** null: it waits for a person. */
type Finished = { readonly record: CallRecord; readonly result: ToolResult } | null;

async function runOne(turn: RunningTurn, call: DecidedCall, stored: Promise<void>[]): Promise<Finished> {
  const { record, result: given, question, approved } = call;
  if (question) return null;
  return finish(turn, record, given ?? boundedResult(await callTool(turn, record, approved)), stored);
}

async function finish(turn: RunningTurn, record: CallRecord, result: ToolResult, stored: Promise<void>[]): Promise<Finished> {
  const { writer } = turn;
  const store = (write: Promise<void>) => {
    write.catch(() => undefined); // reported when all are awaited; sibling calls may still run
    stored.push(write);
  };
  if (isSuspended(turn, result)) {
    if (record.effect === 'write') store(writer.setCall(record, 'requested'));
    return null;
  }
  if (record.state !== 'finished') store(writer.finishCall(record, result));
  if (!wasShown(turn, record)) {
    const { extensionId, tool } = record;
    const line = extensionId === '' ? undefined : await turn.deps.host.providers.tools.present(extensionId, tool, result);
    turn.events.push(resultEvent(turn, record, result, line));
  }
  return { record, result };
}

function ranCalls(finished: readonly Finished[], stored: Promise<void>[]): RanCalls {
  const retain: Record<string, Retain> = {};
  const content = finished.flatMap((each) => {
    if (each === null) return [];
    const { record, result } = each;
    if (result.ok && result.retain) retain[record.callId] = result.retain;
    return resultPart(record.callId, record.name, result);
  });
  return { message: finished.includes(null) ? null : { role: 'tool', content }, retain, stored };
}

/** A call that ended before its turn was suspended: its result has been shown. */
export function wasShown({ record: { state } }: RunningTurn, record: CallRecord): boolean {
  return state === 'awaiting_approval' && record.state === 'finished';
}

/** The key that every attempt at this call has. */
export function keyOf({ turnId, step, index }: Pick<CallRecord, 'turnId' | 'step' | 'index'>): string {
  return `${turnId}/${step}/${index}`;
}

async function callTool(turn: RunningTurn, record: CallRecord, approved: string | undefined): Promise<ToolResult> {
  if (turn.signal.aborted) return toolError('aborted', 'not run: the turn was ended');
  const { clock, host } = turn.deps;
  const name = `${record.extensionId}/${record.tool}`;
  turn.progress.called.set(name, (turn.progress.called.get(name) ?? 0) + 1);
  const startedAt = clock.now();
  const { correlationId } = turn.offer.info;
  const idempotencyKey = keyOf(record);
  const about = { turn: turn.offer.info, idempotencyKey, signal: turn.signal, ...(approved === undefined ? {} : { approved }) };
  await turn.deps.hooks?.begin(record.extensionId, turn.offer.info);
  const call = () => host.providers.tools.call(record.extensionId, record.tool, record.input, about);
  const span = startSpan({
    name: `execute_tool ${record.name}`,
    correlationId,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name, 'gen_ai.tool.call.id': record.callId },
    parent: turn.span,
  });
  const result = await span.run(call);
  span.end({ 'error.type': result.ok ? undefined : result.error.code }, result.ok ? undefined : result.error.message);
  const { turnId, extensionId, tool } = record;
  turn.deps.events.publish('tool.called', { turnId, extensionId, tool, ok: result.ok, ms: clock.now() - startedAt, correlationId });
  return result;
}

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

/** Characters of one result as JSON. Room for a part of a long skill file (1 MiB) and what stands around it. */
const MOST = 1_310_720;
const HEAD = 65_536;
const TAIL = 16_384;
const MOST_OF_ERROR = 4_000;

/** A result that a row, a channel and a model can take: what is longer is cut to its head and tail, which say so, and is not kept. */
export function boundedResult(result: ToolResult): ToolResult {
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
