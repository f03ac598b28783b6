/** Turns on the real kernel, whose extensions are what a test says: their code stands in the test. */
import path from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type AgentSpec,
  type ApprovalQuestion,
  type Clock,
  type CompactionProvider,
  type ContextParts,
  defineTool,
  type JsonValue,
  type Message,
  PithError,
  type ToolCall,
  type ToolProvider,
  type TurnEvent,
  type TurnInfo,
  z,
} from '../../../core/contract/index.ts';
import type { OriginalRequest, ToolDescriptor } from '../../../core/kernel/index.ts';
import type { ApprovalStore } from '../../../core/agent/index.ts';
import { DEFAULT_LIMITS } from '../../../core/trust/index.ts';
import { openStore } from '../../../core/store/index.ts';
import { nearest } from '@pith/plain-text';
import { fakeClock, type FakeClock, recordEvents, scriptedModel, type ScriptedStep } from 'pith/testing';
import { agentSpec } from '../../fixtures/agent-spec.ts';
import { folderWith, kernelOf, writeFiles } from '../../places.ts';
import { lastingFence } from '../store/temporary-store.ts';

export function agent(id: string, parts: Partial<AgentSpec> = {}): AgentSpec {
  return agentSpec({ id, origin: `/sandbox/agents/${id}/manifest.yaml`, ...parts, limits: { ...DEFAULT_LIMITS, ...parts.limits } });
}

/** Calls without input. */
export const calls = (...names: readonly string[]) => names.map((name) => ({ name, input: {} }));

/** An answer of the model that calls one tool, and one that makes the calls of several such answers. */
export const call = (name: string, input: JsonValue = {}) => ({ calls: [{ name, input }] });
export const together = (...each: readonly ReturnType<typeof call>[]) => ({ calls: each.flatMap((one) => one.calls) });

export type FakeTurnTool = Awaited<ReturnType<NonNullable<ToolProvider['getTurnTools']>>>[number];

export interface FakeTool extends Partial<Omit<ToolDescriptor, 'name'>> {
  readonly run?: (input: JsonValue, call: ToolCall) => unknown;
  /** For `needsApproval: 'maybe'`. */
  readonly asks?: (input: JsonValue) => boolean | string | ApprovalQuestion;
}

/** What an extension has. Its tools may be changed until they are asked for. */
export interface FakeExtension {
  state?: 'failed';
  tools?: Record<string, FakeTool>;
  turnTools?(turn: TurnInfo): readonly FakeTurnTool[] | Promise<readonly FakeTurnTool[]>;
  context?: {
    readonly priority: number;
    readonly placement?: 'system' | 'turn';
    get(prompt: string, turn: TurnInfo): Promise<string | ContextParts | null> | ContextParts | string | null;
  };
}

export interface WorldOptions {
  /** Default: `main`, with the tools of the extension `ext`. */
  readonly agents?: readonly AgentSpec[];
  readonly extensions?: Record<string, FakeExtension>;
  /** Those of the extension `ext`. */
  readonly tools?: Record<string, FakeTool>;
  /** Bodies by id. A body that is an error is refused with it. */
  readonly skills?: Record<string, string | PithError>;
  readonly script?: readonly ScriptedStep[];
  readonly contextWindow?: number;
  /** Tools that the settings want approved always. */
  readonly askAlways?: readonly string[];
  /** Default: time stands still until `advance`. */
  readonly clock?: Clock;
  /** Null: no extension shortens conversations. Default: all before the last question is summarised. */
  readonly compact?: CompactionProvider['compact'] | null;
  /** The home folder; default none. */
  readonly home?: string;
  /** Another world's: the same disk, a new process. */
  readonly sandbox?: string;
}

export type End = Extract<TurnEvent, { type: 'turn-end' }>;
type Answer = Parameters<ApprovalStore['answer']>[1];

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

/** Makes the extension of a sandbox; its entrypoint asks here. */
const makers = ((globalThis as { testWorlds?: Map<string, (id: string) => object> }).testWorlds ??= new Map());

