import { EventEmitter } from 'eventemitter3';
import { DURABLE_TOPICS } from '../../contract/events.ts';
import { isThenable } from '../../contract/promises.ts';
import { messageOf, PithError } from '../../contract/errors.ts';
import type { Diagnostic, DurableTopic, DurableTopicMap, Events, PublishOptions } from '../../contract/index.ts';

/** Where durable topics are written. */
export interface DurableEvents {
  /** Resolves to the event's id when it is on disk. */
  publish<T extends DurableTopic>(topic: T, payload: DurableTopicMap[T], options?: PublishOptions): Promise<string>;
}

export interface EventsOptions {
  /** Told of each listener that threw or rejected. Must not throw. */
  onListenerError(topic: string, error: unknown): void;
  /** Asked for by the first durable event. Absent: this kernel keeps none, and publishing one rejects. */
  journal?(): DurableEvents;
}

export interface Bus extends Events {
  /** Tells listeners of what the journal has written. */
  announce(events: readonly { readonly topic: DurableTopic; readonly payload: DurableTopicMap[DurableTopic] }[]): void;
  close(): void;
}

const DURABLE: ReadonlySet<string> = new Set(DURABLE_TOPICS);

/** The one bus. `publish` calls every listener at once, each on its own: none delays, breaks or sees the failure of another. */
export function createEvents({ onListenerError, journal }: EventsOptions): Bus {
  const emitter = new EventEmitter();
  const publish = (topic: string, payload: unknown, options?: PublishOptions): Promise<string> | undefined => {
    if (!DURABLE.has(topic)) return void emitter.emit(topic, payload);
    return new Promise((resolve) => {
      if (journal === undefined) throw new PithError('not_supported_yet', `'${topic}' was not published: this kernel keeps no events`);
      resolve(journal().publish(topic as DurableTopic, payload as DurableTopicMap[DurableTopic], options));
    });
  };
  return {
    publish: publish as Events['publish'],
    announce(events) {
      for (const { topic, payload } of events) emitter.emit(topic, payload);
    },
    handle(topic, listener) {
      const isolated = (payload: Parameters<typeof listener>[0]): void => {
        try {
          const result: unknown = listener(payload);
          if (isThenable(result)) result.then(undefined, (error: unknown) => onListenerError(topic, error));
        } catch (error) {
          onListenerError(topic, error);
        }
      };
      emitter.on(topic, isolated);
      return () => void emitter.off(topic, isolated);
    },
    close() {
      emitter.removeAllListeners();
    },
  };
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
