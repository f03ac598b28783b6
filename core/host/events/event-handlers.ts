import type { Delivery, DurableTopic, DurableTopicMap, JsonValue } from '../../contract/index.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { callableHandlers, callHandler } from './call-handler.ts';
import { allHandlers, handlersOf, isEnabled } from './declared-handlers.ts';

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
  of(topic: DurableTopic, payload: DurableTopicMap[DurableTopic]): readonly string[];
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
