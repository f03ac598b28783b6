import { didYouMean, printableLine } from '@pith/plain-text';
import { within } from '@pith/promises';
import { sha256 } from '@pith/plain-data';
import {
  type AgentSpec,
  type Clock,
  codeOf,
  type Diagnostic,
  type JsonValue,
  messageOf,
  type ToolProvider,
  type TurnInfo,
  type TurnPolicy,
} from '../../contract/index.ts';
import { canRun, type ExtensionFacts, type Host, type ToolDescriptor, type Tools } from '../../kernel/index.ts';
import { isDynamic, namesOfExtension, shortId } from '../../declarations/index.ts';
import { isGone, mayServe, permits } from './gate.ts';
import { ownInput, sendable } from './sent-tools.ts';

/** A tool as one turn offers it: data only, no code. */
export interface OfferedTool {
  /** The name that the model sees: the tool's own, or `<extension>__<tool>` on a clash. */
  readonly modelName: string;
  readonly extensionId: string;
  readonly descriptor: ToolDescriptor;
  /** Part of the input of every call, whatever the model writes: the agent that a tool of an agent's name runs. */
  readonly fixed?: Readonly<Record<string, JsonValue>>;
}

interface ResolvedTools {
  readonly tools: readonly OfferedTool[];
  /** Names of tools that ship and that extensions may bring to a turn of the agent: nobody else's tool has them. */
  readonly reserved: ReadonlySet<string>;
  /** Errors fail the agent, warnings degrade it. */
  readonly notes: readonly Diagnostic[];
}

/** Where tools are found. */
export interface ToolHost {
  readonly extensions: ExtensionFacts;
  readonly providers: { readonly tools: Tools };
}

/** What `uses_tools` means at this moment, narrowed by the policy; `callees` are the agents that it may call. Never rejects. */
export async function resolveTools(
  spec: AgentSpec,
  host: ToolHost,
  policy: TurnPolicy = {},
  callees: readonly AgentSpec[] = [],
): Promise<ResolvedTools> {
  const { tools, reserved, notes } = await wantedTools(spec, host, policy, callees);
  return { tools: named(tools, reserved), reserved, notes };
}

async function wantedTools(
  spec: AgentSpec,
  host: ToolHost,
  policy: TurnPolicy,
  callees: readonly AgentSpec[] = [],
): Promise<Omit<ResolvedTools, 'tools'> & { readonly tools: readonly UnnamedTool[] }> {
  const { extensions } = host;
  const wanted = new Map<string, UnnamedTool>();
  const notes: Diagnostic[] = [];
  const everything = collected(spec.usesTools, extensions).filter((id) => canRun(extensions.state(id)));
  const asked = spec.usesTools.filter((entry) => !COLLECTIVE.includes(entry) && !isDynamic(entry)); // dynamic ones come turn by turn
  const entries = [...new Set([...asked, ...everything])];
  const [answers, reserved] = await Promise.all([
    Promise.all(entries.map((entry) => resolveEntry(entry, host))),
    reservedNames(spec, host),
  ]);
  answers.forEach((answer, index) => {
    // What "*" and "sandbox" bring may fail without a word: the agent did not ask for it by name.
    if (spec.usesTools.includes(entries[index] as string)) notes.push(...answer.notes);
    for (const tool of answer.tools) wanted.set(`${tool.extensionId}/${tool.descriptor.name}`, tool);
  });
  const allowed = [...wanted.values()].filter(({ extensionId, descriptor }) => permits(policy, extensionId, descriptor.name));
  const sent = sendable([...allowed, ...toolsOfAgents(allowed, callees, extensions)]);
  return { tools: sent.tools, reserved, notes: [...notes, ...sent.notes] };
}

/** Entries of `uses_tools` that mean more than one extension: all, and those that do not ship. */
const COLLECTIVE: readonly string[] = ['*', 'sandbox'];

/** Also in Pith's own sandbox a person's extension is theirs: its code is not what came with Pith. */
function collected(usesTools: readonly string[], extensions: Pick<ExtensionFacts, 'ids' | 'keepsNames' | 'isForeign'>): readonly string[] {
  if (usesTools.includes('*')) return extensions.ids();
  return usesTools.includes('sandbox') ? extensions.ids().filter((id) => !extensions.keepsNames(id) || extensions.isForeign(id)) : [];
}

/** `extension/tool` of each, once. */
export function toolIds(tools: readonly OfferedTool[]): readonly string[] {
  return [...new Set(tools.map(({ extensionId, descriptor }) => `${extensionId}/${descriptor.name}`))];
}

