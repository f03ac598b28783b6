import { existsSync, lstatSync, readdirSync, readlinkSync, statSync, type Dirent } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { PithError } from '../contract/errors.ts';
import type { Manifest } from '../contract/index.ts';
import { isBelow, isInside, realOf } from '@pith/safe-files';
import { systemClock, startProcess } from '../kernel/index.ts';
import { findProgram, installCommand } from './programs.ts';
import { endOf } from './started.ts';

/** What bubblewrap does on this machine. */
export type Sandboxing =
  | { readonly available: true; readonly program: string }
  | {
      readonly available: false;
      /** As the end of a sentence, with what to do about it. */
      readonly why: string;
      readonly cure: string;
    };

export interface SandboxPlaces {
  /** Bound for writing. */
  readonly dataDirectory: string;
  /** In which all others lie: nothing else of it is seen. Absent: the folder above. */
  readonly stateDirectory?: string;
  /** Seen, not written: folders and files. What is missing is left out. */
  readonly visible: readonly string[];
  /** Seen, not written, without its environment files; null: nothing of it is seen. */
  readonly project: string | null;
  /** Of the user: `~/` stands for it, and it is not opened as a project. */
  readonly home: string;
  /** Folders and files in what is visible of which nothing is seen. */
  readonly hidden: readonly string[];
  /** Paths are absolute and without links. */
  readonly permissions: Omit<Manifest['permissions'], 'agents'>;
  /** Names that lead to what is given. */
  readonly links?: readonly { readonly named: string; readonly real: string }[];
}

const PROBE_LIMIT_MS = 5000;

/**
 * Whether bubblewrap can hold an extension's process here, tried by starting Node in it. Rejects `process_not_started` when that cannot be
 * tried now: "not now" must not become "nothing holds them".
 */