export async function createWorld(options: WorldOptions = {}) {
  const { skills, compact = summariseAll, askAlways = [], script, contextWindow = null } = options;
  const extensions = { ...(options.tools && { ext: { tools: options.tools } }), ...options.extensions };
  const agents = options.agents ?? [agent('main', 'ext' in extensions ? { usesTools: ['ext'] } : {})];
  const clock = (options.clock ?? fakeClock()) as FakeClock;
  const declared = new Map<string, FakeExtension>(Object.entries(extensions));
  const toolCalls: { readonly tool: string; readonly input: JsonValue; readonly key: string }[] = [];
  const hooks: (readonly [what: string, extensionId: string, held: readonly string[]])[] = [];
  const sandbox = options.sandbox ?? path.join(folderWith(), 'sandbox');

  const partsOf = (id: string): object => {
    if (id === 'compactor') return { compact };
    if (id === 'skills') return skillProvider(skills ?? {});
    const { tools = {}, turnTools, context } = declared.get(id) ?? {};
    const heldBy = ({ held }: TurnInfo) => held.map(({ key }) => key);
    return {
      getTools: () =>
        Object.entries(tools).map(([tool, made]) => toolOf(tool, made, (call) => toolCalls.push({ ...call, tool: `${id}/${tool}` }))),
      ...(turnTools && { getTurnTools: async (turn: TurnInfo) => turnTools(turn) }),
      ...(context && {
        contextPriority: context.priority,
        placement: context.placement ?? 'system',
        getContext: async (prompt: string, turn: TurnInfo) => context.get(prompt, turn),
      }),
      beginTurn: async (turn: TurnInfo) => void hooks.push(['begin', id, heldBy(turn)]),
      endTurn: async (turn: TurnInfo, reason: string) => void hooks.push([reason, id, heldBy(turn)]),
    };
  };
  makers.set(sandbox, partsOf);
  const write = (id: string, provides: readonly string[], before = '') => {
    const main = `${before}\nexport default class { constructor() { return globalThis.testWorlds.get('${sandbox}')('${id}'); } }\n`;
    const manifest = JSON.stringify({ id, entrypoint: 'main.ts', provides });
    writeFiles(sandbox, { [`extensions/${id}/manifest.yaml`]: manifest, [`extensions/${id}/main.ts`]: main });
  };
  const declare = (id: string, { context, state }: FakeExtension, note = '') =>
    write(id, ['tool', 'turn', ...(context ? ['context'] : [])], state === 'failed' ? "throw new Error('it is broken');" : note);
  for (const [id, each] of declared) declare(id, each);
  if (compact !== null) write('compactor', ['compaction']);
  if (skills !== undefined) write('skills', ['skill']);
  for (const each of agents) writeFiles(sandbox, manifestOf(each));

  const model = scriptedModel(script, { contextWindow });
  const { kernel } = await kernelOf({
    sandbox,
    home: options.home ?? null,
    clock,
    only: [],
    model: { ...model, expectFinished: () => undefined },
    flags: { default_agent: 'main', approvals: { tools: [...askAlways] } },
  });
  const recorded = recordEvents(kernel.events);
  if ([...declared.values()].some(({ state }) => state !== undefined)) await kernel.host.extensions.activateAll();
  const { threads, approvals } = kernel;
  const store = openStore(path.join(sandbox, 'data/pith.db'), clock);
  onTestFinished(() => store.close());

  async function collect(request: Partial<OriginalRequest>, signal?: AbortSignal) {
    const seen: TurnEvent[] = [];
    for await (const event of kernel.agents.run({ agent: 'main', threadId: 'thread', ...request }, signal)) seen.push(event);
    const end = seen.at(-1) as End;
    return {
      events: seen,
      end,
      text: end.text,
      questions: seen.filter((event) => event.type === 'approval-request'),
      results: seen.filter((event) => event.type === 'tool-result'),
      notices: seen.flatMap((event) => (event.type === 'notice' ? [event.code] : [])),
    };
  }

  return {
    clock,
    sandbox,
    store,
    kernel,
    recorded,
    calls: toolCalls,
    hooks,
    model,
    threads,
    approvals,
    /** Writes what a turn of a program that has died left behind. */
    writer: threads.writer(await lastingFence(store, clock)),
    registry: kernel.agents,
    collect,
    /** Goes on with the turn that waits in this thread, or that a program which has died left behind. */
    resume: (request: Partial<OriginalRequest> = {}) => collect({ resume: true, ...request }),
    /** Answers the first question that is open. */
    answer: async (answer: Answer['answer'], more: Partial<Answer> = {}) =>
      approvals.answer((await approvals.list())[0]!.id, { answer, by: 'ann', ...more }),
    /** The turn itself, for who reads it step by step. */
    turn: (input: string, signal?: AbortSignal) =>
      kernel.agents.run({ agent: 'main', threadId: 'thread', input }, signal) as AsyncGenerator<TurnEvent, void, void>,
    run: (input: string, request: Partial<OriginalRequest> = {}, signal?: AbortSignal) => collect({ input, ...request }, signal),
    /** Begins a turn and stands still once its model speaks, with its lease gone, as if this program had been killed. */
    async dies(request: Partial<OriginalRequest>) {
      const stop = new AbortController();
      const turn = kernel.agents.run({ agent: 'main', threadId: 'thread', ...request }, stop.signal)[Symbol.asyncIterator]();
      onTestFinished(async () => {
        stop.abort();
        await turn.return?.();
      });
      for (let next = await turn.next(); next.value?.type !== 'text-delta'; next = await turn.next())
        if (next.done === true) throw new Error('the turn ended before its model spoke');
      await store.write((statement) => void statement('DELETE FROM leases'));
    },
    history: async (threadId = 'thread') => ((await threads.load(threadId))?.messages ?? []).map(({ message }) => message),
    /** Has this extension from now on, also in the place of another. */
    async declare(id: string, extension: FakeExtension) {
      declared.set(id, extension);
      declare(id, extension, `// ${Math.random()}`);
      await kernel.host.extensions.refresh();
    },
  };
}

