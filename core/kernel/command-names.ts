import type { Command } from '../contract/index.ts';
import { keepsNames } from './discovery/declaration.ts';
import type { HostOptions, DeclaredCommand } from './host-options.ts';
import { runnable, type Slot } from './lifecycle/slot.ts';

/** Under which names the commands of extensions are reached. */
export interface CommandNames {
  /** Its path, or `<extension>:<path>`. */
  of(extensionId: string, path: string): string;
  /** Those of an extension under their names. */
  under(extensionId: string, commands: readonly Command[]): readonly Command[];
}

/**
 * The words by which commands of the kernel and of what ships begin stay theirs, whether these run or not: a stranger's command that begins
 * so has its extension in front. So has a path that two strangers declare. A colon stands in no id and in no declared word.
 */
export function commandNames(slots: ReadonlyMap<string, Slot>, { kernelPaths }: Pick<HostOptions, 'kernelPaths'>): CommandNames {
  const declared = [...slots.values()].flatMap(({ id, declaration }) =>
    (declaration.manifest?.commands ?? []).map(({ path }) => ({ id, path, isKept: keepsNames(declaration) })),
  );
  const kept = new Set([...(kernelPaths?.() ?? []), ...declared.filter(({ isKept }) => isKept)].map(firstWord));
  const isStranger = (id: string): boolean => {
    const slot = slots.get(id);
    return slot !== undefined && !keepsNames(slot.declaration);
  };
  const of = (id: string, path: string): string => {
    if (!isStranger(id)) return path;
    const isShared = declared.some((other) => other.path === path && other.id !== id);
    return isShared || kept.has(firstWord({ path })) || path.includes(':') ? prefixed(id, path) : path;
  };
  return {
    of,
    under: (id, commands) =>
      commands.map((command) => {
        const { prefixed: _, ...own } = command; // only the kernel says it
        return { ...own, path: of(id, command.path), ...(isStranger(id) ? { prefixed: prefixed(id, command.path) } : {}) };
      }),
  };
}

function prefixed(extensionId: string, path: string): string {
  return `${extensionId}:${path}`;
}

function firstWord({ path }: { readonly path: string }): string {
  return path.split(' ', 1)[0] ?? path;
}

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