/** `; 'x' failed, and its tools are missing: see 'pith doctor'` where an extension that an agent uses cannot run, else nothing. For the end of a message. */
export function missingTools(
  { usesTools }: AgentSpec,
  extensions: Pick<ExtensionFacts, 'ids' | 'state' | 'keepsNames' | 'isForeign'>,
): string {
  const named = usesTools.map((entry) => entry.split('/', 1)[0] as string);
  const wanted = new Set([...named, ...collected(usesTools, extensions)]);
  const broken = [...wanted].filter((id) => ['failed', 'blocked'].includes(extensions.state(id) ?? '')).sort();
  if (broken.length === 0) return '';
  const names = broken.map((id) => `'${id}'`).join(', ');
  return `; ${names} failed, and ${broken.length === 1 ? 'its' : 'their'} tools are missing: see 'pith doctor'`;
}

async function reservedNames(spec: AgentSpec, { extensions, providers: { tools } }: ToolHost): Promise<ReadonlySet<string>> {
  const shipped = (await tools.turnProviders(spec)).filter((id) => extensions.keepsNames(id));
  const lists = await Promise.all(shipped.map((id) => tools.of(id).catch(() => []))); // what fails brings nothing
  return new Set(lists.flatMap((list) => list.filter(({ overridable }) => !overridable).map(({ name }) => name)));
}

/** A tool as its extension describes it, before its name is settled. */
function unnamed(extensions: Pick<ExtensionFacts, 'keepsNames'>, extensionId: string, descriptor: ToolDescriptor): UnnamedTool {
  return { extensionId, descriptor, keeps: extensions.keepsNames(extensionId) && descriptor.overridable !== true };
}

interface Entry {
  readonly tools: readonly UnnamedTool[];
  readonly notes: readonly Diagnostic[];
}

async function resolveEntry(entry: string, { extensions, providers: { tools } }: ToolHost): Promise<Entry> {
  const slash = entry.indexOf('/');
  const extensionId = slash < 0 ? entry : entry.slice(0, slash);
  const toolName = slash < 0 ? null : entry.slice(slash + 1);
  const state = extensions.state(extensionId);
  if (state === undefined) {
    return leftOut(
      'name_unknown',
      `uses_tools '${entry}': nothing declares the extension '${extensionId}'${didYouMean(extensionId, extensions.ids())}`,
      `correct the name, or add the extension '${extensionId}'`,
    );
  }
  if (!canRun(state)) {
    // In the words of the attempt that failed, so that both are one notice.
    const why = await tools.of(extensionId).then(() => `the extension is ${state}`, messageOf);
    return degraded(`the tools of '${entry}' are missing: ${why}`, extensionId, state === 'disabled' ? SWITCHED_OFF : undefined);
  }
  let offered: readonly ToolDescriptor[];
  try {
    offered = await tools.of(extensionId);
  } catch (error) {
    return degraded(`the tools of '${entry}' are missing: ${messageOf(error)}`, extensionId, codeOf(error, 'provider_unavailable'));
  }
  if (toolName === null) {
    const given = offered.filter(({ optIn }) => !optIn);
    return { tools: given.map((descriptor) => unnamed(extensions, extensionId, descriptor)), notes: [] };
  }
  const descriptor = offered.find(({ name }) => name === toolName);
  if (descriptor) return { tools: [unnamed(extensions, extensionId, descriptor)], notes: [] };
  if (offered.length === 0) return { tools: [], notes: [] }; // it has none now, as with skills switched off: no more to say than of the whole extension
  const hint = didYouMean(
    toolName,
    offered.map(({ name }) => name),
  );
  const cure = hint === '' ? `use one of ${offered.map(({ name }) => `${extensionId}/${name}`).join(', ')}` : 'correct the name';
  return leftOut('tool_unknown', `uses_tools '${entry}': '${extensionId}' has no tool '${toolName}'${hint}`, cure);
}

function leftOut(code: string, message: string, cure: string): Entry {
  return { tools: [], notes: [{ severity: 'warning', code, message, cure }] };
}

function degraded(message: string, extensionId: string, code = 'provider_unavailable'): Entry {
  return { tools: [], notes: [{ severity: 'warning', code, message, cure: `see 'pith doctor' for ${extensionId}` }] };
}

/** Of what a person switched off: they know it, so that no thread repeats it. */
export const SWITCHED_OFF = 'disabled';

/** The input by which a tool with `agentTools` names the agent that it runs. */
const AGENT = 'agent_id';

/** For each callee with `integration_mode: tool` a tool named after it, which is the one with `agentTools` among `tools`. */
function toolsOfAgents(
  tools: readonly UnnamedTool[],
  callees: readonly AgentSpec[],
  extensions: Pick<ExtensionFacts, 'keepsNames'>,
): readonly UnnamedTool[] {
  const runners = tools.filter(({ descriptor }) => descriptor.agentTools);
  const runner = runners.find(({ keeps }) => keeps) ?? runners[0]; // agents are handed to no stranger while one that ships is there
  if (runner === undefined) return [];
  const { extensionId, descriptor } = runner;
  return callees
    .filter(({ integrationMode }) => integrationMode === 'tool')
    .map((callee) => ({
      extensionId,
      descriptor: { ...descriptor, description: descriptionOf(callee), inputSchema: withoutAgent(descriptor.inputSchema) },
      preferredName: callee.id,
      keeps: extensions.keepsNames(callee.id),
      fixed: { [AGENT]: callee.id },
    }));
}

