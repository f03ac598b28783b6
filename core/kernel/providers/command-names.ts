import type { Command } from '../../contract/index.ts';
import { keepsNames } from '../discovery/declaration.ts';
import { runnable, type Slot } from '../lifecycle/slot.ts';

type KernelPaths = () => readonly { readonly path: string }[];

export interface DeclaredCommand {
  readonly extensionId: string;
  /** What is typed. */
  readonly path: string;
  /** The path in its manifest; another than `path` where the name is somebody else's. */
  readonly declared: string;
  readonly needs: 'index' | 'initialized' | 'started';
  /** Its own bundle, for `needs: index`. */
  readonly entry: string | undefined;
  readonly description: string;
}

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
export function commandNames(slots: ReadonlyMap<string, Slot>, kernelPaths: KernelPaths): CommandNames {
  const declared = [...slots.values()].flatMap(({ id, declaration }) =>
    (declaration.manifest?.commands ?? []).map(({ path }) => ({ id, path, isKept: keepsNames(declaration) })),
  );
  const kept = new Set([...kernelPaths(), ...declared.filter(({ isKept }) => isKept)].map(firstWord));
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
export function declaredCommands(slots: ReadonlyMap<string, Slot>, kernelPaths: KernelPaths): readonly DeclaredCommand[] {
  const names = commandNames(slots, kernelPaths);
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
