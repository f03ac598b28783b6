import { commandNames } from './command-names.ts';
import type { DeclaredCommand, HostOptions } from './host-options.ts';
import { runnable, type Slot } from './lifecycle/slot.ts';

/** Commands of the extensions that can run, as their manifests declare them. */
export function declaredCommands(slots: ReadonlyMap<string, Slot>, options: Pick<HostOptions, 'kernelPaths'>): readonly DeclaredCommand[] {
  const names = commandNames(slots, options);
  return runnable(slots).flatMap(({ id, declaration }) =>
    (declaration.manifest?.commands ?? []).map(({ path, needs, entry, description }) => ({
      extensionId: id,
      path: names.of(id, path),
      declared: path,
      needs,
      entry,
      description,
    })),
  );
}
