import { EventEmitter } from 'eventemitter3';
import { KERNEL_TOPICS } from '../records/kernel-names.ts';
import { type Diagnostic, type Events, messageOf, PithError, type PublishOptions, type Topic } from '../../contract/index.ts';
import { isThenable } from '@pith/promises';

/** Where durable topics are written. */
export interface DurableEvents {
  /** Resolves to the event's id when it is on disk. */
  publish(topic: string, payload: object, options?: PublishOptions): Promise<string>;
}

export interface EventsOptions {
  /** Told of each listener that threw or rejected. Must not throw. */
  onListenerError(topic: string, error: unknown): void;
  /** Asked for by the first durable event. Absent: this kernel keeps none, and publishing one rejects. */
  journal?(): DurableEvents;
}

export interface Bus extends Events {
  /** Tells listeners of what the journal has written. */
  announce(events: readonly { readonly topic: string; readonly payload: object }[]): void;
  close(): void;
}

/** The one bus. `publish` calls every listener at once, each on its own: none delays, breaks or sees the failure of another. */
export function createEvents({ onListenerError, journal }: EventsOptions): Bus {
  const emitter = new EventEmitter();
  const publish = (topic: string | Topic, payload: object, options?: PublishOptions): Promise<string> | undefined => {
    const { id, durable } = topicOf(topic);
    if (!durable) return void emitter.emit(id, payload);
    return new Promise((resolve) => {
      if (journal === undefined) throw new PithError('not_supported_yet', `'${id}' was not published: this kernel keeps no events`);
      resolve(journal().publish(id, payload, options));
    });
  };
  const handle = (topic: string | Topic, listener: (payload: object) => unknown): (() => void) => {
    const { id } = topicOf(topic);
    const isolated = (payload: object): void => {
      try {
        const result = listener(payload);
        if (isThenable(result)) result.then(undefined, (error: unknown) => onListenerError(id, error));
      } catch (error) {
        onListenerError(id, error);
      }
    };
    emitter.on(id, isolated);
    return () => void emitter.off(id, isolated);
  };
  return {
    publish: publish as Events['publish'],
    handle: handle as Events['handle'],
    announce(events) {
      for (const { topic, payload } of events) emitter.emit(topic, payload);
    },
    close() {
      emitter.removeAllListeners();
    },
  };
}

/** A topic by its name or token; a name that is none of the kernel's is not durable. */
export function topicOf(topic: string | Topic): Topic {
  return typeof topic === 'string' ? { id: topic, durable: KERNEL_TOPICS.get(topic)?.durable === true } : topic;
}

/** What listeners of the kernel's own threw: each message once, and not without end. */
export interface ListenerFailures {
  onListenerError(topic: string, error: unknown): void;
  diagnostics(): readonly Diagnostic[];
}

/** Messages beyond these say nothing new. */
const MOST_KEPT = 20;

export function createListenerFailures(): ListenerFailures {
  const messages = new Set<string>();
  return {
    onListenerError(topic, error) {
      if (messages.size < MOST_KEPT) messages.add(`a listener of '${topic}' failed: ${messageOf(error)}`);
    },
    diagnostics: () => [...messages].map((message) => ({ severity: 'warning', code: 'internal', message })),
  };
}
