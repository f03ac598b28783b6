import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type AgentDeclaration, createEvents, type OriginalRequest } from '../../../core/kernel/index.ts';
import { DEFAULT_LIMITS } from '../../../core/trust/index.ts';
import type { AgentSpec, Clock, TurnEvent } from '../../../core/contract/index.ts';
import { createSqliteJournal } from '../../../core/durable/index.ts';
import { createLeases, openStore, sqliteLeaseRows } from '../../../core/store/index.ts';
import { fakeClock, type FakeClock, recordEvents, scriptedModel, type ScriptedStep } from 'pith/testing';
import {
  type AgentsOptions,
  createAgents,
  createSqliteApprovals,
  createSqliteThreads,
  createThreadQueue,
} from '../../../core/agent/index.ts';
import { fakeExtensions, type FakeExtension } from './fake-extensions.ts';
import { lastingFence } from '../store/temporary-store.ts';
import { agentSpec } from '../../fixtures/agent-spec.ts';

export function agent(id: string, parts: Partial<AgentSpec> = {}): AgentSpec {
  return agentSpec({ id, origin: `/sandbox/agents/${id}/manifest.yaml`, ...parts, limits: { ...DEFAULT_LIMITS, ...parts.limits } });
}

export function declaration(spec: AgentSpec): AgentDeclaration {
  return { id: spec.id, spec, diagnostics: [], file: spec.origin ?? '' };
}

/** Calls without input. */
export const calls = (...names: readonly string[]) => names.map((name) => ({ name, input: {} }));

export interface WorldOptions {
  readonly agents?: readonly AgentSpec[];
  readonly extensions?: Record<string, FakeExtension>;
  readonly skills?: Record<string, string>;
  readonly script?: readonly ScriptedStep[];
  readonly contextWindow?: number;
  /** Tools that the settings want approved always. */
  readonly askAlways?: readonly string[];
  /** Default: time stands still until `advance`. */
  readonly clock?: Clock;
  /** Another world's store: the same disk, a new process. */
  readonly file?: string;
}

export type End = Extract<TurnEvent, { type: 'turn-end' }>;

/** Turns with the real registry, store and queue; only the model, the clock and the extensions are made up. */
export async function createWorld(options: WorldOptions = {}) {
  const clock = (options.clock ?? fakeClock()) as FakeClock;
  const folder = options.file === undefined ? await mkdtemp(join(tmpdir(), 'pith-agents-')) : null;
  const file = options.file ?? join(folder as string, 'pith.db');
  const store = openStore(file, clock);
  const events = createEvents({
    onListenerError(_topic, error) {
      throw error;
    },
    journal: () => journal,
  });
  const journal = createSqliteJournal({ store, clock, handlers: () => [], written: events.announce });
  const recorded = recordEvents(events);
  const extensions = fakeExtensions(options.extensions, options.skills);
  const declarations = (options.agents ?? [agent('main')]).map(declaration);
  const model = scriptedModel(options.script, { contextWindow: options.contextWindow ?? null });
  const threads = createSqliteThreads(store, clock);
  const approvals = createSqliteApprovals(store, clock);
  const queue = createThreadQueue(createLeases(sqliteLeaseRows(store, clock), clock), clock);
  const models: AgentsOptions['models'] = {
    resolve: async () => ({ ref: 'scripted/scripted', why: 'test', model: model.model, contextWindow: model.contextWindow }),
    isAlias: (name) => name === 'default',
    providerOf: (ref) => (ref.includes('/') ? (ref.split('/', 1)[0] as string) : null),
    check: () => undefined,
  };
  const setup: AgentsOptions = {
    host: { ...extensions, agents: { ...extensions.agents, declared: () => declarations } },
    models,
    stores: () => ({ threads, approvals, queue }),
    events,
    clock,
    sandboxDir: '/sandbox',
    askAlways: () => options.askAlways ?? [],
  };
  const agents = createAgents(setup);

  async function collect(
    request: Partial<OriginalRequest>,
    signal?: AbortSignal,
  ): Promise<{ events: TurnEvent[]; end: End; text: string }> {
    const seen: TurnEvent[] = [];
    for await (const event of agents.run({ agent: 'main', threadId: 'thread', ...request }, signal)) seen.push(event);
    const end = seen.at(-1) as End;
    return { events: seen, end, text: end.text };
  }

  let closed = false;
  const stop = async () => {
    if (closed) return;
    closed = true;
    agents.stop();
    await store.close();
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  };
  onTestFinished(stop);

  return {
    clock,
    file,
    store,
    events,
    recorded,
    extensions,
    declarations,
    model,
    registry: agents.registry,
    threads,
    /** Writes what a turn of a program that has died left behind. */
    writer: threads.writer(await lastingFence(store, clock)),
    approvals,
    queue,
    models,
    agents,
    /** What `agents` were made of, for others over the same store. */
    setup,
    collect,
    stop,
    run: (input: string, request: Partial<OriginalRequest> = {}, signal?: AbortSignal) => collect({ input, ...request }, signal),
    history: async (threadId = 'thread') => ((await threads.load(threadId))?.messages ?? []).map(({ message }) => message),
  };
}

export type World = Awaited<ReturnType<typeof createWorld>>;

export function noticesOf(events: readonly TurnEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === 'notice' ? [event.code] : []));
}

/** All that is stored of threads, to be compared. */
export function storedRows({ store }: World): unknown {
  const tables = ['threads', 'messages', 'turns', 'turnagents', 'turndelegated', 'calls', 'approvals'];
  return Object.fromEntries(tables.map((table) => [table, store.all(`SELECT * FROM ${table}`)]));
}
