import type { AgentSpec, Diagnostic } from '../contract/index.ts';
import { mayChangePith } from '../declarations/index.ts';
import type { ModelRouter } from '../models/index.ts';
import type { Fence } from '../store/index.ts';
import { createBoundSkills } from './prompt/instructions.ts';
import { checkAgent, createAgentRegistry, type AgentRegistry } from './registry/registry.ts';
import type { ApprovalStore } from './threads/approval.ts';
import type { ThreadQueue } from './threads/queue.ts';
import { type Branch, type Threads, unknownThread } from './threads/thread.ts';
import { checkThread, type ThreadCheck } from './turn/check-thread.ts';
import { compactByHand } from './turn/compaction.ts';
import { preview, type PreviewRequest, type PromptPreview } from './turn/plan.ts';
import type { TurnDependencies } from './turn/running-turn.ts';
import { createToolCaller, type ToolCaller } from './turn/tool-caller.ts';
import { createTurns, type RunTurn } from './turn/turn.ts';

/** What a kernel gives to run agents: extensions, a model, and where threads are kept. */
export interface AgentsOptions extends Pick<
  TurnDependencies,
  'host' | 'events' | 'clock' | 'sandboxDir' | 'unreleased' | 'effort' | 'exportsTexts' | 'sendsTraceparent'
> {
  readonly models: Pick<ModelRouter, 'resolve' | 'isAlias' | 'providerOf' | 'price' | 'check'>;
  /** Opened when something needs them. */
  stores(): { readonly threads: Threads; readonly approvals: ApprovalStore; readonly queue: ThreadQueue };
  /** Tools that the settings want approved always: extension ids, `extension/tool` or `*`. */
  askAlways?(): readonly string[];
  /** In whose turns agents may change this Pith. Absent: in those of the person at the terminal. */
  mayChangePith?(userId: string): boolean;
  /** Awaited before each turn and each call by hand. What it rejects with ends the turn: the store may be damaged, or the disk full. */
  prepare?(): Promise<void>;
  /** Told how each turn ended, whoever reads its events. */
  ended?: Parameters<typeof createTurns>[2];
}

/** The agents of a kernel, and the one way to run them. */
export interface Agents extends AgentRegistry, ToolCaller {
  readonly run: RunTurn;
  /** What a turn would send, without sending or writing anything. */
  preview(request: PreviewRequest, signal?: AbortSignal): Promise<PromptPreview>;
  /** What keeps this agent from running, or what it must do without. Never rejects. */
  check(agent: AgentSpec): Promise<readonly Diagnostic[]>;
  /** Shortens a thread now. Equal figures mean that there was nothing to shorten. Rejects `thread_unknown`. */
  compact(threadId: string, signal?: AbortSignal): Promise<{ readonly tokensBefore: number; readonly tokensAfter: number }>;
  /** What is wrong with what is kept of a thread; `repair`: it is repaired. Waits and rejects as `renameThread` does. */
  checkThread(threadId: string, how?: { readonly repair?: boolean }, signal?: AbortSignal): Promise<ThreadCheck>;
  /** Gives a thread another title. Waits for a turn that runs in it here; rejects `thread_unknown`, or `thread_busy` where one runs elsewhere. */
  renameThread(threadId: string, title: string, signal?: AbortSignal): Promise<void>;
  /** Makes a thread of what another one has, or has before the message `before`. Returns its id. Rejects `thread_unknown` and, where it is sealed, `not_allowed`. */
  branchThread(threadId: string, from: Pick<Branch, 'before'> & { readonly title?: string }, signal?: AbortSignal): Promise<string>;
  /** Deletes a thread with all that was said, done and asked in it. Waits and rejects as `renameThread` does. */
  deleteThread(threadId: string, signal?: AbortSignal): Promise<void>;
}

export function createAgents(options: AgentsOptions): Agents {
  const { host, models, events, clock, sandboxDir, unreleased, effort, exportsTexts, sendsTraceparent } = options;
  const skills = createBoundSkills(host);
  const registry = createAgentRegistry(host, skills, events, clock);
  const askAlways = () => options.askAlways?.() ?? [];
  const mayChange = options.mayChangePith ?? ((userId: string) => mayChangePith([], userId));
  const rules = { askAlways, mayChangePith: mayChange };
  const common = {
    registry,
    skills,
    host,
    models,
    events,
    clock,
    sandboxDir,
    unreleased,
    effort,
    exportsTexts,
    sendsTraceparent,
    ...rules,
  };
  const dependencies = (): TurnDependencies => {
    const { threads, approvals, queue } = options.stores();
    return { ...common, threads, approvals, queue };
  };
  const prepared = async () => {
    await options.prepare?.();
    return dependencies();
  };
  const run = createTurns(prepared, host.secrets, options.ended);
  const tools = createToolCaller(common);
  return {
    ...registry,
    ...tools,
    async callTool(...asked) {
      await options.prepare?.();
      return tools.callTool(...asked);
    },
    run,
    preview: (request, signal) => preview(dependencies(), request, signal),
    check: (agent) => checkAgent(registry, models, agent),
    compact: (threadId, signal) => compactByHand(dependencies(), threadId, signal),
    checkThread: (threadId, how, signal) => checkThread(options.stores(), threadId, how, signal),
    async renameThread(threadId, title, signal) {
      const { queue, threads } = options.stores();
      await queue.run(threadId, ({ fence }) => threads.writer(fence).rename(threadId, title), signal);
    },
    async branchThread(threadId, { before, title }, signal) {
      const { queue, threads } = options.stores();
      const found = await threads.find(threadId);
      if (found === null) throw unknownThread(threadId);
      const id = await branchId(threads, threadId);
      const branch = { id, of: threadId, before, title: title ?? found.title };
      await queue.run(id, ({ fence }) => threads.writer(fence).branch(branch), signal);
      return id;
    },
    async deleteThread(threadId, signal) {
      const { queue, threads, approvals } = options.stores();
      const remove = async ({ fence }: { readonly fence: Fence }) => {
        await approvals.forget(threadId, fence);
        await threads.writer(fence).remove(threadId);
      };
      await queue.run(threadId, remove, signal);
    },
  };
}

/** Room for the number after it, in ids that a person can name. */
const LONGEST_BASE = 58;

/** `abc.2` for the first branch of `abc`, `abc.3` for the next, also for one of `abc.2`. */
async function branchId(threads: Pick<Threads, 'find'>, threadId: string): Promise<string> {
  const base = threadId.replace(/\.\d+$/u, '').slice(0, LONGEST_BASE);
  for (let number = 2; ; number += 1) if ((await threads.find(`${base}.${number}`)) === null) return `${base}.${number}`;
}
