import { type AgentSpec, codeOf, type Diagnostic, type JsonValue, messageOf, type TurnPolicy } from '../../contract/index.ts';
import { canRun, type ExtensionFacts, type ToolDescriptor, type Tools, isBrought, shortId } from '../../kernel/index.ts';
import { didYouMean } from '@pith/plain-text';
import { permits } from './gate.ts';
import { createHash } from 'node:crypto';

/** A tool as one turn offers it: data only, no code. */
export interface OfferedTool {
  /** The name that the model sees: the tool's own, or `<extension>__<tool>` on a clash. */
  readonly modelName: string;
  readonly extensionId: string;
  readonly descriptor: ToolDescriptor;
  /** Stands in the input of every call, whatever the model writes: the agent that a tool of an agent's name runs. */
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
  const { extensions } = host;
  const wanted = new Map<string, UnnamedTool>();
  const notes: Diagnostic[] = [];
  const everything = spec.usesTools.includes('*') ? extensions.ids().filter((id) => canRun(extensions.state(id))) : [];
  const asked = spec.usesTools.filter((entry) => entry !== '*' && !isBrought(entry)); // what is brought comes turn by turn
  const entries = [...new Set([...asked, ...everything])];
  const [answers, reserved] = await Promise.all([
    Promise.all(entries.map((entry) => resolveEntry(entry, host))),
    reservedNames(spec, host),
  ]);
  answers.forEach((answer, index) => {
    // What "*" brings may fail without a word: the agent did not ask for it by name.
    if (spec.usesTools.includes(entries[index] as string)) notes.push(...answer.notes);
    for (const tool of answer.tools) wanted.set(`${tool.extensionId}/${tool.descriptor.name}`, tool);
  });
  const allowed = [...wanted.values()].filter(({ extensionId, descriptor }) => permits(policy, extensionId, descriptor.name));
  return { tools: named([...allowed, ...toolsOfAgents(allowed, callees, extensions)], reserved), reserved, notes };
}

/** `extension/tool` of each, once. */
export function toolIds(tools: readonly OfferedTool[]): readonly string[] {
  return [...new Set(tools.map(({ extensionId, descriptor }) => `${extensionId}/${descriptor.name}`))];
}

/** `; 'x' failed, and its tools are missing: see 'pith doctor'` where an extension that an agent uses cannot run, else nothing. For the end of a message. */
export function missingTools({ usesTools }: AgentSpec, extensions: Pick<ExtensionFacts, 'ids' | 'state'>): string {
  const named = usesTools.map((entry) => entry.split('/', 1)[0] as string);
  const wanted = new Set(named.includes('*') ? [...named, ...extensions.ids()] : named);
  const broken = [...wanted].filter((id) => ['failed', 'blocked'].includes(extensions.state(id) ?? '')).sort();
  if (broken.length === 0) return '';
  const names = broken.map((id) => `'${id}'`).join(', ');
  return `; ${names} failed, and ${broken.length === 1 ? 'its' : 'their'} tools are missing: see 'pith doctor'`;
}

async function reservedNames(spec: AgentSpec, { extensions, providers: { tools } }: ToolHost): Promise<ReadonlySet<string>> {
  const shipped = (await tools.turnProviders(spec)).filter((id) => extensions.keepsNames(id));
  const lists = await Promise.all(shipped.map((id) => tools.of(id).catch(() => []))); // what fails brings nothing
  return new Set(lists.flatMap((list) => list.filter(({ yields }) => !yields).map(({ name }) => name)));
}

/** A tool as its extension describes it, before its name is settled. */
export function unnamed(extensions: Pick<ExtensionFacts, 'keepsNames'>, extensionId: string, descriptor: ToolDescriptor): UnnamedTool {
  return { extensionId, descriptor, keeps: extensions.keepsNames(extensionId) && descriptor.yields !== true };
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
    return degraded(`the tools of '${entry}' are missing: ${why}`, extensionId);
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
  if (offered.length === 0) return degraded(`the tool '${entry}' is missing: '${extensionId}' offers no tools at present`, extensionId);
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
      wish: callee.id,
      keeps: extensions.keepsNames(callee.id),
      fixed: { [AGENT]: callee.id },
    }));
}

