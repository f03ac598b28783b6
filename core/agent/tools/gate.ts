import { canonicalJson, isPlainMap, sha256 } from '@pith/plain-data';
import type { GuardedCall, Guards, GuardVerdict, ToolDescriptor, Tools } from '../../kernel/index.ts';
import {
  type AgentSpec,
  type ApprovalQuestion,
  type JsonValue,
  type TurnInfo,
  type TurnPolicy,
  toolError,
  type ToolResult,
} from '../../contract/index.ts';
import { namesOfExtension } from '../../declarations/index.ts';
import type { Ask } from '../threads/approval.ts';
import { isFinder } from './find-tools.ts';

interface KnownTool {
  readonly extensionId: string;
  readonly descriptor: ToolDescriptor;
}

/** A tool call before the gate. */
export interface GateCall extends Omit<GuardedCall, 'tool' | 'effect'> {
  readonly offered: KnownTool;
  /** Calls of this turn so far, this one not included. */
  readonly callsBefore: number;
  readonly mostCalls: number;
  readonly policy: TurnPolicy;
}

/** What the gate says of a call: it does not run, with this result; it runs once a person agrees; or, with neither, it runs. */
export interface Judgement {
  readonly result: ToolResult | null;
  readonly ask: Ask | null;
  /** Tells the guards that were asked about it what came of the call; returns that with what they add for the model. */
  notifyGuards(result: ToolResult): Promise<ToolResult>;
}

interface GateRules extends PithRights {
  readonly host: { readonly providers: { readonly tools: Tools; readonly guards: Guards } };
  /** Tools that the settings want approved always: extension ids, `extension/tool` or `*`. */
  askAlways(): readonly string[];
}

/** The one gate before every tool call, whoever makes it: limits and policy, then the guards, then whether a person must be asked. */
export async function judge(rules: GateRules, call: GateCall, signal: AbortSignal): Promise<Judgement> {
  const { guards, tools } = rules.host.providers;
  const { offered, input, agents, turn, idempotencyKey } = call;
  const { extensionId, descriptor } = offered;
  const tool = `${extensionId}/${descriptor.name}`;
  const limited = signal.aborted ? ABORTED : forbidden(rules, call);
  if (limited !== null) return { result: limited, ask: null, notifyGuards: async (result) => result };
  const guarded = guards.areThere() ? { tool, input, effect: descriptor.effect, agents, turn, idempotencyKey } : null;
  const verdict = guarded && (await guards.beforeToolCall(guarded, signal)); // without guards nothing waits
  const notifyGuards = async (result: ToolResult): Promise<ToolResult> =>
    guarded === null ? result : withNotes(result, await guards.afterToolCall(guarded, result, signal));
  const refused = async (result: ToolResult): Promise<Judgement> => ({ result: await notifyGuards(result), ask: null, notifyGuards });
  if (signal.aborted) return refused(ABORTED);
  if (verdict?.kind === 'deny') return refused(toolError('denied', `not run: ${verdict.why}`));
  const ask = await needsApproval(rules, call, verdict);
  if (ask === null) return { result: null, ask, notifyGuards };
  // Nobody is asked about a tool that has gone since it was offered, nor about a call that its tool will refuse; the kernel refuses it then,
  // whatever the tool would do.
  if (await isGone(offered, tools))
    return refused(toolError('tool_gone', `not run: '${extensionId}' has no tool '${descriptor.name}' any more`));
  const invalid = await tools.refusal(extensionId, descriptor.name, input);
  return invalid === null ? { result: null, ask, notifyGuards } : refused(toolError('tool_input_invalid', invalid));
}

/** The result as it was, with the notes after it. */
function withNotes(result: ToolResult, notes: readonly string[]): ToolResult {
  if (notes.length === 0) return result;
  const after = (text: string): string => [text, ...notes].join('\n\n');
  if (!result.ok) return { ...result, error: { ...result.error, message: after(result.error.message) } };
  const { output } = result;
  if (typeof output === 'string') return { ...result, output: after(output) };
  return { ...result, output: { ...(isPlainMap(output) ? (output as Record<string, JsonValue>) : { output }), guard_notes: notes } };
}

const ABORTED = toolError('aborted', 'not run: the turn was ended');

/** The answer to a call behind the last one that a turn may make. */
export function tooManyCalls(most: number): ToolResult {
  return toolError('limit_reached', `not run: this turn may make ${most} tool calls (max_tool_calls), and has made them`);
}

