import type { DurableTopic, DurableTopicMap, Manifest } from '../../contract/index.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Slot } from '../lifecycle/slot.ts';
import type { Operation } from '../calls/surface.ts';

/** What follows `kernel/`: notices and questions that reach people through channels. */
export const CHANNELS_HANDLER = 'kernel/channels';

const FOR_CHANNELS: ReadonlySet<DurableTopic> = new Set<DurableTopic>(['notify', 'approval.requested']);

/** `extension/method` of each handler that the manifests of enabled extensions declare for an event, loaded or not. */
export function handlersOf(lifecycle: Lifecycle, topic: DurableTopic, payload: DurableTopicMap[DurableTopic]): readonly string[] {
  const found = [...lifecycle.slots.values()].flatMap((slot) => handlersIn(slot, topic, payload));
  return FOR_CHANNELS.has(topic) ? [CHANNELS_HANDLER, ...found] : found;
}

/** Every handler that the manifests of enabled extensions declare. */
export function allHandlers(lifecycle: Lifecycle): ReadonlySet<string> {
  const named = [...lifecycle.slots.values()]
    .filter(isEnabled)
    .flatMap(({ id, declaration }) => handlerNames(declaration.manifest).map((name) => `${id}/${name}`));
  return new Set([CHANNELS_HANDLER, ...named]);
}

function handlersIn(slot: Slot, topic: DurableTopic, payload: DurableTopicMap[DurableTopic]): readonly string[] {
  const { manifest } = slot.declaration;
  if (manifest === null || !isEnabled(slot)) return [];
  const names = new Set(manifest.events.handles.filter((each) => each.topic === topic).map(({ handler }) => handler));
  if (topic === 'schedule.due' && manifest.schedules.length > 0) {
    const due = payload as DurableTopicMap['schedule.due'];
    if (due.extensionId === slot.id) for (const { name, handler } of manifest.schedules) if (name === due.name) names.add(handler);
  }
  return [...names].map((name) => `${slot.id}/${name}`);
}

export function isEnabled({ config }: Slot): boolean {
  return config.enabled;
}

/** `handler.<method>` for each method that a manifest names as a handler of events or schedules. What it returns is of no interest. */
export function handlerOperations(instance: object, handlers: readonly string[]): readonly (readonly [string, Operation])[] {
  const members = instance as Readonly<Record<string, (payload: unknown, delivery: unknown) => unknown>>;
  return handlers.map((name) => [
    `handler.${name}`,
    async ([payload, delivery], signal) => void (await members[name]?.call(instance, payload, { ...(delivery as object), signal })),
  ]);
}

/** The methods that `events.handles` and `schedules` name. */
export function handlerNames(manifest: Pick<Manifest, 'events' | 'schedules'> | null): readonly string[] {
  return [...new Set([...(manifest?.events.handles ?? []), ...(manifest?.schedules ?? [])].map(({ handler }) => handler))];
}
