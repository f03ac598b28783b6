import { type Delivery, type JsonValue, messageOf, type TopicMap } from '../../contract/index.ts';
import { handlerNames } from '../discovery/declaration.ts';
import { type Slot, canRun } from '../lifecycle/actor.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { running } from './handle.ts';
import { invoke, recordCall } from '../calls/invoke.ts';

/** One schedule of an enabled extension. */
export interface ScheduleDeclaration {
  readonly extensionId: string;
  readonly name: string;
  readonly cron: string;
  readonly handler: string;
}

/** Handlers are named `extension/method`. Nothing here loads code but `call`. */
export interface EventHandlers {
  /** Those that an event is for, loaded or not. */
  of(topic: string, payload: object): readonly string[];
  declared(): ReadonlySet<string>;
  /** Of extensions that can run now. */
  callable(): ReadonlySet<string>;
  schedules(): readonly ScheduleDeclaration[];
  /** Rejects with what the handler threw. */
  call(handler: string, payload: JsonValue, delivery: Omit<Delivery, 'signal'>, signal: AbortSignal): Promise<void>;
}

export function createEventHandlers(lifecycle: Lifecycle): EventHandlers {
  return {
    of: (topic, payload) => handlersOf(lifecycle, topic, payload),
    declared: () => allHandlers(lifecycle),
    callable: () => callableHandlers(lifecycle),
    schedules: () =>
      [...lifecycle.slots.values()]
        .filter(isEnabled)
        .flatMap(({ id, declaration }) =>
          (declaration.manifest?.schedules ?? []).map(({ name, cron, handler }) => ({ extensionId: id, name, cron, handler })),
        ),
    call: (handler, payload, delivery, signal) => callHandler(lifecycle, handler, payload, delivery, signal),
  };
}

/**
 * Only the kernel throws it: the handler is not there, was replaced, or nobody can be reached. The delivery waits and has not failed.
 * From the sixtieth time on it counts as failed all the same, unless it is `unlimited`.
 */
export class Postponed extends Error {
  constructor(
    cause: unknown,
    readonly unlimited = false,
  ) {
    super(messageOf(cause), { cause });
    this.name = 'Postponed';
  }
}

/** How long one delivery may take. */
const DELIVERY_MS = 600_000;

/** Calls `extension/method`, loading the extension when needed. Rejects with what it threw, `Postponed` while it is not there or when it was replaced meanwhile. */
async function callHandler(
  lifecycle: Lifecycle,
  handler: string,
  payload: JsonValue,
  delivery: Omit<Delivery, 'signal'>,
  signal: AbortSignal,
): Promise<void> {
  const [extensionId = '', method = ''] = handler.split('/');
  const generation = await running(lifecycle, extensionId).catch((error: unknown) => {
    throw new Postponed(lifecycle.runtime.secrets.redactError(error));
  });
  try {
    const values = [payload, delivery];
    await invoke(lifecycle, generation, {
      operation: `handler.${method}`,
      values,
      timeoutMs: DELIVERY_MS,
      signal,
      phase: 'background',
    });
  } catch (error) {
    recordCall(lifecycle.runtime, { extensionId, phase: 'background', correlationId: delivery.correlationId }, error);
    const redacted = lifecycle.runtime.secrets.redactError(error);
    throw generation.calls.isCut ? new Postponed(redacted) : redacted;
  }
}

/** Handlers of the extensions that can run now. */
function callableHandlers(lifecycle: Lifecycle): ReadonlySet<string> {
  return new Set(
    [...lifecycle.slots.values()]
      .filter((slot) => isEnabled(slot) && (slot.pending !== null || canRun(lifecycle.stateOf(slot))))
      .flatMap(({ id, declaration }) => handlerNames(declaration.manifest).map((name) => `${id}/${name}`)),
  );
}

/** What follows `kernel/`: notices and questions that reach people through channels. */
export const CHANNELS_HANDLER = 'kernel/channels';

const FOR_CHANNELS: ReadonlySet<string> = new Set<keyof TopicMap>(['notify', 'approval.requested']);

/** `extension/method` of each handler that the manifests of enabled extensions declare for an event, loaded or not. */
function handlersOf(lifecycle: Lifecycle, topic: string, payload: object): readonly string[] {
  const found = [...lifecycle.slots.values()].flatMap((slot) => handlersIn(slot, topic, payload));
  return FOR_CHANNELS.has(topic) ? [CHANNELS_HANDLER, ...found] : found;
}

/** Every handler that the manifests of enabled extensions declare. */
function allHandlers(lifecycle: Lifecycle): ReadonlySet<string> {
  const named = [...lifecycle.slots.values()]
    .filter(isEnabled)
    .flatMap(({ id, declaration }) => handlerNames(declaration.manifest).map((name) => `${id}/${name}`));
  return new Set([CHANNELS_HANDLER, ...named]);
}

function handlersIn(slot: Slot, topic: string, payload: object): readonly string[] {
  const { manifest } = slot.declaration;
  if (manifest === null || !isEnabled(slot)) return [];
  const names = new Set(manifest.events.handles.filter((each) => each.topic === topic).map(({ handler }) => handler));
  if (topic === 'schedule.due' && manifest.schedules.length > 0) {
    const due = payload as TopicMap['schedule.due'];
    if (due.extensionId === slot.id) for (const { name, handler } of manifest.schedules) if (name === due.name) names.add(handler);
  }
  return [...names].map((name) => `${slot.id}/${name}`);
}

function isEnabled({ config }: Slot): boolean {
  return config.enabled;
}
