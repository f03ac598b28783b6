import {
  type Tool,
  type ApprovalQuestion,
  isToolResult,
  type JsonValue,
  messageOf,
  PithError,
  type ToolCall,
  toolError,
  type ToolResult,
  type TurnInfo,
} from '../../contract/index.ts';
import { knownKeys, pathText, unreadKeys } from '@pith/checked-yaml';
import { printableLine, slipsOf, withCure } from '@pith/plain-text';
import { FAULTS, Problem } from '../records/failures.ts';
import { describeIssues, isSchema } from './schemas.ts';
import { isPlainMap } from '@pith/plain-data';
import type { z } from 'zod';
import { checkedImages } from './images.ts';
import { toJsonValue } from './json-value.ts';

/** What the kernel keeps of a tool: plain data. */
export interface ToolDescriptor {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly effect: NonNullable<Tool['effect']>;
  /** `maybe` means that the tool must be asked with the input. */
  readonly needsApproval: 'never' | 'always' | 'maybe';
  readonly timeoutMs: number;
  readonly optIn: boolean;
  /** It runs an agent in a thread of its own. */
  readonly runsAgent?: true;
  /** It also stands for each agent with `integration_mode: tool` that its caller may call. */
  readonly agentTools?: true;
  /** It gives its name up for a tool that ships. */
  readonly overridable?: true;
  readonly permission: NonNullable<Tool['permission']>;
}

export const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
export const DEFAULT_TOOL_MS = 20_000;

/** What `tool.describe` answers. */
export interface DescribedTools {
  readonly tools: readonly ToolDescriptor[];
  /** Properties whose type a JSON Schema cannot say. */
  readonly warnings: readonly string[];
}

/** What the kernel keeps of an extension's tools. Throws `tool_name_invalid` for bad and doubled names. Needs zod. */
export async function describeTools(list: readonly Tool[]): Promise<{ byName: Map<string, Tool>; described: DescribedTools }> {
  const { z: zod } = await import('zod');
  const byName = new Map<string, Tool>();
  const tools: ToolDescriptor[] = [];
  const warnings: string[] = [];
  if (!Array.isArray(list)) throw new Problem('initialize', 'provides_mismatch', 'getTools() did not return a list of tools');
  for (const tool of list as readonly Tool[]) {
    check(tool, byName);
    byName.set(tool.name, tool);
    const inputSchema = tool.inputSchema ?? zod.toJSONSchema(tool.input, { io: 'input', unrepresentable: 'any' });
    for (const path of tool.inputSchema ? [] : shapeless(inputSchema))
      warnings.push(`tool '${tool.name}': the model does not learn what '${path}' must be, because JSON Schema cannot say it`);
    tools.push(describe(tool, inputSchema));
  }
  return { byName, described: { tools, warnings } };
}

function check(tool: Tool | undefined, known: ReadonlyMap<string, Tool>): void {
  const name = String(tool?.name);
  if (!TOOL_NAME.test(name)) {
    throw new Problem('initialize', 'tool_name_invalid', `'${name}' cannot be the name of a tool`, {
      cure: 'use 1 to 64 letters, digits, _ and -',
    });
  }
  if (known.has(name))
    throw new Problem('initialize', 'tool_name_invalid', `two tools are named '${name}'`, { cure: 'rename one of them' });
  if (!isSchema(tool?.input) || typeof tool.execute !== 'function') {
    const message = `tool '${name}' lacks ${isSchema(tool?.input) ? 'execute(input, call)' : 'input: a zod schema'}`;
    throw new Problem('initialize', 'provides_mismatch', message, { cure: 'make tools with defineTool' });
  }
}

