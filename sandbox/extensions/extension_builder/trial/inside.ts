import { codeOf, ContextProvider, messageOf, type ExtensionContext, type JsonValue, type TurnInfo } from 'pith';
import type { KernelPort, ShownExtension } from '../kernel-port.ts';
import { checkOfFailure, findingOfFailure, type TrialFinding, type TrialReport } from './report.ts';

/** The agent of the trial's sandbox: it has the tools that are tried. */
export const AGENT = 'trial_agent';
const QUESTION = 'What can you do?';
/** Notes on the sandbox that it is tried in, and on what a failure says. */
const OF_THE_TRIAL = ['not_agreed', 'isolation_in_process', 'guard_failed'];
const WARNED = ['provides_mismatch', 'tool_input_invalid', 'phase_slow'];

interface Tried {
  readonly findings: readonly TrialFinding[];
  readonly tried: readonly string[];
}

export interface InsidePorts {
  readonly kernel: KernelPort;
  readonly context: Pick<ExtensionContext, 'agents' | 'find'>;
}

/** Loads the extension of this sandbox, and calls once what may be called without asking: tools that change nothing, the context, and a guard. */
export async function tryHere(id: string, { kernel, context }: InsidePorts, signal: AbortSignal): Promise<TrialReport> {
  await agreeToGuard(id, kernel, signal);
  await kernel.loadAll(signal);
  const before = await kernel.shown(id, signal);
  const noted = before.notes.flatMap(({ code, message, ...place }): readonly TrialFinding[] => {
    if (OF_THE_TRIAL.includes(code)) return [];
    const check = code === 'phase_slow' ? 'load' : WARNED.includes(code) ? 'contract' : 'manifest';
    return [{ check, severity: 'warning', code, message, ...place }];
  });
  if (before.state !== 'active') return { id, loaded: false, findings: [...noted, findingOfFailure(before)], tools: [], tried: [] };
  const tools = before.provides.includes('tool') ? await kernel.tools(AGENT, signal) : [];
  const wantsNetwork = before.asks.some(({ ask }) => ask === 'network');
  const tries: Tried[] = [];
  for (const tool of tools) tries.push(await tryTool(kernel, tool, wantsNetwork, signal));
  if (before.provides.includes('context')) tries.push(await tryContext(id, context, signal));
  const after = await kernel.shown(id, signal);
  if (before.provides.includes('guard')) tries.push(triedGuard(after));
  const findings = [...noted, ...tries.flatMap((each) => each.findings), ...withoutACall(after)];
  return {
    id,
    loaded: true,
    findings,
    tools: tools.map(({ name, description, effect, needsApproval }) => ({ name, description, effect, needsApproval })),
    tried: tries.flatMap((each) => each.tried),
  };
}

/** A guard that nobody has agreed to is asked nothing; in a trial it sees no call but one that nobody makes. */
async function agreeToGuard(id: string, kernel: KernelPort, signal: AbortSignal): Promise<void> {
  const { asks } = await kernel.shown(id, signal);
  if (!asks.some(({ ask, withheld }) => ask === 'guard' && withheld)) return;
  await kernel.allow(id, ['guard'], signal);
  await kernel.reload(id, signal);
}

/** It has been asked where everything was loaded. */
function triedGuard(status: ShownExtension): Tried {
  const failed =
    status.code === 'guard_failed'
      ? [{ ...findingOfFailure(status), cure: 'correct the source; a guard must answer within one second' }]
      : [];
  return { findings: failed, tried: ['beforeToolCall'] };
}

/** What is wrong without a call that failed: an error in a timer, a promise that nobody waits for. */
function withoutACall(status: ShownExtension): readonly TrialFinding[] {
  return status.phase === undefined || checkOfFailure(status) === 'smoke' ? [] : [findingOfFailure(status)];
}

type ShownTool = Awaited<ReturnType<KernelPort['tools']>>[number];

