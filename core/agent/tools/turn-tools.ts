import { printableLine, withCure } from '@pith/plain-text';
import { within } from '@pith/promises';
import {
  type AgentSpec,
  type Clock,
  codeOf,
  type Diagnostic,
  type JsonValue,
  messageOf,
  type ToolProvider,
  type ToolResult,
  type TurnInfo,
  type TurnPolicy,
} from '../../contract/index.ts';
import type { Host, ToolDescriptor, Tools } from '../../kernel/index.ts';
import { isDynamic, namesOfExtension } from '../../declarations/index.ts';
import { finderOf, findTools, foundIn, isFinder } from './find-tools.ts';
import { isGone, mayCall, mayServe, permits, type PithRights } from './gate.ts';
import type { OfferedTool } from './offered-tool.ts';
import { named, type UnnamedTool } from './tool-names.ts';
import { ownInput, sendable } from './sent-tools.ts';
import { entriesOf, fitting, resolveTools, type ToolHost, unnamed, wantedTools } from './tools.ts';

/** `extension/tool` of each that is an extension's, once. */
export function toolIds(tools: readonly OfferedTool[]): readonly string[] {
  return [...new Set(tools.filter((tool) => !isFinder(tool)).map(toolId))];
}

function toolId({ extensionId, descriptor }: Pick<OfferedTool, 'extensionId' | 'descriptor'>): string {
  return `${extensionId}/${descriptor.name}`;
}

export function onDemandIn(all: readonly OfferedTool[]): readonly OfferedTool[] {
  return all.filter((tool) => tool.onDemand);
}

/** Runs a tool of a turn that has `all`: `find_tools` finds those on demand, any other is its extension's. */
export function runTool(
  tools: Pick<Tools, 'call'>,
  all: readonly OfferedTool[],
  { extensionId, tool, input }: { readonly extensionId: string; readonly tool: string; readonly input: JsonValue },
  about: Parameters<Tools['call']>[3],
): Promise<ToolResult> {
  return isFinder({ extensionId }) ? findTools(onDemandIn(all), input) : tools.call(extensionId, tool, input, about);
}

/**
 * What of `all` the model is told: what is not on demand, `find_tools` where anything is, and what the thread has found. What it was told
 * `before` in this turn keeps its place and its description while it is there.
 */
export function givenTools(
  all: readonly OfferedTool[],
  held: TurnInfo['held'],
  before: readonly OfferedTool[] = [],
): readonly OfferedTool[] {
  const onDemand = onDemandIn(all);
  const finder = finderOf(onDemand);
  const stays = before.filter((tool) => (isFinder(tool) ? finder !== null : all.includes(tool)));
  const found = foundIn(held).flatMap((id) => onDemand.find((tool) => toolId(tool) === id) ?? []);
  const isNew = (tool: OfferedTool) => !stays.includes(tool);
  const given = [...stays, ...all.filter((tool) => !tool.onDemand && isNew(tool))];
  if (finder !== null && !given.some(isFinder)) given.push(finder);
  return [...given, ...sendable(found.filter(isNew), given).tools];
}

/** What the tool is called with: the model's input, by the tool's own names, and what is filled in for it. */
export function withFixed(input: JsonValue, tool: Pick<OfferedTool, 'fixed' | 'descriptor'> | null): JsonValue {
  const own = tool === null ? input : ownInput(input, tool.descriptor);
  return tool?.fixed === undefined ? own : { ...(own as Readonly<Record<string, JsonValue>>), ...tool.fixed };
}

export interface TurnToolHost extends ToolHost {
  readonly dynamic: Pick<Host['dynamic'], 'open'>;
}

interface TurnToolsQuestion extends PithRights {
  readonly host: TurnToolHost;
  readonly clock: Clock;
  /** Extensions that are asked, in this order. */
  readonly providers: readonly string[];
  /** As providers are told it: `tools` are those of `uses_tools`. */
  readonly turn: TurnInfo;
  readonly policy: TurnPolicy;
  /** Names of tools that ship and may come during this turn. */
  readonly reserved: ReadonlySet<string>;
  /** What the turn has already, also on demand. Their names stay, and so do they while their extensions have them. */
  readonly offered: readonly OfferedTool[];
  /** Tools that are offered already may be told differently: only before the model has seen them. */
  readonly mayRedescribe: boolean;
  /** Extensions have told other tools since: those of `uses_tools` that are new join, too, and those that are gone leave. */
  readonly isRenewed?: boolean;
}

