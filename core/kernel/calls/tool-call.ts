import type { z } from 'zod';
import {
  type ApprovalQuestion,
  isToolResult,
  type JsonValue,
  messageOf,
  PithError,
  type Tool,
  type ToolCall,
  toolError,
  type ToolResult,
  type TurnInfo,
} from '../../contract/index.ts';
import { toJsonValue } from './json-value.ts';

/** The part of a tool call that runs where the tool lives: parse, execute, normalise. Rejects only with what `execute` threw. */
export async function executeTool(
  tool: Tool,
  input: JsonValue,
  { turn, idempotencyKey, approved }: Omit<ToolCall, 'signal'>,
  signal: AbortSignal,
): Promise<ToolResult> {
  const parsed = await parseInput(tool.input, input);
  if (!parsed.success) return toolError('tool_input_invalid', describeInput(tool.name, parsed.error.issues));
  const call = { turn, idempotencyKey, signal, ...(approved === undefined ? {} : { approved }) };
  return normalise(await tool.execute(parsed.data, call));
}

/** What `needsApproval` says to this input; an input that does not parse needs none, because the call will refuse it. */
export async function asksApproval(tool: Tool, input: JsonValue, turn: TurnInfo): Promise<boolean | string | ApprovalQuestion> {
  if (typeof tool.needsApproval !== 'function') return tool.needsApproval ?? false;
  const parsed = await parseInput(tool.input, input);
  if (!parsed.success) return false;
  const said = await tool.needsApproval(parsed.data, turn);
  if (typeof said !== 'object' || said === null) return typeof said === 'string' ? said : said === true;
  return questionOf(said);
}

/** As the tool wrote it, with fields of their types. What is agreed to is a digest or a name: a longer one could be another's beginning, so that nothing is agreed to for always. */
export function questionOf({ text, subject, once }: ApprovalQuestion): ApprovalQuestion {
  const isBounded = subject === undefined || String(subject).length <= MOST_SUBJECT;
  return {
    text: String(text),
    ...(subject === undefined ? {} : { subject: String(subject).slice(0, MOST_SUBJECT) }),
    ...(once === true || !isBounded ? { once: true } : {}),
  };
}

const MOST_SUBJECT = 1024;

/** Why this input does not parse, without running anything; null when it does. */
export async function refusalOf(tool: Tool, input: JsonValue): Promise<string | null> {
  const parsed = await parseInput(tool.input, input);
  return parsed.success ? null : describeInput(tool.name, parsed.error.issues);
}

function normalise(value: unknown): ToolResult {
  if (!isToolResult(value)) return { ok: true, output: toJsonValue(value, 'the result') };
  const extra = {
    ...(value.title === undefined ? {} : { title: String(value.title) }),
    ...(value.metadata === undefined ? {} : { metadata: toJsonValue(value.metadata, 'the metadata') }),
  };
  if (!value.ok) return { ok: false, error: { code: String(value.error.code), message: String(value.error.message) }, ...extra };
  const retain = value.retain === undefined ? {} : { retain: { key: String(value.retain.key), digest: String(value.retain.digest) } };
  return { ok: true, output: toJsonValue(value.output, 'the result'), ...extra, ...retain };
}

async function parseInput(schema: z.ZodType, input: JsonValue): Promise<z.ZodSafeParseResult<unknown>> {
  try {
    return schema.safeParse(input);
  } catch (error) {
    // A schema with asynchronous checks says so by throwing; anything else thrown is the schema's own fault.
    if (error instanceof Error && /async/i.test(`${error.constructor.name} ${error.message}`)) return schema.safeParseAsync(input);
    throw error;
  }
}

function describeInput(name: string, issues: readonly z.core.$ZodIssue[]): string {
  const findings = issues
    .slice(0, 10)
    .map((issue) => `${issue.path.length === 0 ? 'the input' : `'${issue.path.map(String).join('.')}'`}: ${issue.message}`);
  return `input of '${name}' is not valid: ${findings.join('; ')}`;
}

/** What the model is told when a tool did not answer by itself. */
export function resultOfError(error: unknown, redact: (text: string) => string): ToolResult {
  const code = error instanceof PithError && KEPT_CODES.has(error.code) ? error.code : 'tool_failed';
  return { ok: false, error: { code, message: redact(messageOf(error)) } };
}

const KEPT_CODES = new Set(['not_serialisable', 'tool_timeout', 'tool_gone', 'aborted', 'interrupted']);
