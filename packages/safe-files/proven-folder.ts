import { closeSync, constants, existsSync, openSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { codeOf, FileRefused, refusalOf, unavailable } from './refused.ts';
import { makeFolder } from './state-files.ts';

/**
 * How a name in a folder is reached without a path: by the folder's descriptor in /proc, or by this process's working folder, which also
 * stays the same when the path is swapped, and whose path the system reports.
 */
export type Reach = 'descriptor' | 'working_folder';

const DESCRIPTORS = '/proc/self/fd';

/** What this system supports; null: neither. Windows knows open folders by path only, and threads have no working folder of their own. */
export function reachOf(
  platform: string = process.platform,
  hasDescriptors = existsSync(DESCRIPTORS),
  ownsFolder = isMainThread,
): Reach | null {
  if (hasDescriptors) return 'descriptor';
  return platform === 'win32' || !ownsFolder ? null : 'working_folder';
}

/** A folder whose place the system confirmed for the open folder itself, not for a name. */
export interface ProvenFolder {
  /** With links resolved. */
  readonly path: string;
  /**
   * Runs `use` at once with paths of names in this very folder; they are valid until it returns. Throws the one refusal when the folder is
   * no longer at its place: it may have been moved outside.
   */
  within<T>(use: (at: (name: string) => string) => T): T;
  /** A path for opening a name to read. Only `within` tells whether it led to this folder. */
  place(name: string): string;
  close(): void;
}

/** Opens `root`, a real path, and then each name below it, following no link. With `create`, creates missing folders. */
export function openFolder(
  root: string,
  names: readonly string[],
  { reach, create = false }: { readonly reach: Reach | null; readonly create?: boolean },
): ProvenFolder {
  if (reach === null)
    throw new FileRefused('jail_unavailable', 'Files cannot be kept inside a folder on this system; on Windows, run this in WSL');
  const open = reach === 'descriptor' ? HeldFolder.open : EnteredFolder.open;
  let current = refusing('.', () => open(root, root));
  for (const [depth, name] of names.entries()) {
    const parent = current;
    const below = () => open(path.join(parent.path, name), parent.place(name));
    const belowOrMade = () => {
      try {
        return below();
      } catch (error) {
        if (!create || codeOf(error) !== 'ENOENT') throw error;
        parent.within((at) => makeFolder(at(name)));
        return below();
      }
    };
    try {
      current = refusing(names.slice(0, depth + 1).join('/'), belowOrMade);
    } finally {
      parent.close();
    }
  }
  return current;
}

function refusing(asked: string, reach: () => ProvenFolder): ProvenFolder {
  try {
    return reach();
  } catch (error) {
    throw refusalOf(error, asked);
  }
}

class HeldFolder implements ProvenFolder {
  private constructor(
    readonly path: string,
    private readonly descriptor: number,
  ) {}

  static open(this: void, real: string, place: string): ProvenFolder {
    const folder = new HeldFolder(real, openSync(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW));
    try {
      folder.within(() => undefined);
      return folder;
    } catch (error) {
      folder.close();
      throw error;
    }
  }

  within<T>(use: (at: (name: string) => string) => T): T {
    if (readlinkSync(`${DESCRIPTORS}/${this.descriptor}`) !== this.path) throw unavailable('.');
    return use((name) => this.place(name));
  }

  place(name: string): string {
    return `${DESCRIPTORS}/${this.descriptor}/${name}`;
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

/** No other code of this thread runs while the process is in the folder, so none sees the changed working folder. */
class EnteredFolder implements ProvenFolder {
  private constructor(readonly path: string) {}

  static open(this: void, real: string): ProvenFolder {
    const folder = new EnteredFolder(real);
    folder.within(() => undefined);
    return folder;
  }

  within<T>(use: (at: (name: string) => string) => T): T {
    const home = returnable();
    process.chdir(this.path);
    try {
      if (process.cwd() !== this.path) throw unavailable('.'); // the path contains a link
      return use((name) => `./${name}`);
    } finally {
      process.chdir(home);
    }
  }

  place(name: string): string {
    return path.join(this.path, name);
  }

  close(): void {
    // no descriptor is open
  }
}

/** The working folder, when the process can return to it. */
function returnable(): string {
  try {
    const home = process.cwd();
    process.chdir(home);
    return home;
  } catch (error) {
    throw new FileRefused(
      'jail_unavailable',
      `The folder in which this process was started cannot be entered any more (${codeOf(error)}); start it again elsewhere`,
    );
  }
}
