import type { Diagnostic, Manifest } from '../../contract/index.ts';
import type { Discovery } from './declaration.ts';
import { positionOf } from './positions.ts';

/** One note for each declared key that nothing acts on yet, so that nobody waits for what will not happen. */
export function notYet({ declarations }: Discovery): readonly Diagnostic[] {
  return [...declarations.values()].flatMap(({ id, file, manifest, positions }) =>
    manifest === null
      ? []
      : KEYS.filter(({ isUsed }) => isUsed(manifest)).map(({ path, what }): Diagnostic => ({
          severity: 'info',
          code: 'not_supported_yet',
          message: `'${id}': ${path} is read and checked, but ${what}`,
          file,
          ...(positions && positionOf(positions, path.split('.'))),
        })),
  );
}

const KEYS: readonly { readonly path: string; readonly what: string; isUsed(manifest: Manifest): boolean }[] = [
  { path: 'schedules', what: 'nothing is run by the clock yet', isUsed: ({ schedules }) => schedules.length > 0 },
  { path: 'events.handles', what: 'no handler is called yet; use context.events', isUsed: ({ events }) => events.handles.length > 0 },
];
