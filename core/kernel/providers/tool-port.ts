import { type ApprovalQuestion, type JsonValue, PithError, type ToolCall, type ToolResult, type TurnInfo } from '../../contract/index.ts';
import type { ToolDescriptor } from '../records/extensions-port.ts';

import { invoke, recordCall } from '../calls/invoke.ts';
import { unavailable, type Lifecycle } from '../lifecycle/lifecycle.ts';
import { questionOf, resultOfError } from '../calls/tool-call.ts';

const ASK_MS = 1000;
/** For what a person is asked: the tool reads and compares the files that they agree to. */
const QUESTION_MS = 5000;
/** Of what a tool wants a person to read, in characters. */
const MOST_SAID = 1024 * 1024;

/** Descriptors, from the version that runs or from the index; loads the extension only when neither knows. */
export async function toolsOf(lifecycle: Lifecycle, extensionId: string): Promise<readonly ToolDescriptor[]> {
  const slot = lifecycle.slots.get(extensionId);
  if (!slot) throw unavailable(extensionId, 'nothing declares it');
  if (slot.pending) await slot.pending;
  const why = lifecycle.reason(slot);
  if (why !== undefined) throw unavailable(extensionId, why);
  if (!slot.declaration.manifest?.provides.includes('tool')) return [];
  return (lifecycle.descriptorOf(slot) ?? (await lifecycle.ready(slot)).surface.descriptor).tools;
}

/** The same as far as they are known without loading anything. */
export function knownTools(lifecycle: Lifecycle, extensionId: string): readonly ToolDescriptor[] {
  const slot = lifecycle.slots.get(extensionId);
  return (slot && lifecycle.descriptorOf(slot)?.tools) ?? [];
}

/** Never rejects. */
export async function callTool(
  lifecycle: Lifecycle,
  extensionId: string,
  tool: string,
  input: JsonValue,
  call: Omit<ToolCall, 'signal'>,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { runtime } = lifecycle;
  const slot = lifecycle.slots.get(extensionId);
  try {
    const generation = slot && (slot.current ?? (await lifecycle.ready(slot).catch(gone)));
    const descriptor = generation?.surface.descriptor.tools.find(({ name }) => name === tool);
    if (!generation || !descriptor) throw new PithError('tool_gone', `'${extensionId}' has no tool '${tool}' any more`);
    const { timeoutMs } = descriptor;
    const result = await invoke(lifecycle, generation, {
      operation: 'tool.execute',
      values: [tool, input, call],
      timeoutMs,
      signal,
      phase: 'tool call',
    });
    return runtime.secrets.redactJson(result as ToolResult & JsonValue) as ToolResult;
  } catch (error) {
    if (!(error instanceof PithError && error.code === 'tool_gone'))
      recordCall(runtime, { extensionId, phase: 'tool call', correlationId: call.turn.correlationId }, error);
    return resultOfError(error, runtime.secrets.redact);
  }
}

/** Fails closed: a tool that cannot be asked needs approval. */
export async function needsApproval(
  lifecycle: Lifecycle,
  extensionId: string,
  tool: string,
  input: JsonValue,
  turn: TurnInfo,
): Promise<boolean | string | ApprovalQuestion> {
  const slot = lifecycle.slots.get(extensionId);
  if (!slot) return false;
  try {
    const said = await invoke(lifecycle, await lifecycle.ready(slot), {
      operation: 'tool.needsApproval',
      values: [tool, input, turn],
      timeoutMs: QUESTION_MS,
      signal: undefined,
      phase: 'tool call',
    });
    const readable = (text: string): string => lifecycle.runtime.secrets.redact(bounded(text));
    if (typeof said === 'string') return readable(said);
    if (typeof said === 'boolean') return said;
    if (!isQuestion(said)) throw new PithError('tool_failed', `'${tool}' did not say in a known form whether it needs approval`);
    const question = questionOf(said);
    return { ...question, text: readable(question.text) };
  } catch (error) {
    recordCall(lifecycle.runtime, { extensionId, phase: 'tool call' }, error);
    return { text: 'the tool could not say what this call would do', once: true };
  }
}

/** Where the tool cannot say, null: a person decides then. */
export async function refusal(lifecycle: Lifecycle, extensionId: string, tool: string, input: JsonValue): Promise<string | null> {
  const slot = lifecycle.slots.get(extensionId);
  if (!slot) return null;
  try {
    const said = await invoke(lifecycle, await lifecycle.ready(slot), {
      operation: 'tool.refusal',
      values: [tool, input],
      timeoutMs: ASK_MS,
      signal: undefined,
      phase: 'tool call',
    });
    return typeof said === 'string' ? lifecycle.runtime.secrets.redact(bounded(said)) : null;
  } catch (error) {
    recordCall(lifecycle.runtime, { extensionId, phase: 'tool call' }, error);
    return null;
  }
}

/** Never rejects: a tool that cannot say its line has none. */
export async function presentTool(
  lifecycle: Lifecycle,
  extensionId: string,
  tool: string,
  result: ToolResult,
): Promise<string | undefined> {
  const generation = lifecycle.slots.get(extensionId)?.current;
  if (!generation) return undefined;
  try {
    const line = await invoke(lifecycle, generation, {
      operation: 'tool.present',
      values: [tool, result],
      timeoutMs: ASK_MS,
      signal: undefined,
      phase: 'tool call',
    });
    return typeof line === 'string' ? lifecycle.runtime.secrets.redact(line) : undefined;
  } catch (error) {
    recordCall(lifecycle.runtime, { extensionId, phase: 'tool call' }, error);
    return undefined;
  }
}

function isQuestion(said: unknown): said is ApprovalQuestion {
  const { text, subject } = (typeof said === 'object' && said !== null ? said : {}) as Partial<ApprovalQuestion>;
  return typeof text === 'string' && (subject === undefined || typeof subject === 'string');
}

function bounded(said: string): string {
  const rest = said.length - MOST_SAID;
  return rest > 0 ? `(${rest} characters at its end are not shown)\n${said.slice(0, MOST_SAID)}` : said;
}

function gone(error: unknown): never {
  throw new PithError('tool_gone', error instanceof Error ? error.message : String(error), { cause: error });
}
