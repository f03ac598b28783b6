import {
  type AgentSpec,
  type Clock,
  type Events,
  type JsonValue,
  type ModelCallOptions,
  type Remote,
  type ToolResult,
  type TurnEvent,
  type TurnInfo,
  type TurnPolicy,
  TurnProvider,
} from '../../contract/index.ts';
import type { Usage, TurnEndReason, Retain, Delegated, Threads, ThreadWriter, TurnRecord } from '../threads/thread.ts';
import type { Span } from '@pith/genai-spans';
import type { ModelRouter, ResolvedModel } from '../../models/index.ts';
import type { ApprovalStore } from '../threads/approval.ts';
import type { ThreadQueue } from '../threads/queue.ts';
import type { Fence } from '../../store/index.ts';
import type { BoundSkills, NamedText } from '../prompt/instructions.ts';
import type { Notice } from '../prompt/context.ts';
import type { OfferedDocument } from '../prompt/messages.ts';
import type { ModelPrompt } from '../prompt/request.ts';
import type { Cleaning } from '../../trust/index.ts';
import type { DeclaredAgents, Host, Providers } from '../../kernel/index.ts';
import type { AgentRegistry } from '../registry/registry.ts';
import { mayServe, type PithRights } from '../tools/gate.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import { SWITCHED_OFF } from '../tools/tools.ts';
import type { TurnToolHost } from '../tools/turn-tools.ts';

/** What agents take of the kernel. */
export interface AgentHost extends TurnToolHost {
  readonly extensions: TurnToolHost['extensions'] & Pick<Host['extensions'], 'onChange'>;
  readonly providers: Pick<Providers, 'tools' | 'guards' | 'active' | 'running' | 'remote' | 'record' | 'findings'>;
  readonly agents: DeclaredAgents;
  readonly secrets: Cleaning;
}

/** What turns are made from. */
export interface TurnDependencies extends PithRights {
  readonly registry: AgentRegistry;
  readonly skills: BoundSkills;
  readonly host: AgentHost;
  readonly threads: Threads;
  readonly approvals: ApprovalStore;
  /** Tools that the settings want approved always: extension ids, `extension/tool` or `*`. */
  askAlways(): readonly string[];
  /** Of agents that name none, as the settings say. */
  effort?(): AgentSpec['effort'];
  readonly models: Pick<ModelRouter, 'resolve' | 'isAlias' | 'providerOf' | 'price'>;
  readonly events: Events;
  readonly clock: Clock;
  readonly queue: ThreadQueue;
  /** Absent where nothing is done but looked at. */
  readonly hooks?: TurnHooks;
  /** Called when a thread could not be given back after its turn had ended. */
  unreleased?(threadId: string, error: unknown): void;
  /** A person wants what is said in the spans that are exported. */
  readonly exportsTexts?: boolean;
  /** A person has spans exported: models are told which one their answer belongs to. */
  readonly sendsTraceparent?: boolean;
  /** Absolute; prompts print it. */
  readonly sandboxDir: string;
}

export type FunctionTool = Extract<NonNullable<ModelCallOptions['tools']>[number], { type: 'function' }>;

/** All that is fixed for one turn before anything stored changes: agent, model, tools, instructions, contexts. Data, no code of extensions. */
export interface TurnPlan {
  readonly spec: AgentSpec;
  readonly info: TurnInfo;
  readonly limits: AgentSpec['limits'];
  readonly policy: TurnPolicy;
  readonly model: Pick<ResolvedModel, 'ref' | 'model' | 'contextWindow' | 'isOwn'>;
  readonly tools: PlannedTools;
  readonly system: string;
  /** What `system` is made of, in order. */
  readonly systemParts: readonly NamedText[];
  /** Whole texts that are first in the user's message. */
  readonly documents: readonly OfferedDocument[];
  /** Texts that are before the user's own in the same message. */
  readonly turnParts: readonly NamedText[];
  readonly notices: readonly Notice[];
}

