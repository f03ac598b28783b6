import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { realPathOf } from '@pith/safe-files';
import { familyOf, Guardian, HOST_VARIABLE } from '@pith/supervised-process';

/** How a server is started, so that it ends with Pith. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** Processes of the container, before that of the program itself. */
  readonly outer: number;
}

/** A process namespace ends with its first process, whatever those in it do. It hides no files and no network; of files only some are fixed. */
const NAMESPACE = {
  command: 'bwrap',
  args: ['--dev-bind', '/', '/', '--unshare-pid', '--die-with-parent', '--'],
  outer: 2,
} satisfies Program;
/** The server itself ends with Pith, also when it clears its environment; what it starts, the guardian must find. */
const SIGNAL: Program = { command: 'setpriv', args: ['--pdeathsig', 'KILL', '--'], outer: 0 };
const TRY_MS = 3000;

/** Ends the servers that were started here, and what they started, also when Pith is killed. Where there is no /proc, only an ordered end does. */
export class Containment {
  readonly #guardian = new Guardian();
  #container: Promise<Program | null> | undefined;

  /** What servers are started behind; looked for once. */
  container(searchPath: string): Promise<Program | null> {
    return (this.#container ??= container(searchPath));
  }

  /** What a server must carry in its environment. */
  async mark(): Promise<Record<string, string>> {
    await this.#guardian.keep();
    return { [HOST_VARIABLE]: this.#guardian.newMark() };
  }

  /** Kills what is left, once the servers had time to end. */
  end(): void {
    this.#guardian.end();
  }
}

/** What a server is started behind on this machine; null: nothing holds it but an ordered end and the guardian. */
async function container(searchPath: string): Promise<Program | null> {
  if (process.platform !== 'linux') return null;
  for (const way of [NAMESPACE, SIGNAL]) if (await works(way, searchPath)) return way;
  return null;
}

/** Whether folders that it must not write are kept from it. */
export function keepsFolders({ command }: Pick<Program, 'command'>): boolean {
  return command === NAMESPACE.command;
}

/** How a server is started. */
interface Start {
  readonly cwd: string;
  readonly searchPath: string;
  /** Folders that it must not write. */
  readonly fixed: readonly string[];
}

function existing(folders: readonly string[]): readonly string[] {
  return [...new Set(folders.filter((folder) => existsSync(folder)).map(realPathOf))];
}

/** The program behind `container`; itself where it is not there, so that its start says so. */
export async function contained(
  program: Pick<Program, 'command' | 'args'>,
  within: Program | null,
  { cwd, searchPath, fixed }: Start,
): Promise<Program> {
  if (within === null || !(await isThere(program.command, cwd, searchPath))) return { ...program, outer: 0 };
  const { args } = within;
  const mounts = within.command === NAMESPACE.command ? existing(fixed).flatMap((at) => ['--ro-bind', at, at]) : [];
  return { ...within, args: [...args.slice(0, -1), ...mounts, ...args.slice(-1), program.command, ...program.args] };
}

/** Asks the program and what it started to end, as a terminal does. False: there is none that could be asked. */
export function askToEnd(pid: number, outer: number): boolean {
  const asked = familyOf(pid).slice(outer); // bubblewrap ends of the signal itself, and kills what is in it
  for (const each of asked) {
    try {
      process.kill(each, 'SIGTERM');
    } catch {
      // it has ended meanwhile
    }
  }
  return asked.length > 0;
}

function works({ command, args }: Program, searchPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(command, [...args, 'true'], { timeout: TRY_MS, env: { PATH: searchPath } }, (error) => resolve(error === null));
  });
}

async function isThere(command: string, cwd: string, searchPath: string): Promise<boolean> {
  const places = command.includes('/')
    ? [path.resolve(cwd, command)]
    : searchPath.split(':').map((folder) => path.resolve(cwd, folder, command));
  for (const place of places) {
    try {
      await access(place, constants.X_OK);
      return true;
    } catch {
      // not in this folder
    }
  }
  return false;
}