function describe(tool: Tool, inputSchema: Readonly<Record<string, unknown>>): ToolDescriptor {
  const { $schema: _, ...schema } = inputSchema as { $schema?: unknown } & Record<string, unknown>;
  return {
    name: tool.name,
    description: String(tool.description ?? ''),
    inputSchema: schema,
    effect: tool.effect ?? 'write',
    needsApproval: typeof tool.needsApproval === 'function' ? 'maybe' : tool.needsApproval ? 'always' : 'never',
    timeoutMs: tool.timeoutMs ?? DEFAULT_TOOL_MS,
    optIn: tool.optIn ?? false,
    ...(tool.runsAgent === true || tool.agentTools === true ? { runsAgent: true } : {}),
    ...(tool.agentTools === true ? { agentTools: true } : {}),
    ...(tool.overridable === true ? { overridable: true } : {}),
    permission: tool.permission ?? {},
  };
}

/** What saved skills must observe that name a tool: as it says, else what is safe. */
export function requirementsOf(effect: ToolDescriptor['effect'], permission: ToolDescriptor['permission']): Requirements {
  return { authoring: effect === 'read' ? 'anyone' : 'admin', safeToShare: false, ...permission };
}

type Requirements = ToolDescriptor['permission'] & Required<Pick<ToolDescriptor['permission'], 'authoring' | 'safeToShare'>>;

/** Paths of properties whose schema is `{}`, by accident or by z.unknown(). */
function shapeless(schema: unknown, path: readonly string[] = []): readonly string[] {
  const properties = (schema as { properties?: Readonly<Record<string, object>> } | null)?.properties ?? {};
  return Object.entries(properties).flatMap(([name, property]) => {
    const keys = Object.keys(property).filter((key) => key !== 'description' && key !== 'default');
    return keys.length === 0 ? [[...path, name].join('.')] : shapeless(property, [...path, name]);
  });
}

/** The part of a tool call that runs where the tool lives: parse, execute, normalise. Rejects only with a fault that `execute` threw. */
export async function executeTool(tool: Tool, input: JsonValue, asked: Omit<ToolCall, 'signal'>, signal: AbortSignal): Promise<ToolResult> {
  const parsed = await parseInput(tool.input, input);
  if (!parsed.success) return toolError('tool_input_invalid', describeInput(tool, parsed.error.issues, input));
  const answer = await answerOf(() => tool.execute(parsed.data, { ...asked, signal }), signal);
  return withNote(normalise(answer), ignoredNote(tool.input, input));
}