/** What the tool is called with: the model's input, by the tool's own names, and what is filled in for it. */
export function withFixed(input: JsonValue, tool: Pick<OfferedTool, 'fixed' | 'descriptor'> | null): JsonValue {
  const own = tool === null ? input : ownInput(input, tool.descriptor);
  return tool?.fixed === undefined ? own : { ...(own as Readonly<Record<string, JsonValue>>), ...tool.fixed };
}

function descriptionOf({ id, name, description }: AgentSpec): string {
  return `${description || name} (The agent '${id}': it works on the task by itself and returns its answer.)`;
}

function withoutAgent(schema: ToolDescriptor['inputSchema']): ToolDescriptor['inputSchema'] {
  const { properties, required, ...rest } = schema as { readonly properties?: object; readonly required?: readonly string[] };
  const left = Object.fromEntries(Object.entries(properties ?? {}).filter(([name]) => name !== AGENT));
  return { ...rest, properties: left, required: (required ?? []).filter((name) => name !== AGENT) };
}

/** A tool before the model's name for it is settled. */
type UnnamedTool = Omit<OfferedTool, 'modelName'> & {
  /** The name that it would have alone; default its own. */
  readonly preferredName?: string;
  /** Its name ships, and stays: an equal name of others gives way. */
  readonly keeps?: boolean;
};

/**
 * A name is that of the one tool that wants it. Of several the one that ships has it, where there is one alone; the others get their
 * extension's id in front. `reserved`: names that ship and may come during the turn. `offered`: tools that they join, whose names stay.
 */
export function named(
  tools: readonly UnnamedTool[],
  reserved: ReadonlySet<string> = new Set(),
  offered: readonly OfferedTool[] = [],
): readonly OfferedTool[] {
  const wanted = new Map<string, UnnamedTool[]>();
  for (const tool of tools) wanted.set(preferredNameOf(tool), [...(wanted.get(preferredNameOf(tool)) ?? []), tool]);
  const hasItself = (tool: UnnamedTool): boolean => {
    const rivals = (wanted.get(preferredNameOf(tool)) ?? []).filter((other) => other !== tool);
    if (tool.keeps) return !rivals.some(({ keeps }) => keeps);
    return rivals.length === 0 && !reserved.has(preferredNameOf(tool));
  };
  const plain = new Set(tools.filter(hasItself).map(preferredNameOf));
  const taken = new Set(offered.map(({ modelName }) => modelName));
  return tools.map((tool) => {
    const { preferredName: _, keeps: __, ...given } = tool;
    const own = hasItself(tool) ? preferredNameOf(tool) : null;
    const isFree = (name: string) => !taken.has(name) && (name === own || !plain.has(name));
    const modelName = [own ?? prefixed(tool), prefixed(tool)].find(isFree) ?? hashed(longName(tool), identityOf(tool));
    taken.add(modelName);
    return { modelName, ...given };
  });
}

function preferredNameOf({ preferredName, descriptor }: UnnamedTool): string {
  return preferredName ?? descriptor.name;
}

const LONGEST_NAME = 64;

/** `<extension>__<tool>`, or `<name>__<tool>` for a tool of a dynamic one; with a hash where it had to be changed or is too long. */
function prefixed(tool: UnnamedTool): string {
  const long = longName(tool);
  const isPlain = long.length <= LONGEST_NAME && long === `${shortId(tool.extensionId)}__${preferredNameOf(tool)}`;
  return isPlain ? long : hashed(long, identityOf(tool));
}

function longName(tool: UnnamedTool): string {
  return `${shortId(tool.extensionId)}__${preferredNameOf(tool)}`.replace(/[^a-zA-Z0-9_-]/gu, '_');
}

function identityOf(tool: UnnamedTool): string {
  return `${tool.extensionId}__${preferredNameOf(tool)}`;
}

function hashed(name: string, identity: string): string {
  return `${name.slice(0, LONGEST_NAME - 9)}_${sha256(identity).slice(0, 8)}`;
}

export interface TurnToolHost extends ToolHost {
  readonly dynamic: Pick<Host['dynamic'], 'open'>;
}

