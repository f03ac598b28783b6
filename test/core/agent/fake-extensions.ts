import { type ExtensionState, renderPrompt, type ToolDescriptor } from '../../../core/kernel/index.ts';
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
  type Protocol,
  type Remote,
  type SkillProvider,
  type ToolCall,
  toolError,
  type ToolProvider,
  toolResult,
  type TurnInfo,
} from '../../../core/contract/index.ts';
import { nearest } from '@pith/plain-text';
import type { AgentHost } from '../../../core/agent/index.ts';

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
  /** One that is brought is open when this resolves. */
  opening?: Promise<unknown>;
  tools?: Record<string, FakeTool>;
  /** What `getTurnTools` of it says. */
  turnTools?(
    turn: TurnInfo,
  ):
    | readonly Awaited<ReturnType<NonNullable<ToolProvider['getTurnTools']>>>[number][]
    | Promise<readonly Awaited<ReturnType<NonNullable<ToolProvider['getTurnTools']>>>[number][]>;
  context?: {
    readonly priority: number;
    readonly placement?: 'system' | 'turn';
    get(prompt: string, turn: TurnInfo): Promise<string | ContextParts | null> | ContextParts | string | null;
  };
}

/** Extensions in memory: what the host would offer, without loading anything. Everything may be changed while a test runs. One that is brought is declared as `set:<name>`. */
export interface FakeExtensions extends AgentHost {
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
    secrets: { redact: (text) => text, stream: () => null, redactJson: (value) => value },
    extensions: {
      ids: () => [...declared.keys()].filter((id) => !id.startsWith('set:')).sort(),
      isForeign: (id) => declared.get(id)?.foreign ?? false,
      keepsNames: (id) => declared.get(id)?.keepsNames ?? false,
      sourceOf: (id) => declared.get(id)?.source ?? 'as it was',
      state: (id) => (declared.has(id) ? (declared.get(id)?.state ?? 'active') : undefined),
    },
    providers: {
      tools: {
        of: async (id) => Object.entries(declared.get(id)?.tools ?? {}).map(([name, tool]) => descriptorOf(name, tool)),
        known: () => [],
        turnProviders: async ({ usesTools }) =>
          port.extensions
            .ids()
            .filter((id) => declared.get(id)?.turnTools && usesTools.some((entry) => entry === '*' || entry.split('/', 1)[0] === id)),
        ofTurn: async (id, turn) => (await declared.get(id)?.turnTools?.(turn)) ?? [],
        async call(id, name, input, call) {
          const tool = declared.get(id)?.tools?.[name];
          if (!tool) return toolError('tool_gone', `${id}/${name} is gone`);
          port.calls.push({ tool: `${id}/${name}`, input, key: call.idempotencyKey });
          try {
            const output = await tool.run?.(input, call);
            return isToolResult(output) ? output : toolResult((output ?? 'ok') as JsonValue);
          } catch (error) {
            return call.signal.aborted ? toolError('aborted', 'the turn was ended') : toolError('tool_failed', messageOf(error));
          }
        },
        needsApproval: async (id, name, input) => declared.get(id)?.tools?.[name]?.asks?.(input) ?? false,
        refusal: async () => null,
        present: async () => undefined,
      },
      active: async (protocol) => port.providers.running(protocol),
      running: <T extends object>({ id }: Protocol<T>) => remotes(port, id) as unknown as readonly Remote<T>[],
      remote: (id, protocol) => port.providers.running(protocol).find(({ extensionId }) => extensionId === id) ?? null,
      record: () => undefined,
    },
    brought: {
      async open(_, extensionId) {
        if (!declared.has(extensionId)) throw new PithError('provider_unavailable', `'${extensionId}' cannot be loaded: it is broken`);
        await declared.get(extensionId)?.opening;
        return { extensionId, tools: await port.providers.tools.of(extensionId), notes: [] };
      },
    },
    agents: {
      brought: async () => [],
      declared: () => [],
      checkKeys: async ({ keys }) => ({ notes: port.keyFindings, keys }),
      renderPrompt: (_, prompt) => renderPrompt(prompt),
    },
  };
  return port;
}

/** What the declared extensions provide of one protocol. */
function remotes(port: FakeExtensions, protocol: string): readonly object[] {
  if (protocol === 'compaction') return port.compactor === null ? [] : [{ extensionId: 'compactor', compact: port.compactor }];
  if (protocol === 'skill') return port.skillsState === 'off' ? [] : [provider(port)];
  return [...port.declared].flatMap(([extensionId, { context }]): readonly object[] => {
    if (protocol === 'turn')
      return [
        {
          extensionId,
          beginTurn: async ({ held }: TurnInfo) => void port.hooks.push(['begin', extensionId, held.map(({ key }) => key)]),
          endTurn: async ({ held }: TurnInfo, reason: string) => void port.hooks.push([reason, extensionId, held.map(({ key }) => key)]),
        },
      ];
    if (protocol !== 'context' || context === undefined) return [];
    const { priority: contextPriority, placement, get } = context;
    return [{ extensionId, contextPriority, placement, getContext: async (prompt: string, turn: TurnInfo) => get(prompt, turn) }];
  });
}

function provider(port: FakeExtensions): Remote<SkillProvider> {
  return {
    extensionId: 'skills',
    async getSkillContent(id: string): Promise<Awaited<ReturnType<SkillProvider['getSkillContent']>>> {
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
