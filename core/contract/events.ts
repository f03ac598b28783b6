import type { Diagnostic } from './errors.ts';
import type { Retain, TurnEndReason, Usage } from './turn.ts';

interface FromPerson {
  readonly v: 1;
  readonly threadId: string;
  readonly channelId: string;
  readonly userId: string;
}

interface OfTurn {
  readonly turnId: string;
  readonly correlationId: string;
}

/** The kernel's durable topics and their payloads, each with its version. Written to disk, and delivered to every handler that a manifest declares. */
interface DurableTopicMap {
  /** A person's message, written together with the turn that answers it. */
  'user.message': FromPerson & { readonly turnId: string; readonly agentId: string; readonly text: string };
  /** Reaches the handler of this schedule; `at`: when it was due. */
  'schedule.due': { readonly v: 1; readonly extensionId: string; readonly name: string; readonly at: number };
  /** Reaches people through channels. `agents`: the path of agents, root first. */
  'approval.requested': FromPerson & { readonly approvalId: string; readonly tool: string; readonly agents: readonly string[] };
  'approval.answered': { readonly v: 1; readonly approvalId: string; readonly threadId: string; readonly answer: string };
  /** Reaches people through channels; `target`: one of a channel's kinds, a thread, or null for all. */
  notify: { readonly v: 1; readonly text: string; readonly kind: string } & Readonly<
    Record<'target' | 'threadId' | 'userId', string | null>
  >;
}

/** What the kernel publishes or handles, by name, with its payload. A topic is a fact in the past tense. */
export interface TopicMap extends DurableTopicMap {
  'extension.activated': { readonly extensionId: string; readonly generation: number };
  /** `phase`: of its life, or of an agent's. `at`: when. */
  'extension.failed': Omit<Diagnostic, 'severity' | 'column'> & {
    readonly extensionId: string;
    readonly phase: string;
    readonly cause?: string;
    readonly at: number;
  };
  'extension.reloaded': { readonly extensionId: string; readonly generation: number };
  'extension.stopped': { readonly extensionId: string };
  /** An edit while Pith runs left something that does not hold, or that cannot run. A reload that failed is `extension.failed`. */
  'problem.found': Diagnostic;
  'agent.changed': { readonly agentId: string; readonly state: 'active' | 'degraded' | 'failed' | 'removed' };
  /** What an extension answers for one of its protocols (`tool`, `skill`, `agents`, …) is different now: whoever keeps it asks again. */
  'provider.changed': { readonly extensionId: string; readonly protocol: string };
  /** `documents`: those of its context providers that are in its message, and not what had no room. */
  'turn.started': OfTurn & { readonly threadId: string; readonly agentId: string; readonly documents: readonly Retain[] };
  'turn.ended': OfTurn & { readonly threadId: string; readonly reason: TurnEndReason; readonly usage: Usage };
  'tool.called': OfTurn & { readonly extensionId: string; readonly tool: string; readonly ok: boolean; readonly ms: number };
  /** What a tool shows while its call runs, such as the output of a command: for people, never for the model. At most 64 KiB of text. */
  'tool.progressed': { readonly extensionId: string; readonly idempotencyKey: string; readonly text: string };
  'thread.compacted': {
    readonly threadId: string;
    /** The turn that had become too long; null when a person asked for it. */
    readonly turnId: string | null;
    readonly messages: number;
    readonly tokensBefore: number;
    readonly tokensAfter: number;
    /** How often the thread has been compacted, this time included. */
    readonly compactions: number;
    /** Results that asked to be kept: whose text is still whole in the thread, and whose is not. */
    readonly kept: readonly Retain[];
    readonly dropped: readonly Retain[];
  };
  /** What a service offers now, in one line for whoever started it: where it listens. */
  'service.ready': { readonly extensionId: string; readonly text: string };
  /** People can be reached through this extension now: what waited for a channel is delivered. */
  'channel.opened': { readonly extensionId: string };
}

type Publisher = { readonly durable: boolean; readonly by: 'kernel' | 'itself' | 'declared' };

/** Who publishes each of these: the kernel alone, an extension of itself, or who names it in `events.publishes`; and whether it is durable. */
export const TopicMap: Readonly<Record<keyof TopicMap, Publisher>> = {
  ...publishedBy('kernel', false, ['extension.activated', 'extension.failed', 'extension.reloaded', 'extension.stopped']),
  ...publishedBy('kernel', false, ['problem.found', 'agent.changed', 'turn.started', 'turn.ended', 'tool.called', 'thread.compacted']),
  ...publishedBy('itself', false, ['provider.changed', 'tool.progressed', 'service.ready', 'channel.opened']),
  ...publishedBy('kernel', true, ['user.message', 'approval.requested', 'approval.answered']),
  ...publishedBy('declared', true, ['schedule.due', 'notify']),
};

function publishedBy<Name extends keyof TopicMap>(by: Publisher['by'], durable: boolean, names: readonly Name[]): Record<Name, Publisher> {
  return Object.fromEntries(names.map((name) => [name, { durable, by }])) as Record<Name, Publisher>;
}

/** A topic that an extension defines: two of one id are the same, whoever made the value. */
export interface Topic<T extends object = object, Durable extends boolean = boolean> {
  readonly id: string;
  readonly durable: Durable;
  /** Carries `T` for inference; never set. */
  readonly type?: T;
}

/** A topic as the manifest of its extension names it in `defines.topics`. `durable`: on disk until every handler that a manifest declares has had it. */
export function defineTopic<T extends object>(id: string, options: { readonly durable: true }): Topic<T, true>;
export function defineTopic<T extends object>(id: string, options?: { readonly durable?: false }): Topic<T, false>;
export function defineTopic(id: string, { durable = false }: { readonly durable?: boolean } = {}): Topic {
  return Object.freeze({ id, durable });
}

export interface PublishOptions {
  /** When it is delivered; absent: now. What was missed is delivered late, once. */
  readonly at?: number;
  /** Events of one key reach each handler in the order in which they fell due. */
  readonly key?: string;
  /** Names the message that caused it; absent: that of the call which publishes, where the kernel knows it. */
  readonly correlationId?: string;
}

/** One durable event on its way to one handler; its first `attempt` is 1. */
export interface Delivery {
  /** The event's; the same for each attempt and each handler. */
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly attempt: number;
  readonly correlationId: string;
  /** Aborts when Pith stops or the time of the delivery is over. */
  readonly signal: AbortSignal;
}

/** Topics of the kernel by name, those of extensions by their token. A listener that throws or waits never delays or breaks another. */
export interface Events {
  /** Resolves to the event's id when it is on disk, with a delivery for each handler. JSON of at most 256 KiB. */
  publish<T extends keyof DurableTopicMap>(topic: T, payload: DurableTopicMap[T], options?: PublishOptions): Promise<string>;
  publish<T extends object>(topic: Topic<T, true>, payload: T, options?: PublishOptions): Promise<string>;
  publish<T extends Exclude<keyof TopicMap, keyof DurableTopicMap>>(topic: T, payload: TopicMap[T]): void;
  publish<T extends object>(topic: Topic<T, false>, payload: T): void;
  /** Returns its off. What an extension handles ends with the extension. Of durable topics, those that are published in this process from now on. */
  handle<T extends keyof TopicMap>(topic: T, listener: (payload: TopicMap[T]) => void | Promise<void>): () => void;
  handle<T extends object>(topic: Topic<T>, listener: (payload: T) => void | Promise<void>): () => void;
}