/** What the tool is called with: the model's input and what is filled in for it. */
export function withFixed(input: JsonValue, tool: Pick<OfferedTool, 'fixed'> | null): JsonValue {
  return tool?.fixed === undefined ? input : { ...(input as Readonly<Record<string, JsonValue>>), ...tool.fixed };
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
export type UnnamedTool = Omit<OfferedTool, 'modelName'> & {
  /** The name that it would have alone; default its own. */
  readonly wish?: string;
  /** Its name ships, and stays: an equal name of others gives way. */
  readonly keeps?: boolean;
};

/**
 * A name is that of the one tool that wants it. Of several the one that ships has it, where there is one alone; the others get their
 * extension's id in front. `reserved`: names that ship and may come during the turn.
 */
export function named(tools: readonly UnnamedTool[], reserved: ReadonlySet<string> = new Set()): readonly OfferedTool[] {
  const wanted = new Map<string, UnnamedTool[]>();
  for (const tool of tools) wanted.set(wishOf(tool), [...(wanted.get(wishOf(tool)) ?? []), tool]);
  const hasItself = (tool: UnnamedTool): boolean => {
    const rivals = (wanted.get(wishOf(tool)) ?? []).filter((other) => other !== tool);
    if (tool.keeps) return !rivals.some(({ keeps }) => keeps);
    return rivals.length === 0 && !reserved.has(wishOf(tool));
  };
  const plain = new Set(tools.filter(hasItself).map(wishOf));
  const taken = new Set<string>();
  return tools.map((tool) => {
    const { wish: _, keeps: __, ...offered } = tool;
    const isPlain = hasItself(tool);
    const wish = isPlain ? wishOf(tool) : prefixed(tool);
    const modelName = taken.has(wish) || (!isPlain && plain.has(wish)) ? hashed(longName(tool), identityOf(tool)) : wish;
    taken.add(modelName);
    return { modelName, ...offered };
  });
}

/** Names for tools that join `offered`, whose names stay: their own, or one with the id in front where that is taken or wanted twice. */
export function namedBeside(
  offered: readonly OfferedTool[],
  added: readonly UnnamedTool[],
  reserved: ReadonlySet<string>,
): readonly OfferedTool[] {
  const taken = new Set(offered.map(({ modelName }) => modelName));
  return named(added, reserved).map((tool) => {
    const wish = taken.has(tool.modelName) ? prefixed(tool) : tool.modelName;
    const modelName = taken.has(wish) ? hashed(longName(tool), identityOf(tool)) : wish;
    taken.add(modelName);
    return { ...tool, modelName };
  });
}

function wishOf({ wish, descriptor }: UnnamedTool): string {
  return wish ?? descriptor.name;
}

const LONGEST_NAME = 64;

/** `<extension>__<tool>`, or `<name>__<tool>` for a tool of one that was brought; with a hash where it had to be changed or is too long. */
function prefixed(tool: UnnamedTool): string {
  const long = longName(tool);
  const isPlain = long.length <= LONGEST_NAME && long === `${ownerOf(tool)}__${wishOf(tool)}`;
  return isPlain ? long : hashed(long, identityOf(tool));
}

function longName(tool: UnnamedTool): string {
  return `${ownerOf(tool)}__${wishOf(tool)}`.replace(/[^a-zA-Z0-9_-]/gu, '_');
}

function ownerOf({ extensionId }: UnnamedTool): string {
  return shortId(extensionId);
}

function identityOf(tool: UnnamedTool): string {
  return `${tool.extensionId}__${wishOf(tool)}`;
}

function hashed(name: string, identity: string): string {
  return `${name.slice(0, LONGEST_NAME - 9)}_${createHash('sha256').update(identity).digest('hex').slice(0, 8)}`;
}
