import type { Diagnostic, Failure } from './diagnostic.ts';
import type { Retain, TurnEndReason, Usage } from './turn.ts';

/** The durable topics and their payloads, each with its version. Written to disk, and delivered to every handler that a manifest declares. */
export interface DurableTopicMap {
  /** A person's message, written together with the turn that answers it. */
  'user.message': {
    readonly v: 1;
    readonly threadId: string;
    readonly turnId: string;
    readonly agentId: string;
    readonly channelId: string;
    readonly userId: string;
    readonly text: string;
  };
  'task.changed': {
    readonly v: 1;
    readonly taskId: string;
    readonly state: string;
    readonly goal: string;
    readonly threadId: string | null;
    readonly note: string | null;
  };
  /** Reaches the handler of this schedule; `at`: when it was due. */
  'schedule.due': { readonly v: 1; readonly extensionId: string; readonly name: string; readonly at: number };
  /** Reaches people through channels. `agents`: the path of agents, root first. */
  'approval.requested': {
    readonly v: 1;
    readonly approvalId: string;
    readonly tool: string;
    readonly agents: readonly string[];
    readonly threadId: string;
    readonly channelId: string;
    readonly userId: string;
  };
  'approval.answered': { readonly v: 1; readonly approvalId: string; readonly threadId: string; readonly answer: string };
  /** Reaches people through channels; `target`: one of a channel's kinds, a thread, or null for all. */
  notify: {
    readonly v: 1;
    readonly text: string;
    readonly kind: string;
    readonly target: string | null;
    readonly threadId: string | null;
    readonly userId: string | null;
  };
}

export type DurableTopic = keyof DurableTopicMap;

export const DURABLE_TOPICS = [
  'user.message',
  'task.changed',
  'schedule.due',
  'approval.requested',
  'approval.answered',
  'notify',
] as const satisfies readonly DurableTopic[];

/** Every topic and its payload. A topic is a fact in the past tense. Extensions publish and handle these and no others. */
export interface TopicMap extends DurableTopicMap {
  'extension.activated': { readonly extensionId: string; readonly generation: number };
  'extension.failed': Failure;
  'extension.reloaded': { readonly extensionId: string; readonly generation: number };
  'extension.stopped': { readonly extensionId: string };
  /** An edit while Pith runs left something that does not hold, or that cannot run. A reload that failed is `extension.failed`. */
  'problem.found': Diagnostic;
  'agent.changed': { readonly agentId: string; readonly state: 'active' | 'degraded' | 'failed' | 'removed' };
  'skills.changed': { readonly added: readonly string[]; readonly changed: readonly string[]; readonly removed: readonly string[] };
  /** What a turn did with a skill, or what a compaction did to it. What a turn was merely offered is in the rows of the skill provider. */
  'skill.used': {
    /** null where a person compacted the thread. */
    readonly turnId: string | null;
    readonly threadId: string;
    readonly agentId: string;
    readonly skillId: string;
    readonly state: 'loaded' | 'resource_read' | 'script_run' | 'dropped';
    /** By what way it was loaded. */
    readonly how?: string;
    /** Of the text that was loaded or dropped. */
    readonly sha256?: string;
    /** Of the resource or script. */
    readonly path?: string;
    /** The script's exit code; null when it was ended. */
    readonly exit?: number | null;
    readonly correlationId: string | null;
  };
  /** An extension's `getTools` answers something else now; the host asks it again. */
  'tools.changed': { readonly extensionId: string };
  /** A toolset was opened and brings other tools, or other problems, than when it was opened before. */
  'toolset.loaded': { readonly toolsetId: string; readonly tools: readonly string[]; readonly problems: readonly string[] };
  'turn.started': {
    readonly turnId: string;
    readonly threadId: string;
    readonly agentId: string;
    /** Those of its context providers that stand in its message: what had no room is not among them. */
    readonly documents: readonly Retain[];
    readonly correlationId: string;
  };
  'turn.ended': {
    readonly turnId: string;
    readonly threadId: string;
    readonly reason: TurnEndReason;
    readonly usage: Usage;
    readonly correlationId: string;
  };
  'tool.called': {
    readonly turnId: string;
    readonly extensionId: string;
    readonly tool: string;
    readonly ok: boolean;
    readonly ms: number;
    readonly correlationId: string;
  };
  'thread.compacted': {
    readonly threadId: string;
    /** The turn that had become too long; null when a person asked for it. */
    readonly turnId: string | null;
    readonly messages: number;
    readonly tokensBefore: number;
    readonly tokensAfter: number;
    /** How often the thread has been compacted, this time included. */
    readonly compactions: number;
    /** Results that asked to be kept and whose text still stands whole in the thread. */
    readonly kept: readonly Retain[];
    /** Those whose text has gone. */
    readonly dropped: readonly Retain[];
  };
  /** People can be reached through this extension now: what waited for a channel is delivered. */
  'channel.opened': { readonly extensionId: string };
}

export type Topic = keyof TopicMap;

export const TOPICS = [
  'extension.activated',
  'extension.failed',
  'extension.reloaded',
  'extension.stopped',
  'problem.found',
  'agent.changed',
  'skills.changed',
  'skill.used',
  'tools.changed',
  'toolset.loaded',
  'turn.started',
  'turn.ended',
  'tool.called',
  'thread.compacted',
  'channel.opened',
  ...DURABLE_TOPICS,
] as const satisfies readonly Topic[];

export type Off = () => void;

export interface PublishOptions {
  /** When it is delivered, in milliseconds since the epoch; absent: now. Kept over restarts; what was missed is delivered late, once. */
  readonly at?: number;
  /** Events of one key reach each handler in the order in which they fell due; those of other keys do not wait for them. */
  readonly key?: string;
  /** Names the message that caused it; absent: that of the call which publishes, where the kernel knows it. */
  readonly correlationId?: string;
}

/** One durable event on its way to one handler. */
export interface Delivery {
  /** The event's; the same for each attempt and each handler. */
  readonly id: string;
  readonly topic: DurableTopic;
  readonly key: string | null;
  /** 1 for the first. */
  readonly attempt: number;
  readonly correlationId: string;
  /** Aborts when Pith stops or the time of the delivery is over. */
  readonly signal: AbortSignal;
}

/** Typed topics. A listener that throws or waits never delays or breaks another. */
export interface Events {
  /** Resolves to the event's id when it is on disk, with a delivery for each handler. JSON of at most 256 KiB. */
  publish<T extends DurableTopic>(topic: T, payload: DurableTopicMap[T], options?: PublishOptions): Promise<string>;
  publish<T extends Exclude<Topic, DurableTopic>>(topic: T, payload: TopicMap[T]): void;
  /** Returns its off. What an extension handles ends with the extension. Of durable topics, those that are published in this process from now on. */
  handle<T extends Topic>(topic: T, listener: (payload: TopicMap[T]) => void | Promise<void>): Off;
}