/** Why the limits, the user or the policy of its turn forbid a call; null: they do not. */
function forbidden(rights: PithRights, { offered, mostCalls, policy, callsBefore, turn }: GateCall): ToolResult | null {
  const { extensionId, descriptor } = offered;
  const { name: tool, effect, permission } = descriptor;
  if (callsBefore >= mostCalls) return tooManyCalls(mostCalls);
  if (!permits(policy, extensionId, tool)) return toolError('not_allowed', `not run: '${extensionId}/${tool}' is not allowed in this turn`);
  if (!mayCall(rights, turn, descriptor))
    return toolError('not_allowed', `not run: '${extensionId}/${tool}' changes this Pith, which agents do for administrators only`);
  const { onlyForSkills } = permission;
  if (onlyForSkills !== undefined && !onlyForSkills.includes(policy.savedSkill ?? ''))
    return toolError(
      'denied',
      `not run: '${extensionId}/${tool}' runs only for saved skills that its author named, and this is not one of them`,
    );
  return policy.readOnly && effect !== 'read'
    ? toolError('plan_mode', `not run: in plan mode only reading tools run, and '${tool}' may change something; make it a step of the plan`)
    : null;
}

/** In whose turns agents may change this Pith. */
export interface PithRights {
  mayChangePith(userId: string): boolean;
}

/** Whether the user of a turn may have an agent call the tool. */
export function mayCall(
  rights: PithRights,
  { userId }: Pick<TurnInfo, 'userId'>,
  { permission }: Pick<ToolDescriptor, 'permission'>,
): boolean {
  return permission.calling !== 'admin' || rights.mayChangePith(userId);
}

/** Whether the tool's extension has it no more. One that cannot be asked now is believed to have it. */
export async function isGone({ extensionId, descriptor }: KnownTool, tools: Pick<Tools, 'of'>): Promise<boolean> {
  const list = await tools.of(extensionId).catch(() => null); // a call says why it cannot be asked
  return list !== null && !list.some(({ name }) => name === descriptor.name);
}

/** What the model reads beside the message of a turn in plan mode. */
export const PLAN_MODE_TEXT =
  'Plan mode: only reading tools run; answer with a plan of what you would change and run. Nothing is changed until the person says go.';

/** A denial wins. What `find_tools` finds is permitted by itself. */
export function permits(policy: TurnPolicy, extensionId: string, tool: string): boolean {
  if (isFinder({ extensionId })) return true;
  if (!mayServe(policy, extensionId)) return false;
  if (policy.denyTools && isNamed(policy.denyTools, extensionId, tool)) return false;
  return policy.allowTools === undefined || isNamed(policy.allowTools, extensionId, tool);
}

/** Whether an extension may bring anything to the turn: to one that a stranger began, only the stranger itself. */
export function mayServe({ startedBy = [] }: TurnPolicy, extensionId: string): boolean {
  return startedBy.every((starter) => !starter.ownOnly || starter.extensionId === extensionId);
}

/** Whether one of `entries` is the tool's extension, `extension/tool` or `*`. */
function isNamed(entries: readonly string[], extensionId: string, tool: string): boolean {
  const names = namesOfExtension(extensionId);
  return entries.some((entry) => entry === '*' || names.some((name) => entry === name || entry === `${name}/${tool}`));
}

/** Limits only shrink. */
export function narrowed(limits: AgentSpec['limits'], by: Partial<AgentSpec['limits']> | undefined): AgentSpec['limits'] {
  if (by === undefined) return limits;
  const least = (key: keyof AgentSpec['limits']) => Math.min(limits[key], by[key] ?? Infinity);
  return {
    max_turns: least('max_turns'),
    max_tool_calls: least('max_tool_calls'),
    max_tokens: least('max_tokens'),
    time_budget_ms: least('time_budget_ms'),
  };
}

/** Names exact arguments: the same for equal values whatever the order of their keys. */
export function digestOf(input: JsonValue): string {
  return sha256(canonicalJson(input));
}