/** The tools that a turn begins with. */
interface FirstTools extends ToolsOfTurn {
  readonly tools: readonly OfferedTool[];
  /** The turn as it is with them. */
  readonly info: TurnInfo;
  /** `extension/tool` of those that `uses_tools` gives. */
  readonly own: readonly string[];
  readonly reserved: ReadonlySet<string>;
  /** Extensions that were asked what they bring. */
  readonly providers: readonly string[];
  readonly notes: readonly Diagnostic[];
}

/** Whose tools are looked for. */
interface TurnOfUser {
  readonly spec: AgentSpec;
  readonly userId: string;
  readonly policy: TurnPolicy;
  readonly callees: readonly AgentSpec[];
}

/** Those of `uses_tools`, then what extensions bring. `infoOf`: the turn with the tools that it is named. */
export async function toolsOfTurn(
  { host, clock, mayChangePith }: Pick<TurnToolsQuestion, 'host' | 'clock' | 'mayChangePith'>,
  { spec, userId, policy, callees }: TurnOfUser,
  infoOf: (own: readonly string[]) => Promise<TurnInfo>,
  signal: AbortSignal,
): Promise<FirstTools> {
  const [{ tools: resolved, reserved, notes }, asked] = await Promise.all([
    resolveTools(spec, host, policy, callees),
    host.providers.tools.turnProviders(spec),
  ]);
  const providers = asked.filter((id) => mayServe(policy, id));
  const offered = resolved.filter(({ descriptor }) => mayCall({ mayChangePith }, { userId }, descriptor));
  const turn = await infoOf(toolIds(offered.filter((tool) => !tool.onDemand)));
  const question = { host, clock, mayChangePith, providers, turn, policy, reserved, offered, mayRedescribe: true };
  const { all, notices, late } = await withTurnTools(question, signal);
  const tools = givenTools(all, turn.held);
  const info = { ...turn, tools: toolIds(tools) };
  return {
    tools,
    all,
    late,
    info,
    own: turn.tools,
    reserved,
    providers,
    notes,
    notices: [...notices, ...missingDynamic(entriesOf(spec), all)],
  };
}

interface ToolsOfTurn {
  /** Those of `offered` that there still are, and behind them what is new; with those on demand. */
  readonly all: readonly OfferedTool[];
  readonly notices: readonly { readonly code: string; readonly message: string }[];
  /** Those that declare extensions which are still being opened: they are worth asking again. */
  readonly late: readonly string[];
}

/** `offered` and what extensions bring to this turn. One that fails or is late brings nothing; never rejects. */
export async function withTurnTools(question: TurnToolsQuestion, signal: AbortSignal): Promise<ToolsOfTurn> {
  const { providers, turn, policy, mayRedescribe, host } = question;
  const [own, there, ...answers] = await Promise.all([
    question.isRenewed ? wantedTools(turn.agent, host, policy) : NOTHING,
    question.isRenewed ? withoutGone(question.offered, host) : question.offered,
    ...providers.map((id) => ask(question, id, signal)),
  ]);
  const offered = [...there];
  const added = new Map<string, UnnamedTool>();
  const wanted = entriesOf(turn.agent);
  for (const tool of [own, ...answers].flatMap(({ tools }) => tools)) {
    const { extensionId, descriptor } = tool;
    const { name } = descriptor;
    if (!permits(policy, extensionId, name) || !isWanted(wanted, extensionId, name) || !mayCall(question, turn, descriptor)) continue;
    const isIt = (each: OfferedTool) => toolId(each) === toolId(tool) && each.preferredName === tool.preferredName;
    const index = offered.findIndex(isIt);
    if (index < 0) added.set(`${toolId(tool)} ${tool.preferredName ?? ''}`, tool);
    else if (mayRedescribe) offered[index] = { ...(offered[index] as OfferedTool), descriptor };
  }
  const { tools, notes } = fitting([...added.values()], offered);
  const lost = notes.map(({ code, message, cure }) => ({ code, message: withCure(message, cure) }));
  return {
    all: [...offered, ...named(tools, question.reserved, offered)],
    notices: [...answers.flatMap(({ notices }) => notices), ...lost],
    late: providers.filter((_, index) => answers[index]?.late),
  };
}

async function withoutGone(offered: readonly OfferedTool[], host: ToolHost): Promise<readonly OfferedTool[]> {
  const gone = await Promise.all(offered.map((tool) => isGone(tool, host.providers.tools)));
  return offered.filter((_, at) => !gone[at]);
}

/** Notices on dynamic extensions that the agent names and that nobody declares. */
function missingDynamic(entries: readonly string[], tools: readonly OfferedTool[]): ToolsOfTurn['notices'] {
  return entries
    .filter(isDynamic)
    .filter((entry) => !tools.some(({ extensionId, descriptor }) => entry === extensionId || entry === `${extensionId}/${descriptor.name}`))
    .map((entry) => ({ code: 'provider_unavailable', message: `the tools of '${entry}' are missing: nothing declares them now` }));
}