/** The tools that a turn begins with, and whence more may come. */
interface PlannedTools {
  readonly offered: readonly OfferedTool[];
  /** With those that `find_tools` may still give. */
  readonly all: readonly OfferedTool[];
  readonly functions: FunctionTool[];
  /** `extension/tool` of those that `uses_tools` gives. */
  readonly own: readonly string[];
  /** Names of tools that ship and may come during the turn. */
  readonly reserved: ReadonlySet<string>;
  /** Extensions that were asked what they bring to this turn. */
  readonly providers: readonly string[];
  /** Those of them that bring extensions which were not open in time. */
  readonly late: readonly string[];
  /** How often extensions had told other tools before these were resolved. */
  readonly renewals: number;
}

/** A turn under way: what was fixed before it began, and what has happened so far. */
export interface RunningTurn {
  readonly deps: TurnDependencies;
  readonly plan: TurnPlan;
  readonly record: TurnRecord;
  /** What it stores, it stores as long as it holds its thread. */
  readonly writer: ThreadWriter;
  readonly fence: Fence;
  /** Those that are in its message. */
  readonly documents: readonly Retain[];
  readonly span: Span;
  readonly notices: NoticeSink;
  /** The turn that called this one; null for a person's own. */
  readonly parent: RunningTurn | null;
  readonly signal: AbortSignal;
  readonly events: StepEvents;
  readonly offer: Offer;
  readonly conversation: Conversation;
  readonly progress: Progress;
}

/** What the model and the tools know. Begins as the plan says; extensions may bring more during the turn. */
interface Offer {
  toolsByName: ReadonlyMap<string, OfferedTool>;
  /** With those that `find_tools` may still give. */
  all: readonly OfferedTool[];
  functionTools: FunctionTool[];
  /** Extensions that bring others which are still being opened: asked again after each step. */
  late: readonly string[];
  /** As the plan says it, of the last look. */
  renewals: number;
  /** Replaced when the thread is compacted, and with the tools. */
  info: TurnInfo;
}

/** What the model is sent. */
interface Conversation {
  prompt: ModelPrompt;
  /** null: none is sent. */
  effort: NonNullable<AgentSpec['effort']> | null;
  readonly meter: Meter;
}

/** What a turn has done. */
interface Progress {
  /** With that of the turns that it called. */
  usage: Usage;
  /** Of the last request to its model. */
  request: Usage;
  /** Its own use that no recorded step has yet: the requests of those that it called are not in it. */
  unrecorded: Usage;
  /** Model steps that have been persisted. */
  steps: number;
  /** Turns whose model is being asked: this one and those that it called. Each takes a step of the limits before it has it. */
  readonly asking: Set<string>;
  calls: number;
  /** Calls by tool, for saying what was done. */
  readonly called: Map<string, number>;
  /** What turns that this one called have done, and those that they called. Their tokens are in `usage`. */
  readonly delegated: Delegated;
  /** One of those waits for a person. */
  suspended: boolean;
  /** The last text that the model said in this turn. */
  text: string;
}

/** Tokens of the prompt as far as they are known. */
interface Meter {
  tokens: number;
  /** Messages of the prompt that `tokens` covers. */
  counted: number;
  /** The size at which compaction last gained nothing; 0: it was not tried. */
  incompressible: number;
}

export interface TurnEnd {
  readonly reason: TurnEndReason;
  /** True when the end has been persisted together with the last step. */
  readonly stored?: boolean;
  readonly error?: Extract<TurnEvent, { type: 'turn-end' }>['error'];
  /** The error as it was thrown. */
  readonly failure?: unknown;
}

/** One call as the model asked for it. */
export interface AskedCall {
  readonly callId: string;
  readonly name: string;
  readonly tool: OfferedTool | null;
  readonly input: JsonValue;
  /** Set when the call cannot be run: an unknown tool, or input that is no JSON object. */
  readonly problem: ToolResult | null;
}

