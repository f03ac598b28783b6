import type { ContextSource, ExtensionsPort, ExtensionState, ToolDescriptor } from '../../../core/kernel/index.ts';
import {
  type ApprovalQuestion,
  type CompactionProvider,
  type ContextParts,
  type Diagnostic,
  isToolResult,
  type JsonValue,
  type Message,
  messageOf,
  PithError,
  type Remote,
  type SkillContent,
  type SkillProvider,
  type ToolCall,
  toolError,
  toolResult,
  type TurnInfo,
  type TurnTool,
} from '../../../core/contract/index.ts';
import { nearest } from '@pith/plain-text';
import { renderPrompt } from '../../../core/kernel/index.ts';

export interface FakeTool extends Partial<Omit<ToolDescriptor, 'name'>> {
  readonly run?: (input: JsonValue, call: ToolCall) => unknown;
  /** For `needsApproval: 'maybe'`. */
  readonly asks?: (input: JsonValue) => boolean | string | ApprovalQuestion;
}

export interface FakeExtension {
  state?: ExtensionState;
  source?: string;
  foreign?: boolean;
  keepsNames?: boolean;
  /** A toolset is open when this resolves. */
  opening?: Promise<unknown>;
  tools?: Record<string, FakeTool>;
  /** What `getTurnTools` of it says. */
  turnTools?(turn: TurnInfo): readonly TurnTool[] | Promise<readonly TurnTool[]>;
  context?: {
    readonly priority: number;
    readonly placement?: 'system' | 'turn';
    get(prompt: string, turn: TurnInfo): Promise<string | ContextParts | null> | ContextParts | string | null;
  };
}

/** Extensions in memory: what the host would offer, without loading anything. Everything may be changed while a test runs. A toolset is declared as `toolset:<id>`. */
export interface FakeExtensions extends ExtensionsPort {
  readonly declared: Map<string, FakeExtension>;
  /** Bodies by skill id; null switches skills off, as a declared but disabled provider would. */
  readonly skillBodies: Map<string, string>;
  skillsState: 'on' | 'off' | 'disabled';
  readonly refused: Map<string, PithError>;
  readonly calls: { readonly tool: string; readonly input: JsonValue; readonly key: string }[];
  /** `begin` or the reason of the end, whom it was told to, and the keys of what the conversation held. */
  readonly hooks: (readonly [what: string, extensionId: string, held: readonly string[]])[];
  keyFindings: readonly Diagnostic[];
  /** null: no extension shortens conversations. */
  compactor: CompactionProvider['compact'] | null;
}

/** All before the last question is summarised. */
const summariseAll: CompactionProvider['compact'] = async ({ messages }) => {
  const replaced = messages.findLastIndex(({ message, isSummary }) => message.role === 'user' && !isSummary);
  if (replaced < 1) return null;
  const text = JSON.stringify(messages.slice(0, replaced).map(({ message }) => message));
  const prompt: Message[] = [
    { role: 'system', content: 'Shorten this.' },
    { role: 'user', content: [{ type: 'text', text }] },
  ];
  const summary: Message = { role: 'user', content: [{ type: 'text', text: 'Before:' }] };
  return { replaced, messages: [{ message: summary, retain: {} }], summary: { ask: { prompt }, otherwise: 'EXTRACT' } };
};

