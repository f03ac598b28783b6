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

/** The kernel's durable topics with their versioned payloads. Stored, and delivered to every handler that a manifest declares. */
interface DurableTopicMap {
  /** A person's message, written together with the turn that answers it. */
  'user.message': FromPerson & { readonly turnId: string; readonly agentId: string; readonly text: string };
  /** Delivered to the handler of this schedule; `at`: when it was due. */
  'schedule.due': { readonly v: 1; readonly extensionId: string; readonly name: string; readonly at: number };
  /** Shown to people through channels. `agents`: the path of agents, root first. */
  'approval.requested': FromPerson & { readonly approvalId: string; readonly tool: string; readonly agents: readonly string[] };
  'approval.answered': { readonly v: 1; readonly approvalId: string; readonly threadId: string; readonly answer: string };
  /** A conversation was deleted: whoever keeps something of it up to `at` deletes that, too. Not of those in a store of a program. */
  'thread.removed': { readonly v: 1; readonly threadId: string; readonly at: number };
  /** Shown to people through channels; `target`: one of a channel's kinds, a thread, or null for all. `about`: a `task`, `run`, `extension`, … */
  notify: { readonly v: 1; readonly about?: Readonly<Record<'kind' | 'id', string>> } & Readonly<
    Record<'text' | 'kind', string> & Record<'target' | 'threadId' | 'userId', string | null>
  >;
  /** What earlier notices told of this is out of date: it was decided, or is gone. Channels show them no longer. */
  'notice.settled': { readonly v: 1; readonly about: Readonly<Record<'kind' | 'id', string>> };
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
  /** An edit while Pith runs left something invalid or unable to run. A failed reload is `extension.failed`. */
  'problem.found': Diagnostic;
  'agent.changed': { readonly agentId: string; readonly state: 'active' | 'degraded' | 'failed' | 'removed' };
  /** An extension's answers for one of its protocols (`tool`, `skill`, `agents`, …) have changed: caches of them must ask again. */
  'provider.changed': { readonly extensionId: string; readonly protocol: string };
  /** `documents`: those of its context providers that are in its message; those that did not fit are missing. */
  'turn.started': OfTurn & { readonly threadId: string; readonly agentId: string; readonly documents: readonly Retain[] };
  'turn.ended': OfTurn & { readonly threadId: string; readonly reason: TurnEndReason; readonly usage: Usage };
  'tool.called': OfTurn & { readonly extensionId: string; readonly tool: string; readonly ok: boolean; readonly ms: number };
  /** A tool's output while its call runs, such as that of a command: for people, never for the model. At most 64 KiB of text. */
  'tool.progressed': { readonly extensionId: string; readonly idempotencyKey: string; readonly text: string };
  'thread.compacted': {
    readonly threadId: string;
    /** The turn that had become too long; null when a person requested it. */
    readonly turnId: string | null;
    readonly messages: number;
    readonly tokensBefore: number;
    readonly tokensAfter: number;
    /** How often the thread has been compacted, including this time. */
    readonly compactions: number;
    /** Results with `retain`: those still whole in the thread, and those that are not. */
    readonly kept: readonly Retain[];
    readonly dropped: readonly Retain[];
  };
  /** What a service offers now, in one line for the person who started it; or it cannot: its failure follows, and ends a `pith serve` in which it was never ready. */
  'service.ready': { readonly extensionId: string; readonly text: string };
  'service.refused': { readonly extensionId: string };
  /** People can be reached through this extension now, so waiting messages are delivered. */
  'channel.opened': { readonly extensionId: string };
}

type Publisher = { readonly durable: boolean; readonly by: 'kernel' | 'itself' | 'declared' };

/** Who publishes each topic: the kernel alone, an extension about itself, or those with it in `events.publishes`; and its durability. */
export const TopicMap: Readonly<Record<keyof TopicMap, Publisher>> = {
  ...publishedBy('kernel', false, ['extension.activated', 'extension.failed', 'extension.reloaded', 'extension.stopped']),
  ...publishedBy('kernel', false, ['problem.found', 'agent.changed', 'turn.started', 'turn.ended', 'tool.called', 'thread.compacted']),
  ...publishedBy('itself', false, ['provider.changed', 'tool.progressed', 'service.ready', 'service.refused', 'channel.opened']),
  ...publishedBy('kernel', true, ['user.message', 'approval.requested', 'approval.answered', 'thread.removed']),
  ...publishedBy('declared', true, ['schedule.due', 'notify', 'notice.settled']),
};

function publishedBy<Name extends keyof TopicMap>(by: Publisher['by'], durable: boolean, names: readonly Name[]): Record<Name, Publisher> {
  return Object.fromEntries(names.map((name) => [name, { durable, by }])) as Record<Name, Publisher>;
}

/** A topic that an extension defines. Topics with the same id are the same, even as different objects. */
export interface Topic<T extends object = object, Durable extends boolean = boolean> {
  readonly id: string;
  readonly durable: Durable;
  /** Carries `T` for inference; never set. */
  readonly type?: T;
}

/** A topic that the manifest names in `defines.topics`. `durable`: stored until every handler that a manifest declares has had it. */
export function defineTopic<T extends object>(id: string, options: { readonly durable: true }): Topic<T, true>;
export function defineTopic<T extends object>(id: string, options?: { readonly durable?: false }): Topic<T, false>;
export function defineTopic(id: string, { durable = false }: { readonly durable?: boolean } = {}): Topic {
  return Object.freeze({ id, durable });
}

export interface PublishOptions {
  /** When it is delivered; absent: now. A missed time is delivered late, once. */
  readonly at?: number;
  /** Events with the same key reach each handler in the order in which they were due. */
  readonly key?: string;
  /** Identifies the message that caused it; absent: that of the publishing call, where the kernel knows it. */
  readonly correlationId?: string;
}

/** One durable event on its way to one handler; its first `attempt` is 1. */
export interface Delivery {
  /** The event's id; the same for each attempt and each handler. */
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly attempt: number;
  readonly correlationId: string;
  /** Aborts when Pith stops or the delivery's time is over. */
  readonly signal: AbortSignal;
}

/** Topics of the kernel by name, those of extensions by their token. A listener that throws or waits never delays or breaks another. */
export interface Events {
  /** Resolves the event's id when it is durable, with a delivery for each handler. JSON of at most 256 KiB. */
  publish<T extends keyof DurableTopicMap>(topic: T, payload: DurableTopicMap[T], options?: PublishOptions): Promise<string>;
  publish<T extends object>(topic: Topic<T, true>, payload: T, options?: PublishOptions): Promise<string>;
  publish<T extends Exclude<keyof TopicMap, keyof DurableTopicMap>>(topic: T, payload: TopicMap[T]): void;
  publish<T extends object>(topic: Topic<T, false>, payload: T): void;
  /** Returns a function that unsubscribes. Ends with the extension. Of durable topics, only this process's events from now on. */
  handle<T extends keyof TopicMap>(topic: T, listener: (payload: TopicMap[T]) => void | Promise<void>): () => void;
  handle<T extends object>(topic: Topic<T>, listener: (payload: T) => void | Promise<void>): () => void;
}