/** What a person must be asked before this call; null: nobody is asked. A tool that cannot say is asked about. */
async function needsApproval(rules: GateRules, call: GateCall, verdict: GuardVerdict): Promise<Ask | null> {
  const own = await askOfTool(rules, call);
  const given = verdict?.kind === 'ask' ? withReason(own ?? NOTHING_SAID, verdict.why) : own;
  if (given === null) return null;
  const ask = withoutNul(given);
  const enforced = await rules.host.providers.tools.enforced(call.offered.extensionId);
  return enforced === null ? { ...ask, ships: true } : { ...ask, enforced }; // of what does not ship, only Pith says what is enforced
}

async function askOfTool(
  { host, askAlways }: GateRules,
  { offered: { extensionId, descriptor }, input, turn }: GateCall,
): Promise<Ask | null> {
  const { name, needsApproval: says } = descriptor;
  const bySettings = isNamed(askAlways(), extensionId, name);
  if (says !== 'maybe') return bySettings || says === 'always' ? ofTool(descriptor) : null;
  try {
    const said = await host.providers.tools.needsApproval(extensionId, name, input, turn);
    if (said !== false) return ofInput(said, input);
    return bySettings ? ofTool(descriptor) : null;
  } catch {
    return NOTHING_SAID; // fail closed: the host has recorded why
  }
}

/** A guard asks about each call, also where the person has allowed such calls always. Where the tool shows nothing itself, its arguments are shown. */
function withReason(own: Ask, why: string): Ask {
  const showsItself = own.details !== null && own.details.trim() !== '';
  const texts = showsItself ? { details: `${why}\n${own.details}` } : { details: why, summary: null };
  return { ...own, ...texts, always: null, key: null, covers: null, guard: why };
}

/** A text column ends at a NUL; who reads the question sees its picture. What runs has the NUL. */
function withoutNul(ask: Ask): Ask {
  const texts = Object.entries(ask).map(([key, value]) => [key, typeof value === 'string' ? value.replaceAll('\0', '\u2400') : value]);
  return Object.fromEntries(texts) as unknown as Ask;
}

const NOTHING_SAID: Ask = {
  summary: null,
  details: null,
  enforced: null,
  subject: null,
  always: null,
  key: null,
  covers: null,
  guard: null,
  ships: false,
};

/** Every call of the tool is asked about, whatever its input: an `always` is for the tool, as long as it describes itself like this. */
function ofTool({ name, description, inputSchema, effect }: ToolDescriptor): Ask {
  const digest = digestOf({ name, description, inputSchema: inputSchema as JsonValue, effect });
  return { ...NOTHING_SAID, always: `tool:${digest}` };
}

/**
 * The tool looked at the input: an `always` is for what the tool names by a key, whatever a person reads of it, else for that input alone, or
 * for what the tool says that it stands for, as long as a person would read the same.
 */
function ofInput(said: true | string | ApprovalQuestion, input: JsonValue): Ask {
  const question: Partial<ApprovalQuestion> = typeof said === 'object' ? said : typeof said === 'string' ? { text: said } : {};
  const { summary = null, text: details = null, enforced = null, subject = null, always, once } = question;
  const shown = { ...NOTHING_SAID, summary, details, enforced, subject };
  if (once === true) return shown;
  if (always !== undefined) return { ...shown, ...always, always: `key:${digestOf(always.key)}` };
  return { ...shown, always: subject === null ? `input:${digestOf([input, details])}` : `subject:${digestOf([subject, details])}` };
}

/** How deep the arguments of a tool may be: what walks them calls itself, and what carries them between processes is deeper still. */
const DEEPEST_INPUT = 60;

/** What is wrong with the arguments of a tool before anything walks them; null: nothing. Walks level by level itself. */
export function inputProblem(input: unknown): string | null {
  let level: readonly unknown[] = [input];
  for (let depth = 0; depth <= DEEPEST_INPUT; depth++) {
    const broken = level.find((value): value is string => typeof value === 'string' && LONE_SURROGATE.test(value));
    if (broken !== undefined) return loneSurrogateIn(broken);
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.entries(value).flat() : []));
    if (level.length === 0) return null;
  }
  return `is nested more than ${DEEPEST_INPUT} levels deep; give it flatter, or as text`;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** No file, database or process takes it: it would become another character without a word. */
function loneSurrogateIn(text: string): string {
  const at = text.search(LONE_SURROGATE);
  return `has a lone surrogate, which is half of a character (\\u${text.charCodeAt(at).toString(16)}) in line ${text.slice(0, at).split('\n').length} of a text; give the whole character`;
}