async function tryTool(kernel: KernelPort, tool: ShownTool, wantsNetwork: boolean, signal: AbortSignal): Promise<Tried> {
  const { name, effect, inputSchema } = tool;
  if (effect === 'write') return skipped(name, "its effect is 'write'");
  const sample = sampleInput(inputSchema);
  if ('lacking' in sample)
    return skipped(name, `its schema gives no value for '${sample.lacking}'`, "add .meta({ examples: ['…'] }) to that part of `input`");
  const error = await kernel.callTool(AGENT, name, sample.input, signal);
  if (!error) return { findings: [], tried: [name] };
  if (error.code === 'approval_needed') return skipped(name, 'a person must agree to each call');
  const isFault = FAULTS.includes(error.code);
  const withoutNetwork = isFault && wantsNetwork ? ' (it was tried without the network that it asks for)' : '';
  const finding: TrialFinding = {
    check: 'smoke',
    severity: isFault && !wantsNetwork ? 'error' : 'warning',
    code: error.code,
    message: `tool '${name}' answered its example with ${error.code}: ${error.message}${withoutNetwork}`,
    cure: isFault ? 'refuse by toolError or PithError what can go wrong; correct the source' : 'give an example that works',
  };
  return { findings: [finding], tried: [name] };
}

function skipped(tool: string, why: string, cure?: string): Tried {
  const message = `tool '${tool}' was not called: ${why}`;
  return { findings: [{ check: 'smoke', severity: 'info', code: 'not_tried', message, cure }], tried: [] };
}

/** Codes that mean that the tool failed, and not that it answered with an error. */
const FAULTS: readonly string[] = [
  'tool_failed',
  'not_supported_yet',
  'not_declared',
  'provider_unavailable',
  'provider_failed',
  'provider_timeout',
  'tool_timeout',
  'tool_gone',
  'not_serialisable',
  'tool_input_invalid',
  'interrupted',
  'stopped',
];

async function tryContext(id: string, { agents, find }: InsidePorts['context'], signal: AbortSignal): Promise<Tried> {
  const provider = find(ContextProvider).find(({ extensionId }) => extensionId === id);
  if (provider === undefined) return { findings: [], tried: [] }; // it failed before, and that is told
  const turn: TurnInfo = {
    id: 'trial',
    threadId: 'trial',
    agent: await agents.find(AGENT),
    channelId: 'trial',
    userId: 'trial',
    tools: [],
    model: { ref: 'none', contextWindow: null },
    userTexts: [QUESTION],
    compactions: 0,
    held: [],
    bound: [],
    correlationId: 'trial',
    depth: 0,
  };
  try {
    await provider.getContext(QUESTION, turn, signal);
    return { findings: [], tried: ['getContext'] };
  } catch (error) {
    const message = `getContext failed: ${messageOf(error)}`;
    const cure = 'correct the source';
    return {
      findings: [{ check: 'smoke', severity: 'error', code: codeOf(error, 'provider_failed'), message, cure }],
      tried: ['getContext'],
    };
  }
}

type Schema = Readonly<Record<string, unknown>>;

/** An input that a tool's own schema gives, or the property that it gives none for. */
export type Sample = { readonly input: JsonValue } | { readonly lacking: string };

/** From `examples`, `default`, `const` and `enum`; what is optional is left out. */
export function sampleInput(schema: Schema, path = 'the input'): Sample {
  const known = ownSample(schema);
  if (known !== undefined) return { input: known };
  if (schema['type'] === 'boolean') return { input: false };
  if (schema['type'] === 'array' && !(Number(schema['minItems'] ?? 0) > 0)) return { input: [] };
  if (schema['type'] !== 'object') return { lacking: path };
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
  const required = new Set((schema['required'] ?? []) as readonly string[]);
  const input: Record<string, JsonValue> = {};
  for (const [name, property] of Object.entries(properties)) {
    const found = sampleInput(property, name);
    if ('input' in found && (required.has(name) || ownSample(property) !== undefined)) input[name] = found.input;
    else if ('lacking' in found && required.has(name)) return found;
  }
  return { input };
}

function ownSample({ examples, default: fallback, const: constant, enum: choices }: Schema): JsonValue | undefined {
  const [example] = Array.isArray(examples) ? (examples as readonly JsonValue[]) : [];
  const [choice] = Array.isArray(choices) ? (choices as readonly JsonValue[]) : [];
  return example ?? (fallback as JsonValue | undefined) ?? (constant as JsonValue | undefined) ?? choice;
}
