import type { DeclaredCommand } from './host-options.ts';
import type { Slot } from './lifecycle/slot.ts';
import { runnable } from './lifecycle/slot-state.ts';

/** Commands of the extensions that can run, as their manifests declare them. */
export function declaredCommands(slots: ReadonlyMap<string, Slot>): readonly DeclaredCommand[] {
  return runnable(slots).flatMap(({ id, declaration }) =>
    (declaration.manifest?.commands ?? []).map(({ path, needs, entry, description }) => ({
      extensionId: id,
      path,
      needs,
      entry,
      description,
    })),
  );
}