export async function probeSandboxing(): Promise<Sandboxing> {
  if (process.platform !== 'linux')
    return { available: false, why: 'bubblewrap exists for Linux only', cure: 'run Pith on Linux or in a container' };
  const program = findProgram('bwrap');
  if (program === null)
    return {
      available: false,
      why: 'bubblewrap is not installed',
      cure: `install the package bubblewrap: ${installCommand('bubblewrap')}`,
    };
  const args = [...namespaces(false), ...system(), ...command([process.execPath, '--version'])];
  const child = await startProcess([program, ...args], { env: {}, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  (child.stderr as Readable).setEncoding('utf8').on('data', (text: string) => void (said = `${said}${text}`.slice(0, MOST_SAID)));
  let isLate = false;
  const cancel = systemClock.after(PROBE_LIMIT_MS, () => {
    isLate = true;
    child.kill('SIGKILL');
  });
  const { code, signal } = await endOf(child);
  cancel();
  if (code === 0) return { available: true, program };
  if (isLate)
    throw new PithError('process_not_started', `bubblewrap did not answer within ${PROBE_LIMIT_MS / 1000} s`, {
      retryable: true,
      cure: 'try again when the machine is less busy, or set extensions_sandbox: off',
    });
  const why = `bubblewrap does not work here: ${said.trim().split('\n')[0] || `it ended with ${signal ?? code}`}`;
  return { available: false, why, cure: 'allow unprivileged user namespaces, or run where they are allowed' };
}

const MOST_SAID = 4096;

/** The arguments of bubblewrap in front of a program: what it sees, and what it may write. */
export function sandboxArguments(places: SandboxPlaces, environment: Readonly<Record<string, string>>, argv: readonly string[]): string[] {
  const { dataDirectory, stateDirectory = path.dirname(dataDirectory), hidden, home, links = [], permissions, project, visible } = places;
  const open = [...(project === null ? [] : withoutHome(project, home)), ...visible];
  const opened = [...open, ...permissions.read, ...permissions.write].flatMap(pathsOf);
  const isSeen = (place: string): boolean => opened.some((folder) => isInside(place, folder));
  // Whatever opens it, the folder itself is an empty one, into which its entries are put.
  const projects = project === null || !isSeen(project) ? [] : pathsOf(project);
  const isEnvironment = (at: string): boolean => projects.includes(path.dirname(at)) && ENVIRONMENT_FILE.test(path.basename(at));
  // What is not seen needs no cover, which would name it.
  const covered = [
    ...new Set([stateDirectory, ...hidden.flatMap(pathsOf).filter((at) => isSeen(at) && !isEnvironment(at))].flatMap(pathsOf)),
  ];
  const files = covered.filter(isFile);
  const shown = projects.filter((at) => !covered.includes(at)); // state may be kept in the project folder itself
  const folders = [...shown, ...covered.filter((at) => !files.includes(at))];
  // A link inside of what is open stays a link there; it needs only what it leads to.
  const bind = (file: string): readonly Mount[] =>
    pathsOf(file).flatMap((at) =>
      at !== realOf(file) && open.some((folder) => isBelow(at, folder)) ? [] : [{ at, args: ['--ro-bind-try', realOf(file), at] }],
    );
  const mounts: Mount[] = [
    ...shown.flatMap(entriesOf),
    ...open.flatMap(bind),
    ...(project === null ? [] : packagesAbove(project)).flatMap(bind),
    ...permissions.read.map((at): Mount => ({ at, args: ['--ro-bind-try', at, at] })),
    ...permissions.write.map((at): Mount => ({ at, args: ['--bind-try', at, at] })),
    // A name that leads to what is given is a link here too: a second mount would have no covers.
    ...newLinks(links.filter(({ named }) => !isSeen(named))).map(([named, to]): Mount => ({ at: named, args: ['--symlink', to, named] })),
    ...folders.map((at): Mount => ({ at, args: ['--size', `${STATE_BYTES}`, '--tmpfs', at] })),
    ...files.map((at): Mount => ({ at, args: ['--ro-bind', '/dev/null', at] })),
    ...pathsOf(dataDirectory).map((at): Mount => ({ at, args: ['--bind', dataDirectory, at] })),
  ];
  // A folder before what lies in it; of two for the same place the later one holds.
  mounts.sort((a, b) => depthOf(a.at) - depthOf(b.at));
  return [
    ...namespaces(permissions.network),
    ...system(),
    ...mounts.flatMap(({ args }) => args),
    ...folders.flatMap((at) => ['--remount-ro', at]),
    ...BASE_READ_ONLY,
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
    '--chdir',
    dataDirectory,
    ...command(argv),
  ];
}

/** Each name once, and none where there is something already: below another link, or of the system. */
function newLinks(links: NonNullable<SandboxPlaces['links']>): readonly (readonly [named: string, real: string])[] {
  const made = new Map(links.map(({ named, real: to }) => [named, to]));
  const taken = [...made.keys(), ...PROGRAMS, ...DEVICE_FOLDERS];
  const isThere = (named: string): boolean =>
    SYSTEM_FILES.includes(named) || PROGRAMS.includes(named) || taken.some((other) => isBelow(named, other));
  return [...made].filter(([named]) => !isThere(named));
}

function isFile(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === false;
}

/** The folders of packages that are found from a folder: in it, and in folders above. */
export function packagesAbove(folder: string): readonly string[] {
  const found: string[] = [];
  for (let at = folder; ; at = path.dirname(at)) {
    const packages = path.join(at, 'node_modules');
    if (existsSync(packages)) found.push(packages);
    if (at === path.dirname(at)) return found;
  }
}

/** In a project: keys and passwords. */
const ENVIRONMENT_FILE = /^\.env(\..*)?$|^\.envrc$/i;
/** bubblewrap reads its list of mounts again for each: 500 take 0.4 s, 2,000 take 5 s. */
const MOST_ENTRIES = 500;

/**
 * What is seen of a project: each of its entries but its environment files, folders first. A cover over such a file would fall off when
 * an editor saves by rename, and would not be there for one that is made later. The price: entries that are made or replaced in the
 * project folder itself are seen when the process starts again.
 */
function entriesOf(project: string): readonly Mount[] {
  const entries = listed(project).filter(({ name }) => !ENVIRONMENT_FILE.test(name));
  const isLater = (entry: Dirent): number => (entry.isDirectory() ? 0 : 1);
  return entries
    .sort((a, b) => isLater(a) - isLater(b))
    .slice(0, MOST_ENTRIES)
    .flatMap((entry) => {
      const at = path.join(project, entry.name);
      if (!entry.isSymbolicLink()) return [{ at, args: ['--ro-bind-try', path.join(realOf(project), entry.name), at] }];
      const target = linkTarget(at);
      return target === null ? [] : [{ at, args: ['--symlink', target, at] }];
    });
}

function listed(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // not there, or not to be listed: nothing of it is seen
  }
}

function linkTarget(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null; // gone in the meantime
  }
}