export type World = Awaited<ReturnType<typeof createWorld>>;

function toolOf(name: string, tool: FakeTool, called: (call: { input: JsonValue; key: string }) => void) {
  const { needsApproval = 'never', run: _, asks: _asks, ...more } = tool;
  return defineTool({
    name,
    description: `The tool ${name}.`,
    inputSchema: { type: 'object' },
    effect: 'read',
    ...more,
    needsApproval: needsApproval === 'maybe' ? (input: unknown) => tool.asks?.(input as JsonValue) ?? false : needsApproval === 'always',
    input: z.any(),
    async execute(input: JsonValue, call) {
      called({ input, key: call.idempotencyKey });
      return (await tool.run?.(input, call)) ?? 'ok';
    },
  });
}

function skillProvider(skills: Readonly<Record<string, string | PithError>>): object {
  return {
    async getSkillContent(id: string) {
      const body = skills[id];
      if (body instanceof PithError) throw body;
      if (body === undefined)
        throw new PithError('skill_not_found', `no skill '${id}'; nearest: ${nearest(id, Object.keys(skills)).join(', ')}`);
      return { id, name: id, version: null, sha256: `sha-${id}-${body.length}`, body };
    },
    listSkills: async () => [],
    validateSkill: async () => [],
  };
}

/** The files that declare an agent. */
function manifestOf(spec: AgentSpec): Record<string, string> {
  const { id, name, description, model, integrationMode: integration_mode, instructions, prompt, usesTools: uses_tools } = spec;
  const { effort, findsTools: finds_tools = [] } = spec;
  const { usesSkills: uses_skills, delegatesTo: delegates_to, limits } = spec;
  const parts = { description, model, effort, integration_mode, instructions, uses_tools, finds_tools, uses_skills, delegates_to, limits };
  return {
    [`agents/${id}/manifest.yaml`]: JSON.stringify({ id, name, agent: parts }),
    ...(prompt !== null && { [`agents/${id}/prompt.jinja2`]: prompt }),
  };
}

/** The results of tools in a message. */
export function resultsIn(message: Message | undefined) {
  return message?.role === 'tool' ? message.content.filter((part) => part.type === 'tool-result') : [];
}

/** All that is stored of threads, to be compared. */
export function storedRows({ store }: World): unknown {
  const tables = ['threads', 'messages', 'turns', 'turnagents', 'turndelegated', 'calls', 'approvals'];
  return Object.fromEntries(tables.map((table) => [table, store.all(`SELECT * FROM ${table}`)]));
}
