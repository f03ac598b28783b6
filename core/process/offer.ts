import { fieldsOf } from '@pith/plain-data';
import { type JsonValue, PithError, toolError, type ToolResult, toolResult } from '../contract/index.ts';
import { KERNEL_PROTOCOLS } from '../declarations/index.ts';
import {
  type ToolDescriptor,
  toJsonValue,
  DEFAULT_TIMEOUT_MS as PROVIDER_TIMEOUT_MS,
  DEFAULT_TOOL_MS,
  TOOL_NAME,
  KERNEL_OPERATIONS,
  TURN_TOOLS,
  type OperationFacts,
  type DescribedTools,
  Problem,
} from '../kernel/index.ts';
import { cutText, givenTexts } from './crossing.ts';
import type { Offer } from './setup.ts';

const MOST_TOOLS = 1000;
const MOST_OPERATIONS = 1000;
const MOST_WARNINGS = 50;
const MOST_WARNING = 2000;
const MOST_CONSTANTS = 64 * 1024;
const MOST_TIMEOUT_MS = 2 ** 31 - 1;
const MOST_SKILLS = 1000;
/** As long as any rendered prompt may be. */
const MOST_PROMPT = 1024 * 1024;

/** What a process says that it offers, in the shape that the kernel relies on. Throws a `Problem` for any other. */
export function checkedOffer(value: unknown, provides: readonly string[]): Offer {
  const { descriptor, operations } = fieldsOf(value);
  const { constants, inProcessOnly, operations: facts, ...described } = fieldsOf(descriptor);
  if (!Array.isArray(operations) || operations.length > MOST_OPERATIONS || !operations.every((name) => typeof name === 'string'))
    throw mismatch();
  const given = toJsonValue(fieldsOf(constants), 'a constant') as Offer['descriptor']['constants'];
  if (JSON.stringify(given).length > MOST_CONSTANTS) throw mismatch(': its constants are too long');
  const turnTools = operations.includes(TURN_TOOLS) ? { turnTools: true as const } : {};
  const closed = provides.filter(
    (id) => KERNEL_PROTOCOLS.get(id)?.inProcessOnly ?? (Array.isArray(inProcessOnly) && inProcessOnly.includes(id)),
  );
  const offered = { inProcessOnly: closed, operations: checkedFacts(facts, operations, provides), constants: given };
  return { operations, descriptor: { ...offered, ...checkedTools(described), ...turnTools } };
}

/** Of the kernel's own protocols the kernel's word counts, of others that of the process. */
function checkedFacts(value: unknown, operations: readonly string[], provides: readonly string[]): Offer['descriptor']['operations'] {
  const given = fieldsOf(value);
  const facts = operations.flatMap((name): readonly (readonly [string, OperationFacts])[] => {
    const known = KERNEL_OPERATIONS.get(name);
    if (known || !provides.includes(name.slice(0, name.lastIndexOf('.')))) return known ? [[name, known]] : [];
    const { timeoutMs, stream } = fieldsOf(given[name]);
    if (stream === true) return [[name, { timeoutMs: null, stream }]];
    const limit =
      typeof timeoutMs === 'number' ? Math.min(Math.max(timeoutMs, 1), MOST_TIMEOUT_MS) : timeoutMs === null ? null : PROVIDER_TIMEOUT_MS;
    return [[name, { timeoutMs: limit }]];
  });
  return Object.fromEntries(facts);
}

/** The tools that a process says that it has. Throws a `Problem` when they are none. */
export function checkedTools(value: unknown): DescribedTools {
  const { tools, warnings } = fieldsOf(value);
  if (!Array.isArray(tools) || tools.length > MOST_TOOLS || !Array.isArray(warnings)) throw mismatch();
  return {
    tools: (toJsonValue(tools, 'the tools') as readonly JsonValue[]).map(checkedTool),
    warnings: warnings.slice(0, MOST_WARNINGS).map((each) => cutText(each, MOST_WARNING)),
  };
}

/** The prompt that a process rendered. Throws `prompt_invalid` for anything but a text that a rendering may have. */
export function checkedPrompt(value: unknown): string {
  if (typeof value === 'string' && value.length <= MOST_PROMPT) return value;
  throw new PithError('prompt_invalid', 'the process of the extension answered with no text, or with one that is too long, for its prompt');
}

/** The result of a tool, whatever its process sent in place of one. */
export function checkedResult(value: unknown): ToolResult {
  const { ok, output, error, title, metadata, retain } = fieldsOf(value);
  const { key, digest } = fieldsOf(retain);
  const extra = {
    ...(typeof title === 'string' ? { title } : {}),
    ...(metadata === undefined ? {} : { metadata: toJsonValue(metadata, 'the metadata') }),
  };
  if (ok === true) {
    const kept = typeof key === 'string' && typeof digest === 'string' ? { retain: { key, digest } } : {};
    return toolResult(toJsonValue(output, 'the result'), { ...extra, ...kept });
  }
  const { code, message } = fieldsOf(error);
  if (typeof code === 'string' && typeof message === 'string') return toolError(code, message, extra);
  return toolError('tool_failed', 'the process of the tool did not answer with a result');
}

function checkedTool(tool: JsonValue): ToolDescriptor {
  const { name, description, inputSchema, effect, needsApproval, timeoutMs, optIn, runsAgent, agentTools, overridable, permission } =
    fieldsOf(tool);
  const { authoring, calling, safeToShare, onlyForSkills } = fieldsOf(permission);
  if (typeof name !== 'string' || !TOOL_NAME.test(name)) throw mismatch(': a tool has no name that can be used');
  if (typeof description !== 'string' || typeof inputSchema !== 'object' || inputSchema === null)
    throw mismatch(`: '${name}' is not a tool`);
  return {
    name,
    description,
    inputSchema: inputSchema as ToolDescriptor['inputSchema'],
    effect: effect === 'read' || effect === 'idempotent' ? effect : 'write',
    needsApproval: needsApproval === 'never' || needsApproval === 'maybe' ? needsApproval : 'always',
    timeoutMs: typeof timeoutMs === 'number' ? Math.min(Math.max(timeoutMs, 1), MOST_TIMEOUT_MS) : DEFAULT_TOOL_MS,
    optIn: optIn === true,
    ...(runsAgent === true ? { runsAgent } : {}),
    ...(agentTools === true ? { agentTools } : {}),
    ...(overridable === true ? { overridable } : {}),
    permission: {
      ...(authoring === 'anyone' || authoring === 'admin' ? { authoring } : {}),
      ...(calling === 'admin' ? { calling } : {}),
      ...(typeof safeToShare === 'boolean' ? { safeToShare } : {}),
      ...(onlyForSkills === undefined ? {} : { onlyForSkills: givenTexts(onlyForSkills, `the skills of '${name}'`, MOST_SKILLS) }),
    },
  };
}

function mismatch(more = ''): Problem {
  return new Problem('initialize', 'provides_mismatch', `its process did not say what it offers${more}`);
}