const REMEMBERED_THREADS = 1000;

/** Passes a notice on once per thread, and once per agent what a person decided. Remembers the last thousand threads of this process. */
export class NoticeSink {
  readonly #seen = new Map<string, Set<string>>();
  readonly #decided = new Map<string, Set<string>>();

  /** Those of `notices` that are new in the thread of this turn. */
  fresh(
    { threadId, agent }: Pick<TurnRecord, 'threadId' | 'agent'>,
    notices: readonly { readonly code: string; readonly message: string }[],
  ): readonly TurnEvent[] {
    if (notices.length === 0) return [];
    const inThread = this.#seen.get(threadId) ?? new Set<string>();
    const ofAgent = this.#decided.get(agent.id) ?? new Set<string>();
    const found = notices.filter(({ code, message }) => {
      const key = `${code} ${message}`;
      const seen = code === SWITCHED_OFF ? ofAgent : inThread;
      const isNew = !seen.has(key);
      seen.add(key);
      return isNew;
    });
    this.#seen.delete(threadId);
    this.#seen.set(threadId, inThread);
    if (ofAgent.size > 0) this.#decided.set(agent.id, ofAgent);
    if (this.#seen.size > REMEMBERED_THREADS) this.#seen.delete(this.#seen.keys().next().value as string);
    return found.map(({ code, message }) => ({ type: 'notice', code, message }));
  }
}

/** What the calls of a step say while they run side by side, and the turns that they called. */
export class StepEvents {
  #waiting: TurnEvent[] = [];
  #wake = (): void => undefined;

  push(event: TurnEvent): void {
    this.#waiting.push(event);
    this.#wake();
  }

  /** What is said until `work` has settled. */
  async *until(work: Promise<unknown>): AsyncGenerator<TurnEvent, void, undefined> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
      this.#wake();
    };
    work.then(settle, settle);
    for (;;) {
      for (const event of this.#waiting.splice(0)) yield event;
      if (this.#waiting.length > 0) continue;
      if (isSettled) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** Calls the hooks of the extensions that provide `turn` where one turn begins and ends, and tells guards of its end. */
export class TurnHooks {
  #begun: readonly { readonly extensionId: string; readonly turn: TurnInfo; readonly ready: Promise<void> }[] = [];
  #hasEnded = false;

  constructor(private readonly providers: Pick<Providers, 'active' | 'running' | 'guards'>) {}

  /** Loads them. Awaited before anything else is asked of an extension in this turn. Never rejects: a hook that fails is recorded and costs nothing else. */
  async begin(turn: TurnInfo, policy: TurnPolicy): Promise<void> {
    const found = await this.providers.active(TurnProvider);
    if (this.#hasEnded) return; // stopped meanwhile
    this.#begun = found
      .filter(({ extensionId }) => mayServe(policy, extensionId))
      .map((provider) => ({ extensionId: provider.extensionId, turn, ready: quietly(provider.beginTurn?.(turn)) }));
    await Promise.all(this.#begun.map(({ ready }) => ready));
  }

  /** For each that has begun and still runs, side by side. `last`: the turn as it was known last. */
  async end(last: TurnInfo | null, reason: TurnEndReason, signal: AbortSignal): Promise<void> {
    this.#hasEnded = true;
    if (last) await this.providers.guards.turnEnded(last, reason, signal);
    await Promise.all(
      this.#begun.map(({ extensionId, turn, ready }) =>
        ready.then(() => quietly(this.#running(extensionId)?.endTurn?.(last ?? turn, reason))),
      ),
    );
  }

  #running(id: string): Remote<TurnProvider> | undefined {
    return this.providers.running(TurnProvider).find(({ extensionId }) => extensionId === id);
  }
}

/** What fails is recorded where it failed, and the turn goes on without. */
async function quietly(hook: void | Promise<void>): Promise<void> {
  await Promise.resolve(hook).catch(() => undefined);
}
