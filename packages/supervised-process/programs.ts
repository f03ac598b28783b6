import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** Where programs of the system are. Not the caller's search path: what holds an extension must not come from a folder of a project. */
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin', '/run/current-system/sw/bin'];

/** The same as a search path. */
export const SYSTEM_PATH = FOLDERS.join(path.delimiter);

/** Absolute path of a program of the system, or else of `folders`; null: there is none. */
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

/** What a person types to install a package of this distribution. */
export function installCommand(name: string): string {
  const known = PACKAGERS.find(([program]) => findProgram(program) !== null);
  return `${known?.[1] ?? 'sudo apt install'} ${name}`;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // not there, or not for us
  }
}
