import { KERNEL_TOPICS } from '../declarations/index.ts';
import type { Events, Topic, TopicMap } from '../contract/index.ts';

export type RecordedEvent = { [T in keyof TopicMap]: { readonly topic: T; readonly payload: TopicMap[T] } }[keyof TopicMap];

export interface EventRecord {
  readonly events: readonly RecordedEvent[];
  of<T extends keyof TopicMap>(topic: T): readonly TopicMap[T][];
  of<T extends object>(topic: Topic<T>): readonly T[];
  stop(): void;
}

/** Keeps all that is published from now until `stop`: the kernel's topics, and those of extensions that are named. */
export function recordEvents(events: Events, ...topics: readonly Topic[]): EventRecord {
  const recorded: { readonly topic: string; readonly payload: object }[] = [];
  const keep = (topic: string | Topic): (() => void) => {
    const id = typeof topic === 'string' ? topic : topic.id;
    return events.handle(topic as Topic, (payload) => void recorded.push({ topic: id, payload }));
  };
  const offs = [...KERNEL_TOPICS.keys(), ...topics].map(keep);
  const of = (topic: string | Topic): readonly object[] => {
    const id = typeof topic === 'string' ? topic : topic.id;
    return recorded.flatMap((event) => (event.topic === id ? [event.payload] : []));
  };
  return { events: recorded as RecordedEvent[], of: of as EventRecord['of'], stop: () => offs.forEach((off) => off()) };
}
