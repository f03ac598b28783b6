import { isThenable } from '@pith/promises';
import type { Events, PublishOptions, Topic } from '../contract/index.ts';
import { topicOf } from '../kernel/index.ts';
import type { Peer } from '@pith/process-rpc';

type Listener = (payload: object) => void | Promise<void>;

/** The kernel's bus, as an extension in its own process sees it: topics are asked for while somebody listens. */
export class ChildEvents implements Events {
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(private readonly peer: Peer) {}

  readonly publish = ((topic: string | Topic, payload: object, options?: PublishOptions) => {
    const { id, durable } = topicOf(topic);
    return this.peer[durable ? 'call' : 'notify']('events.publish', [id, payload, options]);
  }) as Events['publish'];

  readonly handle = ((topic: string | Topic, listener: Listener) => {
    const { id } = topicOf(topic);
    const known = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, known);
    if (known.size === 0) this.peer.notify('events.handle', [id]);
    known.add(listener);
    return () => {
      if (known.delete(listener) && known.size === 0) this.peer.notify('events.off', [id]);
    };
  }) as Events['handle'];

  /** Events of the kernel. Listeners are isolated by the context that they came through. */
  arrived(topic: string, payload: object): void {
    const listeners = this.#listeners.get(topic) ?? new Set<Listener>();
    for (const listener of listeners) {
      const result: unknown = listener(payload);
      if (isThenable(result)) result.then(undefined, () => undefined); // the context has recorded it
    }
  }
}
