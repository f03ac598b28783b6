import { BASE_READ_ONLY, DEVICE_FOLDERS, namespaces, PROGRAMS, system, SYSTEM_FILES } from '@pith/supervised-process';
import { existsSync, statSync, type Dirent } from 'node:fs';
import path from 'node:path';
import { ENVIRONMENT_FILE, type Manifest } from '../trust/index.ts';
import { entriesOf, isBelow, isInside, linkTarget, realPathOf } from '@pith/safe-files';

export interface SandboxPlaces {
  /** Bound for writing. */
  readonly dataDirectory: string;
  /** In which all others lie: nothing else of it is seen. */
  readonly stateDirectory: string;
  /** Seen, not written: folders and files. What is missing is left out. */
  readonly visible: readonly string[];
  /** Seen, not written, without its environment files. */
  readonly project: string;
  /** Seen, not written, whatever may be written around them. */
  readonly readOnly: readonly string[];
  /** Of the user: `~/` stands for it, and it is not opened as a project. */
  readonly home: string;
  /** Folders and files in what is visible of which nothing is seen. */
  readonly hidden: readonly string[];
  /** Paths are absolute and without links. */
  readonly permissions: Omit<Manifest['permissions'], 'agents'>;
  /** Names that lead to what is given. */
  readonly links: readonly { readonly named: string; readonly real: string }[];
}

/** The arguments of bubblewrap in front of a program: what it sees, and what it may write. */
export function sandboxArguments(places: SandboxPlaces, environment: Readonly<Record<string, string>>, argv: readonly string[]): string[] {
  const { dataDirectory, stateDirectory, hidden, home, links, permissions, project, visible } = places;
  const open = [...withoutHome(project, home), ...visible];
  const opened = [...open, ...permissions.read, ...permissions.write].flatMap(pathsOf);
  const isSeen = (place: string): boolean => opened.some((folder) => isInside(place, folder));
  // Whatever opens it, the folder itself is an empty one, into which its entries are put.
  const projects = isSeen(project) ? pathsOf(project) : [];
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
      at !== realPathOf(file) && open.some((folder) => isBelow(at, folder)) ? [] : [{ at, args: ['--ro-bind-try', realPathOf(file), at] }],
    );
  const fixed = [...new Set(places.readOnly.filter((at) => existsSync(at)).map(realPathOf))];
  const isFixed = (at: string): boolean => fixed.some((folder) => isInside(at, folder));
  const mounts: Mount[] = [
    ...shown.flatMap(mountsOf),
    ...open.flatMap(bind),
    ...packagesAbove(project).flatMap(bind),
    ...permissions.read.map((at): Mount => ({ at, args: ['--ro-bind-try', at, at] })),
    ...permissions.write.map((at): Mount => ({ at, args: [isFixed(at) ? '--ro-bind-try' : '--bind-try', at, at] })),
    ...fixed
      .filter((at) => permissions.write.some((place) => isBelow(at, place)))
      .map((at): Mount => ({ at, args: ['--ro-bind-try', at, at] })),
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
    '--',
    ...argv,
  ];
}

/** Each name once, and none where there is something already: below another link, or of the system. */
function newLinks(links: SandboxPlaces['links']): readonly (readonly [named: string, real: string])[] {
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

/** bubblewrap reads its list of mounts again for each: 500 take 0.4 s, 2,000 take 5 s. */
const MOST_ENTRIES = 500;

/**
 * What is seen of a project: each of its entries but its environment files, folders first. A cover over such a file would fall off when
 * an editor saves by rename, and would not be there for one that is made later. The price: entries that are made or replaced in the
 * project folder itself are seen when the process starts again.
 */
function mountsOf(project: string): readonly Mount[] {
  const entries = entriesOf(project).filter(({ name }) => !ENVIRONMENT_FILE.test(name));
  const isLater = (entry: Dirent): number => (entry.isDirectory() ? 0 : 1);
  return entries
    .sort((a, b) => isLater(a) - isLater(b))
    .slice(0, MOST_ENTRIES)
    .flatMap((entry) => {
      const at = path.join(project, entry.name);
      if (!entry.isSymbolicLink()) return [{ at, args: ['--ro-bind-try', path.join(realPathOf(project), entry.name), at] }];
      const target = linkTarget(at);
      return target === null ? [] : [{ at, args: ['--symlink', target, at] }];
    });
}

/** A folder that is opened, unless all of the home folder would be: with the project, where the sandbox is in the home folder itself. */
export function withoutHome(folder: string, home: string): readonly string[] {
  const below = path.relative(folder, home);
  return below === '' || !below.startsWith('..') ? [] : [folder];
}

interface Mount {
  readonly at: string;
  readonly args: readonly string[];
}

const STATE_BYTES = 1024 * 1024;

/** The paths by which a place is known: as it was given, and without links. */
function pathsOf(file: string): readonly string[] {
  return [...new Set([file, realPathOf(file)])];
}

function depthOf(place: string): number {
  return place.split(path.sep).filter((name) => name !== '').length;
}
