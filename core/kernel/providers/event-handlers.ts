import type { Delivery, JsonValue, TopicMap } from '../../contract/index.ts';
import { handlerNames } from '../../declarations/index.ts';
import { type Slot, canRun } from '../lifecycle/actor.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { callInBackground } from './background-calls.ts';

/** Handlers are named `extension/method`. Nothing here loads code but `call`. */
export interface EventHandlers {
  /** Those that an event is for, loaded or not. */
  of(topic: string, payload: object): readonly string[];
  declared(): ReadonlySet<string>;
  /** Of extensions that can run now. */
  callable(): ReadonlySet<string>;
  /** Loads the extension when needed. Rejects with what the handler threw, `Postponed` while it is not there or when it was replaced meanwhile. Lasts until the handler has ended. */
  call(handler: string, payload: JsonValue, delivery: Omit<Delivery, 'signal'>, signal: AbortSignal): Promise<void>;
}

export function createEventHandlers(lifecycle: Lifecycle): EventHandlers {
  const enabled = (): readonly Slot[] => [...lifecycle.slots.values()].filter(({ config }) => config.enabled);
  const named = (slots: readonly Slot[]): readonly string[] =>
    slots.flatMap(({ id, declaration }) => handlerNames(declaration.manifest).map((name) => `${id}/${name}`));
  return {
    of(topic, payload) {
      const found = enabled().flatMap((slot) => handlersIn(slot, topic, payload));
      return FOR_CHANNELS.has(topic) ? [CHANNELS_HANDLER, ...found] : found;
    },
    declared: () => new Set([CHANNELS_HANDLER, ...named(enabled())]),
    callable: () => new Set(named(enabled().filter((slot) => slot.pending !== null || canRun(lifecycle.stateOf(slot))))),
    async call(handler, payload, delivery, signal) {
      const [extensionId = '', method = ''] = handler.split('/');
      const { correlationId } = delivery;
      const asked = {
        operation: `handler.${method}`,
        values: [payload, delivery],
        timeoutMs: DELIVERY_MS,
        signal,
        waitsForEnd: true,
      } as const;
      await callInBackground(lifecycle, { extensionId, phase: 'background', correlationId }, asked);
    },
  };
}

/** What follows `kernel/`: notices and questions that reach people through channels. */
export const CHANNELS_HANDLER = 'kernel/channels';

const FOR_CHANNELS: ReadonlySet<string> = new Set<keyof TopicMap>(['notify', 'notice.settled', 'approval.requested']);

/** How long one delivery may take. */
const DELIVERY_MS = 600_000;

function handlersIn({ id, declaration: { manifest } }: Slot, topic: string, payload: object): readonly string[] {
  if (manifest === null) return [];
  const names = new Set(manifest.events.handles.filter((each) => each.topic === topic).map(({ handler }) => handler));
  const due = topic === 'schedule.due' ? (payload as TopicMap['schedule.due']) : null;
  if (due?.extensionId === id)
    for (const { name, handler } of manifest.schedules) if (name === due.name && handler !== undefined) names.add(handler);
  return [...names].map((name) => `${id}/${name}`);
}
