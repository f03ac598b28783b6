import { TOPICS, type Events, type Topic, type TopicMap } from '../contract/index.ts';

export type RecordedEvent = { [T in Topic]: { readonly topic: T; readonly payload: TopicMap[T] } }[Topic];

export interface EventRecord {
  readonly events: readonly RecordedEvent[];
  of<T extends Topic>(topic: T): readonly TopicMap[T][];
  stop(): void;
}

/** Keeps all that is published from now until `stop`. */
export function recordEvents(events: Events): EventRecord {
  const recorded: RecordedEvent[] = [];
  const offs = TOPICS.map((topic) => events.handle(topic, (payload) => void recorded.push({ topic, payload } as RecordedEvent)));
  return {
    events: recorded,
    of: <T extends Topic>(topic: T) => recorded.flatMap((event) => (event.topic === topic ? [event.payload as TopicMap[T]] : [])),
    stop: () => offs.forEach((off) => off()),
  };
}
