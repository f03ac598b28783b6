import { isThenable } from '../contract/promises.ts';
import { DURABLE_TOPICS } from '../contract/events.ts';
import type { Events, PublishOptions, Topic, TopicMap } from '../contract/index.ts';
import type { Peer } from './peer.ts';

const DURABLE: ReadonlySet<string> = new Set(DURABLE_TOPICS);

type Listener = (payload: TopicMap[Topic]) => void | Promise<void>;

/** The kernel's bus, as an extension in its own process sees it: topics are asked for while somebody listens. */
export class ChildEvents implements Events {
  readonly #peer: () => Peer;
  readonly #listeners = new Map<Topic, Set<Listener>>();

  constructor(peer: () => Peer) {
    this.#peer = peer;
  }

  readonly publish = ((topic: Topic, payload: TopicMap[Topic], options?: PublishOptions) => {
    const args = [topic, payload, options];
    return DURABLE.has(topic) ? this.#peer().call('events.publish', args) : this.#peer().tell('events.publish', args);
  }) as Events['publish'];

  readonly handle: Events['handle'] = (topic, listener) => {
    const known = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, known);
    if (known.size === 0) this.#peer().tell('events.handle', [topic]);
    known.add(listener as Listener);
    return () => {
      if (known.delete(listener as Listener) && known.size === 0) this.#peer().tell('events.off', [topic]);
    };
  };

  /** What the kernel tells of. Listeners are isolated by the context that they came through. */
  arrived(topic: Topic, payload: TopicMap[Topic]): void {
    const listeners = this.#listeners.get(topic) ?? new Set<Listener>();
    for (const listener of listeners) {
      const result: unknown = listener(payload);
      if (isThenable(result)) result.then(undefined, () => undefined); // the context has recorded it
    }
  }
}
