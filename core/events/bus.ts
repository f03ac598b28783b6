import { EventEmitter } from 'eventemitter3';
import { isThenable } from '../contract/thenable.ts';
import type { Events } from '../contract/index.ts';

export interface EventsOptions {
  /** Told of each listener that threw or rejected. Must not throw. */
  onListenerError(topic: string, error: unknown): void;
}

/** The one bus. `publish` calls every listener at once, each on its own: none delays, breaks or sees the failure of another. */
export function createEvents({ onListenerError }: EventsOptions): Events & { close(): void } {
  const emitter = new EventEmitter();
  return {
    publish(topic, payload) {
      emitter.emit(topic, payload);
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