export function fakeExtensions(extensions: Record<string, FakeExtension> = {}, skills: Record<string, string> = {}): FakeExtensions {
  const declared = new Map(Object.entries(extensions));
  const skillBodies = new Map(Object.entries(skills));
  const refused = new Map<string, PithError>();
  const port: FakeExtensions = {
    declared,
    skillBodies,
    refused,
    skillsState: 'on',
    calls: [],
    hooks: [],
    keyFindings: [],
    compactor: summariseAll,
    compaction: async () => (port.compactor === null ? null : { extensionId: 'compactor', compact: port.compactor }),
    cleaning: { redact: (text) => text, stream: () => null },
    ids: () => [...declared.keys()].filter((id) => !id.startsWith('toolset:')).sort(),
    isForeign: (id) => declared.get(id)?.foreign ?? false,
    keepsNames: (id) => declared.get(id)?.keepsNames ?? false,
    sourceOf: (id) => declared.get(id)?.source ?? 'as it was',
    state: (id) => (declared.has(id) ? (declared.get(id)?.state ?? 'active') : undefined),
    async tools(id) {
      return Object.entries(declared.get(id)?.tools ?? {}).map(([name, tool]) => descriptorOf(name, tool));
    },
    turnToolProviders: async ({ usesTools }) =>
      port.ids().filter((id) => declared.get(id)?.turnTools && usesTools.some((entry) => entry === '*' || entry.split('/', 1)[0] === id)),
    turnTools: async (id, turn) => (await declared.get(id)?.turnTools?.(turn)) ?? [],
    async openToolset(_, { id }) {
      const extensionId = `toolset:${id}`;
      if (!declared.has(extensionId)) throw new PithError('provider_unavailable', `the toolset '${id}' cannot be loaded: it is broken`);
      await declared.get(extensionId)?.opening;
      return { extensionId, tools: await port.tools(extensionId) };
    },
    async callTool(id, name, input, call, signal) {
      const tool = declared.get(id)?.tools?.[name];
      if (!tool) return toolError('tool_gone', `${id}/${name} is gone`);
      port.calls.push({ tool: `${id}/${name}`, input, key: call.idempotencyKey });
      try {
        const output = await tool.run?.(input, { ...call, signal });
        return isToolResult(output) ? output : toolResult((output ?? 'ok') as JsonValue);
      } catch (error) {
        return signal.aborted ? toolError('aborted', 'the turn was ended') : toolError('tool_failed', messageOf(error));
      }
    },
    needsApproval: async (id, name, input) => declared.get(id)?.tools?.[name]?.asks?.(input) ?? false,
    refusal: async () => null,
    presentTool: async () => undefined,
    async contexts() {
      return [...declared].flatMap(([extensionId, { context }]): ContextSource[] =>
        context
          ? [
              {
                extensionId,
                priority: context.priority,
                placement: context.placement ?? 'system',
                getContext: async (prompt, turn) => context.get(prompt, turn),
              },
            ]
          : [],
      );
    },
    beginTurn: async (id, { held }) => void port.hooks.push(['begin', id, held.map(({ key }) => key)]),
    endTurn: async (id, { held }, reason) => void port.hooks.push([reason, id, held.map(({ key }) => key)]),
    async skills() {
      return port.skillsState === 'off' ? null : provider(port);
    },
    renderPrompt: (_, prompt) => renderPrompt(prompt),
    checkAgentKeys: async ({ keys }) => ({ notes: port.keyFindings, keys }),
  };
  return port;
}

function provider(port: FakeExtensions): Remote<SkillProvider> {
  return {
    extensionId: 'skills',
    async getSkillContent(id: string): Promise<SkillContent> {
      if (port.skillsState === 'disabled') throw new PithError('skills_disabled', 'skills are switched off');
      const refusal = port.refused.get(id);
      if (refusal) throw refusal;
      const body = port.skillBodies.get(id);
      if (body === undefined)
        throw new PithError('skill_not_found', `no skill '${id}'; nearest: ${nearest(id, port.skillBodies.keys()).join(', ')}`);
      return { id, name: id, version: null, sha256: `sha-${id}-${body.length}`, body };
    },
    listSkills: async () => [],
    validateSkill: async () => [],
  };
}

function descriptorOf(name: string, tool: FakeTool): ToolDescriptor {
  const {
    description = `The tool ${name}.`,
    inputSchema = { type: 'object' },
    effect = 'read',
    needsApproval = 'never',
    timeoutMs = 20_000,
    optIn = false,
    agentTools,
    permission = {},
  } = tool;
  return { name, description, inputSchema, effect, needsApproval, timeoutMs, optIn, ...(agentTools && { agentTools }), permission };
}
