import os from 'node:os';
import path from 'node:path';
import type { ConfinedPath, ConfinedProgram } from '../../contract/confined.ts';
import { findProgram, SYSTEM_PATH } from '../process/programs.ts';
import { BASE_READ_ONLY, namespaces, system } from '../process/sandboxing.ts';

/** Where a program in a sandbox finds its temporary folder. */
export const TEMPORARY = '/tmp';

export const MOST_PROCESSES = 128;
/** Threads count; a process of Node has a dozen. */
const THREADS_EACH = 16;
const LARGEST_FILE = 64 * 1024 * 1024;

/** What bubblewrap is told before the program. It goes through a descriptor: nobody reads values of the environment from the list of processes. */
export function confinedArguments(program: ConfinedProgram, env: Readonly<Record<string, string>>): readonly string[] {
  const { cwd, readOnly, writable = [] } = program;
  return [
    ...namespaces(false),
    ...system(),
    '--dir',
    env['HOME'] ?? TEMPORARY,
    ...readOnly.flatMap((place) => bind('--ro-bind', place)),
    ...writable.flatMap((place) => bind('--bind', place)),
    ...BASE_READ_ONLY,
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
    '--chdir',
    cwd,
  ];
}

/** The program with the limits that the system itself holds, where it can be told them. */
export function limited(program: ConfinedProgram): readonly string[] {
  const { argv, sandbox, maxProcesses = MOST_PROCESSES } = program;
  const prlimit = process.platform === 'linux' ? findProgram('prlimit') : null;
  if (prlimit === null) return argv;
  const counts = sandbox === 'required' && countsInNamespace();
  const limits = ['--core=0', `--fsize=${LARGEST_FILE}`, ...(counts ? [`--nproc=${maxProcesses * THREADS_EACH}`] : [])];
  return [prlimit, ...limits, '--', ...argv];
}

export function environmentOf(
  program: ConfinedProgram,
  temporary: string,
  { LANG = 'C.UTF-8' }: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const folders = [...new Set([...SYSTEM_PATH.split(path.delimiter), path.dirname(process.execPath)])];
  const own = { PATH: folders.join(path.delimiter), LANG };
  return { ...program.env, ...own, HOME: path.join(temporary, 'home'), TMPDIR: temporary };
}

function bind(how: string, place: ConfinedPath): readonly string[] {
  return typeof place === 'string' ? [how, place, place] : [how, place.from, place.at];
}

/** Since 5.14 Linux counts the processes of a user apart in each user namespace; before, all that the user has would count. */
function countsInNamespace(): boolean {
  const [major = 0, minor = 0] = os.release().split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}