interface TurnToolsQuestion {
  readonly host: TurnToolHost;
  readonly clock: Clock;
  /** Extensions that are asked, in this order. */
  readonly providers: readonly string[];
  /** As providers are told it: `tools` are those of `uses_tools`. */
  readonly turn: TurnInfo;
  readonly policy: TurnPolicy;
  /** Names of tools that ship and may come during this turn. */
  readonly reserved: ReadonlySet<string>;
  /** What the turn has already. Their names stay, and so do they while their extensions have them. */
  readonly offered: readonly OfferedTool[];
  /** Tools that are offered already may be told differently: only before the model has seen them. */
  readonly mayRedescribe: boolean;
  /** Extensions have told other tools since: those of `uses_tools` that are new join, too, and those that are gone leave. */
  readonly isRenewed?: boolean;
}

/** The tools that a turn begins with. */
interface FirstTools extends ToolsOfTurn {
  /** The turn as it is with them. */
  readonly info: TurnInfo;
  /** `extension/tool` of those that `uses_tools` gives. */
  readonly own: readonly string[];
  readonly reserved: ReadonlySet<string>;
  /** Extensions that were asked what they bring. */
  readonly providers: readonly string[];
  readonly notes: readonly Diagnostic[];
}

/** Those of `uses_tools`, then what extensions bring. `infoOf`: the turn with the tools that it is named. */
export async function toolsOfTurn(
  { host, clock }: Pick<TurnToolsQuestion, 'host' | 'clock'>,
  { spec, policy, callees }: { readonly spec: AgentSpec; readonly policy: TurnPolicy; readonly callees: readonly AgentSpec[] },
  infoOf: (own: readonly string[]) => Promise<TurnInfo>,
  signal: AbortSignal,
): Promise<FirstTools> {
  const [{ tools: offered, reserved, notes }, asked] = await Promise.all([
    resolveTools(spec, host, policy, callees),
    host.providers.tools.turnProviders(spec),
  ]);
  const providers = asked.filter((id) => mayServe(policy, id));
  const turn = await infoOf(toolIds(offered));
  const question = { host, clock, providers, turn, policy, reserved, offered, mayRedescribe: true };
  const { tools, notices, late } = await withTurnTools(question, signal);
  const info = { ...turn, tools: toolIds(tools) };
  return {
    tools,
    late,
    info,
    own: turn.tools,
    reserved,
    providers,
    notes,
    notices: [...notices, ...missingDynamic(spec.usesTools, tools)],
  };
}

interface ToolsOfTurn {
  /** Those of `offered` that there still are, and behind them what is new. */
  readonly tools: readonly OfferedTool[];
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
  for (const tool of [own, ...answers].flatMap(({ tools }) => tools)) {
    const { extensionId, descriptor } = tool;
    const { name } = descriptor;
    if (!permits(policy, extensionId, name) || !isWanted(turn.agent.usesTools, extensionId, name)) continue;
    const index = offered.findIndex((tool) => tool.extensionId === extensionId && tool.descriptor.name === name);
    if (index < 0) added.set(`${extensionId}/${name}`, tool);
    else if (mayRedescribe) offered[index] = { ...(offered[index] as OfferedTool), descriptor };
  }
  const sent = sendable([...added.values()], offered);
  const lost = sent.notes.map(({ code, message, cure }) => ({ code, message: `${message}; ${cure}` }));
  return {
    tools: [...offered, ...named(sent.tools, question.reserved, offered)],
    notices: [...answers.flatMap(({ notices }) => notices), ...lost],
    late: providers.filter((_, index) => answers[index]?.late),
  };
}

async function withoutGone(offered: readonly OfferedTool[], host: ToolHost): Promise<readonly OfferedTool[]> {
  const gone = await Promise.all(offered.map((tool) => isGone(tool, host.providers.tools)));
  return offered.filter((_, at) => !gone[at]);
}

/** Notices on dynamic extensions that `uses_tools` names and that nobody declares. */
function missingDynamic(usesTools: readonly string[], tools: readonly OfferedTool[]): ToolsOfTurn['notices'] {
  return usesTools
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
  const { tool, ...described } = given;
  const descriptor = own.find(({ name }) => name === tool);
  if (descriptor) return { tools: [unnamed(question.host.extensions, extensionId, { ...descriptor, ...described })], notices: [] };
  return failed('tool_unknown', `'${extensionId}' brings the tool '${tool}' to this turn, and has none of that name`);
}

/** One that is not open in time goes on, and is there for a later step or turn. Its names and faults may say anything. */
async function open({ host, clock }: TurnToolsQuestion, providerId: string, extensionId: string): Promise<Answer> {
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
    return { tools: found.tools.map((descriptor) => ({ extensionId, descriptor })), notices };
  } catch (error) {
    return missing(codeOf(error, 'provider_unavailable'), messageOf(error));
  }
}

/** Turns wait so long for a dynamic extension in all, counted from the first that asked: most are there in less than one second. */
const PATIENCE_MS = 3000;

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
