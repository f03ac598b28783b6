import { didYouMean } from '@pith/plain-text';
import { type AgentSpec, codeOf, type Diagnostic, messageOf, type TurnPolicy } from '../../contract/index.ts';
import { canRun, type ExtensionFacts, type ToolDescriptor, type Tools } from '../../kernel/index.ts';
import { isDynamic } from '../../declarations/index.ts';
import { permits } from './gate.ts';
import type { OfferedTool } from './offered-tool.ts';
import { named, type UnnamedTool } from './tool-names.ts';
import { sendable, usable } from './sent-tools.ts';

interface ResolvedTools {
  /** With those on demand. */
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

/** What `uses_tools` and `finds_tools` mean at this moment, narrowed by the policy; `callees` are the agents that it may call. Never rejects. */
export async function resolveTools(
  spec: AgentSpec,
  host: ToolHost,
  policy: TurnPolicy = {},
  callees: readonly AgentSpec[] = [],
): Promise<ResolvedTools> {
  const { tools, reserved, notes } = await wantedTools(spec, host, policy, callees);
  return { tools: named(tools, reserved), reserved, notes };
}

export async function wantedTools(
  spec: AgentSpec,
  host: ToolHost,
  policy: TurnPolicy,
  callees: readonly AgentSpec[] = [],
): Promise<Omit<ResolvedTools, 'tools'> & { readonly tools: readonly UnnamedTool[] }> {
  const [used, found, reserved] = await Promise.all([
    listed('uses_tools', spec.usesTools, host),
    listed('finds_tools', spec.findsTools ?? [], host),
    reservedNames(spec, host),
  ]);
  const allowed = ({ extensionId, descriptor }: UnnamedTool) => permits(policy, extensionId, descriptor.name);
  const given = [...used.tools.values()].filter(allowed);
  const behind = [...found.tools].filter(([id]) => !used.tools.has(id)).map(([, tool]) => ({ ...tool, onDemand: true }));
  const { tools, notes } = fitting([...given, ...toolsOfAgents(given, callees, host.extensions), ...behind.filter(allowed)]);
  return { tools, reserved, notes: [...used.notes, ...found.notes, ...notes] };
}

/** Those that can be sent beside `offered`, then those on demand that could be, and what is to be said of the others. */
export function fitting(tools: readonly UnnamedTool[], offered: readonly OfferedTool[] = []): ReturnType<typeof sendable<UnnamedTool>> {
  const sent = sendable(
    tools.filter((tool) => !tool.onDemand),
    offered.filter((tool) => !tool.onDemand),
  );
  const findable = usable(tools.filter((tool) => tool.onDemand));
  return { tools: [...sent.tools, ...findable.tools], notes: [...sent.notes, ...findable.notes] };
}

/** The tools of one list of an agent by `extension/tool`, in its order. */
async function listed(
  key: string,
  list: readonly string[],
  host: ToolHost,
): Promise<{ readonly tools: ReadonlyMap<string, UnnamedTool>; readonly notes: readonly Diagnostic[] }> {
  const { extensions } = host;
  const everything = collected(list, extensions).filter((id) => canRun(extensions.state(id)));
  const asked = list.filter((entry) => !COLLECTIVE.includes(entry) && !isDynamic(entry)); // dynamic ones come turn by turn
  const entries = [...new Set([...asked, ...everything])];
  const answers = await Promise.all(entries.map((entry) => resolveEntry(`${key} '${entry}'`, entry, host)));
  const tools = answers.flatMap((answer) => answer.tools.map((tool) => [`${tool.extensionId}/${tool.descriptor.name}`, tool] as const));
  // What "*" and "sandbox" bring may fail without a word: the agent did not ask for it by name.
  return { tools: new Map(tools), notes: answers.flatMap(({ notes }, at) => (list.includes(entries[at] as string) ? notes : [])) };
}

export function entriesOf({ usesTools, findsTools = [] }: AgentSpec): readonly string[] {
  return [...usesTools, ...findsTools];
}

/** Entries of such a list that mean more than one extension: all, and those that do not ship. */
const COLLECTIVE: readonly string[] = ['*', 'sandbox'];

/** Also in Pith's own sandbox a person's extension is theirs: its code is not what came with Pith. */
function collected(usesTools: readonly string[], extensions: Pick<ExtensionFacts, 'ids' | 'keepsNames' | 'isForeign'>): readonly string[] {
  if (usesTools.includes('*')) return extensions.ids();
  return usesTools.includes('sandbox') ? extensions.ids().filter((id) => !extensions.keepsNames(id) || extensions.isForeign(id)) : [];
}

/** `; 'x' failed, and its tools are missing: see 'pith doctor'` where an extension that an agent uses cannot run, else nothing. For the end of a message. */
export function missingTools(spec: AgentSpec, extensions: Pick<ExtensionFacts, 'ids' | 'state' | 'keepsNames' | 'isForeign'>): string {
  const all = entriesOf(spec);
  const wanted = new Set([...all.map((entry) => entry.split('/', 1)[0] as string), ...collected(all, extensions)]);
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
export function unnamed(extensions: Pick<ExtensionFacts, 'keepsNames'>, extensionId: string, descriptor: ToolDescriptor): UnnamedTool {
  return { extensionId, descriptor, keeps: extensions.keepsNames(extensionId) && descriptor.overridable !== true };
}

interface Entry {
  readonly tools: readonly UnnamedTool[];
  readonly notes: readonly Diagnostic[];
}

/** `where`: `uses_tools 'x'`, for messages. */
async function resolveEntry(where: string, entry: string, { extensions, providers: { tools } }: ToolHost): Promise<Entry> {
  const slash = entry.indexOf('/');
  const extensionId = slash < 0 ? entry : entry.slice(0, slash);
  const toolName = slash < 0 ? null : entry.slice(slash + 1);
  const state = extensions.state(extensionId);
  if (state === undefined) {
    return leftOut(
      'name_unknown',
      `${where}: nothing declares the extension '${extensionId}'${didYouMean(extensionId, extensions.ids())}`,
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
  return leftOut('tool_unknown', `${where}: '${extensionId}' has no tool '${toolName}'${hint}`, cure);
}

function leftOut(code: string, message: string, cure: string): Entry {
  return { tools: [], notes: [{ severity: 'warning', code, message, cure }] };
}

function degraded(message: string, extensionId: string, code = 'provider_unavailable'): Entry {
  return { tools: [], notes: [{ severity: 'warning', code, message, cure: `see what is wrong with ${extensionId}: pith doctor` }] };
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

function descriptionOf({ id, name, description }: AgentSpec): string {
  return `${description || name} (The agent '${id}': it works on the task by itself and returns its answer.)`;
}

function withoutAgent(schema: ToolDescriptor['inputSchema']): ToolDescriptor['inputSchema'] {
  const { properties, required, ...rest } = schema as { readonly properties?: object; readonly required?: readonly string[] };
  const left = Object.fromEntries(Object.entries(properties ?? {}).filter(([name]) => name !== AGENT));
  return { ...rest, properties: left, required: (required ?? []).filter((name) => name !== AGENT) };
}
