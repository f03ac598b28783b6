import type { Manifest } from '../../contract/index.ts';
import type { Operation } from './surface.ts';

/** `handler.<method>` for each method that a manifest names as a handler of events or schedules. What it returns is of no interest. */
export function handlerOperations(instance: object, handlers: readonly string[]): readonly (readonly [string, Operation])[] {
  const members = instance as Readonly<Record<string, (payload: unknown, delivery: unknown) => unknown>>;
  return handlers.map((name) => [
    `handler.${name}`,
    async ([payload, delivery], signal) =>
      void (await members[name]?.call(instance, payload, { ...(delivery as object), signal: signal.get() })),
  ]);
}

/** The methods that `events.handles` and `schedules` name. */
export function handlerNames(manifest: Pick<Manifest, 'events' | 'schedules'> | null): readonly string[] {
  return [...new Set([...(manifest?.events.handles ?? []), ...(manifest?.schedules ?? [])].map(({ handler }) => handler))];
}
