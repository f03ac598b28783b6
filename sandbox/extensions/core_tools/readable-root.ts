import { isSkillCase, Jail } from '@pith/safe-files';

/** Files that may be read, and how their paths are written. */
export interface ReadableRoot {
  readonly jail: Jail;
  readonly prefix: string;
  isReadable(names: readonly string[]): boolean;
}

const SHIPPED = 'shipped:';
/** The shipped folders, without the state, settings or keys that may be beside them. */
const FOLDERS: ReadonlySet<string> = new Set(['extensions', 'agents', 'skills', 'recipes', 'saved_skills']);

/** The extensions, agents, skills and recipes that ship with Pith. */
export function shippedRoot(shippedSandbox: string): ReadableRoot {
  return {
    jail: new Jail(shippedSandbox),
    prefix: SHIPPED,
    isReadable: ([first, ...rest]) =>
      first === undefined ||
      (!isSkillCase(shippedSandbox, [first, ...rest]) &&
        FOLDERS.has(first) &&
        rest.every((name) => !name.startsWith('.') && name !== 'node_modules')),
  };
}

export function isShipped({ path, to }: { readonly path: string; readonly to?: string | undefined }): boolean {
  return path.startsWith(SHIPPED) || to?.startsWith(SHIPPED) === true;
}

export function withoutPrefix(path: string): string {
  return path.startsWith(SHIPPED) ? path.slice(SHIPPED.length) : path;
}

export function pathOf({ prefix }: ReadableRoot, names: readonly string[]): string {
  return `${prefix}${names.join('/') || '.'}`;
}