/** A folder that is opened, unless all of the home folder would be: with the project, where the sandbox stands in the home folder itself. */
export function withoutHome(folder: string, home: string): readonly string[] {
  const below = path.relative(folder, home);
  return below === '' || !below.startsWith('..') ? [] : [folder];
}

interface Mount {
  readonly at: string;
  readonly args: readonly string[];
}

const STATE_BYTES = 1024 * 1024;
const TEMPORARY_BYTES = 64 * 1024 * 1024;

/** The paths by which a place is known: as it was given, and without links. */
function pathsOf(file: string): readonly string[] {
  return [...new Set([file, realOf(file)])];
}

function depthOf(place: string): number {
  return place.split(path.sep).filter((name) => name !== '').length;
}

/** What a process in the sandbox does not share with the others. */
export function namespaces(network: boolean): readonly string[] {
  const all = ['--unshare-all', ...(network ? ['--share-net'] : [])];
  return [...all, ...NOBODY, '--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL'];
}

/** Whoever started it: settings of the kernel ask who is root, not what capabilities they have. */
const NOBODY = ['--uid', '65534', '--gid', '65534'];

function command(argv: readonly string[]): readonly string[] {
  return ['--', ...argv];
}

const PROGRAMS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
const CONFIGURATION = [
  'ssl',
  'pki',
  'ca-certificates',
  'resolv.conf',
  'hosts',
  'nsswitch.conf',
  'localtime',
  'passwd',
  'group',
  'ld.so.cache',
];

const SYSTEM_FILES = CONFIGURATION.map((name) => `/etc/${name}`);
const DEVICE_FOLDERS = ['/dev', '/proc'];

/** What lies outside of the places that are given is memory without a limit. Stands after all places: it cannot be made in any more. */
export const BASE_READ_ONLY = ['--remount-ro', '/dev', '--remount-ro', '/'];

/** Programs, libraries, certificates and names: no one's own files. */
export function system(): readonly string[] {
  return [
    ...PROGRAMS.flatMap(sameAsHere),
    ...SYSTEM_FILES.flatMap((file) => ['--ro-bind-try', file, file]),
    ...bound(process.execPath),
    ...DEVICES,
    ...temporary('/dev/shm'),
    ...temporary('/tmp'),
  ];
}

/** Through these files the kernel and its hardware are set. They belong to root, as what root starts does to the system outside. */
const KERNEL_SETTINGS = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi', 'mtrr', 'tty'].map((name) => `/proc/${name}`);
const DEVICES = ['--proc', '/proc', ...KERNEL_SETTINGS.flatMap((at) => ['--ro-bind-try', at, at]), '--dev', '/dev'];

function bound(file: string): readonly string[] {
  return ['--ro-bind', file, file];
}

function temporary(folder: string): readonly string[] {
  return ['--size', `${TEMPORARY_BYTES}`, '--tmpfs', folder];
}

function sameAsHere(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return lstatSync(folder).isSymbolicLink() ? ['--symlink', readlinkSync(folder), folder] : bound(folder);
}
