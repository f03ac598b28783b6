import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/**
 * The system's folders of programs. Not the caller's search path: the program that confines an extension must not come from a project's
 * folder.
 */
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin', '/run/current-system/sw/bin'];

/** The same as a search path. */
export const SYSTEM_PATH = FOLDERS.join(path.delimiter);

/** The absolute path of a program in the system's folders, else in `folders`; null: not found. */
export function findProgram(name: string, folders: readonly string[] = []): string | null {
  return [...FOLDERS, ...folders].map((folder) => path.join(folder, name)).find(isExecutable) ?? null;
}

const PACKAGERS = [
  ['apt-get', 'sudo apt install'],
  ['dnf', 'sudo dnf install'],
  ['pacman', 'sudo pacman -S'],
  ['zypper', 'sudo zypper install'],
  ['apk', 'sudo apk add'],
] as const;

/** The command that installs a package on this distribution. */
export function installCommand(name: string): string {
  const known = PACKAGERS.find(([program]) => findProgram(program) !== null);
  return `${known?.[1] ?? 'sudo apt install'} ${name}`;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // missing, or not executable for us
  }
}