interface Answer extends Pick<ToolsOfTurn, 'notices'> {
  readonly tools: readonly UnnamedTool[];
  readonly late?: boolean;
}

async function ask(question: TurnToolsQuestion, extensionId: string, signal: AbortSignal): Promise<Answer> {
  const { turn } = question;
  const { tools } = question.host.providers;
  try {
    const given = await tools.ofTurn(extensionId, turn, signal);
    if (given.length === 0) return NOTHING;
    const own = given.some((each) => 'tool' in each) ? await tools.of(extensionId) : [];
    return merged(await Promise.all(given.map((each) => resolve(question, extensionId, own, each))));
  } catch (error) {
    return failed(codeOf(error, 'provider_failed'), `'${extensionId}' brings no tools to this turn: ${messageOf(error)}`);
  }
}

/** What an extension brings to a turn: its own tool, or an extension that it declares. */
type TurnTool = Awaited<ReturnType<NonNullable<ToolProvider['getTurnTools']>>>[number];

async function resolve(question: TurnToolsQuestion, extensionId: string, own: readonly ToolDescriptor[], given: TurnTool): Promise<Answer> {
  if ('extension' in given) return open(question, extensionId, given.extension);
  const { tool, name, onDemand = false, elsewhere = false, ...described } = given;
  const descriptor = own.find((each) => each.name === tool);
  if (descriptor) {
    const found = { ...unnamed(question.host.extensions, extensionId, { ...descriptor, ...described }), onDemand, elsewhere };
    // Whose name it is not is none that ships.
    return { tools: [name === undefined ? found : { ...found, preferredName: name, keeps: false }], notices: [] };
  }
  return failed('tool_unknown', `'${extensionId}' brings the tool '${tool}' to this turn, but has no tool of that name`);
}

/** One that is not open in time goes on, and is there for a later step or turn. Its names and faults may say anything. */
async function open({ host, clock, turn }: TurnToolsQuestion, providerId: string, extensionId: string): Promise<Answer> {
  const missing = (code: string, why: string): Answer => failed(code, printableLine(`the tools of '${extensionId}' are missing: ${why}`));
  try {
    const { since, opened } = host.dynamic.open(providerId, extensionId);
    const left = Math.min(Math.max(0, since + PATIENCE_MS - clock.now()), PATIENCE_MS); // the clock may have been set back
    const found = await within(clock, left, opened, () => null);
    if (found === null)
      return {
        ...missing('provider_timeout', 'it is still being opened, and comes with a later step or message once it is'),
        late: true,
      };
    const notices = found.problems.map(({ code, message }) => ({ code, message: printableLine(message) }));
    const onDemand = isFound(turn.agent, [providerId, ...namesOfExtension(extensionId)]);
    return { tools: found.tools.map((descriptor) => ({ extensionId, descriptor, onDemand })), notices };
  } catch (error) {
    return missing(codeOf(error, 'provider_unavailable'), messageOf(error));
  }
}

/** Turns wait so long for a dynamic extension in all, counted from the first that asked: most are there in less than one second. */
const PATIENCE_MS = 3000;

/** Whether `finds_tools` names one of these and `uses_tools` none. */
function isFound({ usesTools, findsTools = [] }: AgentSpec, names: readonly string[]): boolean {
  const isIn = (list: readonly string[]) => list.some((entry) => names.some((name) => entry === name || entry.startsWith(`${name}/`)));
  return isIn(findsTools) && !usesTools.includes('*') && !isIn(usesTools);
}

/** An agent that names single tools of a dynamic extension gets those only. */
function isWanted(usesTools: readonly string[], extensionId: string, tool: string): boolean {
  const names = namesOfExtension(extensionId);
  if (!isDynamic(extensionId) || names.some((name) => usesTools.includes(name))) return true;
  const named = usesTools.filter((entry) => names.some((name) => entry.startsWith(`${name}/`)));
  return named.length === 0 || names.some((name) => named.includes(`${name}/${tool}`));
}

function merged(answers: readonly Answer[]): Answer {
  return {
    tools: answers.flatMap(({ tools }) => tools),
    notices: answers.flatMap(({ notices }) => notices),
    late: answers.some(({ late }) => late),
  };
}

function failed(code: string, message: string): Answer {
  return { tools: [], notices: [{ code, message }] };
}

const NOTHING: Answer = { tools: [], notices: [] };
