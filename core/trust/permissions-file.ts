import { PithError } from '../contract/index.ts';
import { isPlainMap } from '@pith/plain-data';
import { openRecordFile } from './record-file.ts';
import { pithFolder } from './trust-file.ts';

/** A permission that a person gave for always in a project. */
export interface ProjectPermission {
  /** `extension/tool`. */
  readonly tool: string;
  /** The name of the calls that it covers, and the digest of the extension's sources that it is for, as in a `Question`. */
  readonly always: string;
  readonly source: string | null;
  /** The calls that it covers, in words. */
  readonly covers: string;
  /** When it was given. */
  readonly at: number;
}

/** The permissions that a person gave for always in one project. */
export interface ProjectPermissions {
  /** Oldest first; empty while the file cannot be read. */
  list(): readonly ProjectPermission[];
  /** Throws `trust_failed` with a cure while the file cannot be read. */
  check(): void;
  /** Durable when it returns. Throws `trust_failed`. */
  add(permission: ProjectPermission): void;
  /** False: there is no such permission. Throws `trust_failed`. */
  remove(permission: ProjectPermission): boolean;
}

/** These permissions in their file, outside of the project. */
export interface PermissionsFile extends ProjectPermissions {
  /** Removes all. Throws `trust_failed`. */
  clear(): void;
}

/** No more are added: nobody reads so long a list. */
const MOST = 1000;

type Projects = Readonly<Record<string, readonly ProjectPermission[]>>;

/** `~/.pith/permissions.json`, outside of every project, since no file of a project gives permissions. `project`: its real path. */
export function openPermissionsFile(home: string, project: string): PermissionsFile {
  const file = openRecordFile<{ readonly projects: Projects }>(pithFolder(home), {
    name: 'permissions.json',
    nothing: { projects: {} },
    parse,
  });
  const list = (projects: Projects = file.read().projects) => (Object.hasOwn(projects, project) ? (projects[project] ?? []) : []);
  const write = (change: (former: readonly ProjectPermission[]) => readonly ProjectPermission[]): void =>
    file.change(({ projects }) => {
      const { [project]: _, ...others } = projects;
      const left = change(list(projects));
      return { projects: left.length === 0 ? others : { ...others, [project]: left } };
    });
  return {
    list: () => list(),
    check() {
      const problem = file.problem();
      if (problem === null) return;
      const cure = 'correct the file, or move it away; until then nothing is allowed always in a project';
      throw new PithError('trust_failed', problem, { cure });
    },
    add: (permission) => write((former) => [...former.filter((each) => !isSame(each, permission)), permission].slice(-MOST)),
    clear() {
      if (list().length > 0) write(() => []);
    },
    remove(permission) {
      const isThere = list().some((each) => isSame(each, permission));
      if (isThere) write((former) => former.filter((each) => !isSame(each, permission)));
      return isThere;
    },
  };
}

function isSame(one: ProjectPermission, other: ProjectPermission): boolean {
  return one.tool === other.tool && one.always === other.always && one.source === other.source;
}

function parse(read: unknown): { readonly projects: Projects } {
  if (!isPlainMap(read)) throw new Error('it is not a map');
  const { projects } = read;
  if (!isPlainMap(projects)) throw new Error("'projects' is not a map");
  const entries = Object.entries(projects).map(([project, list]) => [project, Array.isArray(list) ? list.flatMap(permissionOf) : []]);
  return { projects: Object.fromEntries(entries) as Projects };
}

/** An invalid value gives no permission. */
function permissionOf(value: unknown): readonly ProjectPermission[] {
  if (!isPlainMap(value)) return [];
  const { tool, always, source, covers, at } = value;
  const isWhole = typeof tool === 'string' && typeof always === 'string' && typeof covers === 'string' && typeof at === 'number';
  return isWhole && (source === null || typeof source === 'string') ? [{ tool, always, source, covers, at }] : [];
}