/** A tool refuses a call by throwing a `PithError`: the model gets its code, message and cure. */
async function answerOf(execute: () => unknown, signal: AbortSignal): Promise<unknown> {
  try {
    return await execute();
  } catch (error) {
    if (signal.aborted || !(error instanceof PithError) || FAULTS.has(error.code)) throw error;
    return toolError(error.code, withCure(messageOf(error), error.cure));
  }
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

/**
 * As the tool wrote it, with fields of their types; short texts are one printable line. A subject or a key that is too long could be another's
 * beginning, so that `always` is not offered.
 */
export function questionOf({ summary, text, enforced, subject, always, once }: ApprovalQuestion): ApprovalQuestion {
  const named = [subject, always?.key].flatMap((name) => (name === undefined ? [] : [String(name)]));
  const isOnce = once === true || always?.key === '' || named.some((name) => name.length > MOST_SUBJECT);
  return {
    ...(summary === undefined ? {} : { summary: shortLine(summary) }),
    text: String(text),
    ...(enforced === undefined ? {} : { enforced: shortLine(enforced) }),
    ...(subject === undefined ? {} : { subject: String(subject).slice(0, MOST_SUBJECT) }),
    ...(always === undefined || isOnce ? {} : { always: { key: String(always.key), covers: shortLine(always.covers) } }),
    ...(isOnce ? { once: true } : {}),
  };
}

const MOST_SUBJECT = 1024;
/** Characters of what is in one line of a question. */
const MOST_OF_LINE = 200;

function shortLine(text: string): string {
  return printableLine(String(text), MOST_OF_LINE);
}

/** Why this input does not parse, without running anything; null when it does. */
export async function refusalOf(tool: Tool, input: JsonValue): Promise<string | null> {
  const parsed = await parseInput(tool.input, input);
  return parsed.success ? null : describeInput(tool, parsed.error.issues, input);
}

function normalise(value: unknown): ToolResult {
  if (!isToolResult(value)) return { ok: true, output: toJsonValue(value, 'the result') };
  const extra = {
    ...(value.title === undefined ? {} : { title: String(value.title) }),
    ...(value.metadata === undefined ? {} : { metadata: toJsonValue(value.metadata, 'the metadata') }),
  };
  if (!value.ok) return { ok: false, error: { code: String(value.error.code), message: String(value.error.message) }, ...extra };
  const retain = value.retain === undefined ? {} : { retain: { key: String(value.retain.key), digest: String(value.retain.digest) } };
  const output = toJsonValue(value.output, 'the result');
  const { images, leftOut } = checkedImages(Array.isArray(value.images) ? value.images : []);
  // An image that no model takes costs itself only.
  const said = leftOut.length === 0 ? output : [typeof output === 'string' ? output : JSON.stringify(output), ...leftOut].join('\n');
  return { ok: true, output: said, ...extra, ...retain, ...(images.length === 0 ? {} : { images }) };
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

function describeInput({ name, input: schema }: Tool, issues: readonly z.core.$ZodIssue[], input: JsonValue): string {
  const findings = describeIssues(issues.slice(0, MOST_FINDINGS), schema, input).map(({ message }) =>
    message.replace(/^the file\b/u, 'the input'),
  );
  return [`input of '${name}' is not valid: ${findings.join('; ')}`, ignoredNote(schema, input)].filter((part) => part !== null).join('; ');
}

const MOST_FINDINGS = 10;

/** Arguments that the tool does not know: models send many, so that a call is not refused for them. null: there is none. */
function ignoredNote(schema: z.ZodType, input: JsonValue): string | null {
  const ignored = unreadKeys(schema, input)
    .slice(0, MOST_FINDINGS)
    .map((path) => {
      const known = knownKeys(schema, path.slice(0, -1));
      const [meant] = slipsOf(printableLine(String(path.at(-1)), 80), known, 2); // a word that is merely near to one would lead astray
      return { name: `'${printableLine(pathText(path), 160)}'`, known: known.join(', ') || 'none', meant };
    });
  if (ignored.length === 0) return null;
  const meant = ignored.flatMap((each) => (each.meant === undefined ? [] : [`'${each.meant}'`]));
  const hint =
    meant.length === ignored.length
      ? `did you mean ${[...new Set(meant)].join(', ')}?`
      : `known: ${[...new Set(ignored.map(({ known }) => known))].join('; ')}`;
  const [what, were] = ignored.length === 1 ? ['argument', 'was'] : ['arguments', 'were'];
  return `unknown ${what} ${ignored.map(({ name }) => name).join(', ')} ${were} ignored (${hint})`;
}

/** The model, and whoever calls by hand, reads the note with the result. */
function withNote(result: ToolResult, note: string | null): ToolResult {
  if (note === null) return result;
  if (!result.ok) return { ...result, error: { ...result.error, message: `${result.error.message}; ${note}` } };
  const { output } = result;
  if (isPlainMap(output)) {
    const own = output['note'] ?? '';
    const both = own === '' ? note : `${typeof own === 'string' ? own : JSON.stringify(own)}; ${note}`;
    return { ...result, output: { ...output, note: both } };
  }
  return { ...result, output: `${typeof output === 'string' ? output : JSON.stringify(output)}\n[${note}]` };
}

/** What the model gets when a tool did not answer by itself. */
export function resultOfError(error: unknown, redact: (text: string) => string): ToolResult {
  const code = error instanceof PithError && KEPT_CODES.has(error.code) ? error.code : 'tool_failed';
  return { ok: false, error: { code, message: redact(messageOf(error)) } };
}

const KEPT_CODES = new Set(['not_serialisable', 'tool_timeout', 'tool_gone', 'aborted', 'interrupted']);
