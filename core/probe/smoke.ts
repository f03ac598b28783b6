import { DEFAULT_LIMITS } from '../contract/agent.ts';
import { messageOf } from '../contract/errors.ts';
import type { Manifest, ToolDescriptor, ToolResult, TurnInfo } from '../contract/index.ts';
import type { ExtensionHost } from '../kernel/host.ts';
import type { ProbeFinding } from './report.ts';
import type { JsonValue } from '../contract/plain-data.ts';

interface Tried {
  readonly findings: readonly ProbeFinding[];
  readonly tried: readonly string[];
}

/** Calls once what may be called without asking: tools that change nothing, and the context. */
export async function trySurface(
  host: ExtensionHost,
  id: string,
  { manifest, tools }: { readonly manifest: Manifest; readonly tools: readonly ToolDescriptor[] },
  signal: AbortSignal,
): Promise<Tried> {
  const results: Tried[] = [];
  for (const tool of tools) results.push(await tryTool(host, id, tool, manifest.permissions.network, signal));
  if (manifest.provides.includes('context')) results.push(await tryContext(host, id, signal));
  return { findings: results.flatMap(({ findings }) => findings), tried: results.flatMap(({ tried }) => tried) };
}

async function tryTool(host: ExtensionHost, id: string, tool: ToolDescriptor, wantsNetwork: boolean, signal: AbortSignal): Promise<Tried> {
  const { name, effect, needsApproval, inputSchema } = tool;
  const skipped = (why: string, cure?: string): Tried => ({
    findings: [
      {
        check: 'smoke',
        severity: 'info',
        code: 'not_tried',
        message: `tool '${name}' was not called: ${why}`,
        ...(cure === undefined ? {} : { cure }),
      },
    ],
    tried: [],
  });
  if (effect === 'write') return skipped("its effect is 'write'");
  const sample = sampleInput(inputSchema);
  if ('lacking' in sample)
    return skipped(`its schema gives no value for '${sample.lacking}'`, "add .meta({ examples: ['…'] }) to that part of `input`");
  if (needsApproval === 'always' || (needsApproval === 'maybe' && (await host.needsApproval(id, name, sample.input, PROBE_TURN))))
    return skipped('a person must agree to each call');
  const result = await host.callTool(id, name, sample.input, { turn: PROBE_TURN, idempotencyKey: 'probe/0/0' }, signal);
  return { findings: judged(name, result, wantsNetwork), tried: [name] };
}

function judged(tool: string, result: ToolResult, wantsNetwork: boolean): readonly ProbeFinding[] {
  if (result.ok) return [];
  const { code, message } = result.error;
  const isFault = FAULTS.has(code);
  return [
    {
      check: 'smoke',
      severity: isFault && !wantsNetwork ? 'error' : 'warning',
      code,
      message: `tool '${tool}' answered its example with ${code}: ${message}${isFault && wantsNetwork ? ' (it was tried without the network that it asks for)' : ''}`,
      cure: isFault ? 'return toolError(code, message) for what can go wrong; correct the source' : 'give an example that works',
    },
  ];
}

/** An error of the tool's own is an answer; these are none. */
const FAULTS: ReadonlySet<string> = new Set([
  'tool_failed',
  'tool_timeout',
  'tool_gone',
  'not_serialisable',
  'tool_input_invalid',
  'interrupted',
  'stopped',
]);

async function tryContext(host: ExtensionHost, id: string, signal: AbortSignal): Promise<Tried> {
  const source = (await host.contexts()).find(({ extensionId }) => extensionId === id);
  if (source === undefined) return { findings: [], tried: [] }; // it failed before, and that is told
  try {
    await source.getContext('What can you do?', PROBE_TURN, signal);
    return { findings: [], tried: ['getContext'] };
  } catch (error) {
    const message = `getContext failed: ${messageOf(error)}`;
    return {
      findings: [{ check: 'smoke', severity: 'error', code: 'provider_failed', message, cure: 'correct the source; it has one second' }],
      tried: ['getContext'],
    };
  }
}

const PROBE_TURN: TurnInfo = {
  id: 'probe',
  threadId: 'probe',
  agent: {
    id: 'probe',
    name: 'Probe',
    description: '',
    model: 'default',
    integrationMode: 'none',
    instructions: '',
    prompt: null,
    promptFile: null,
    usesTools: [],
    usesSkills: [],
    delegatesTo: [],
    limits: DEFAULT_LIMITS,
    keys: {},
    origin: null,
  },
  channelId: 'probe',
  userId: 'probe',
  tools: [],
  model: { ref: 'none', contextWindow: null },
  userTexts: ['What can you do?'],
  compactions: 0,
  correlationId: 'probe',
  depth: 0,
};

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
