import { sha256 } from '@pith/plain-data';
import { GUARD_ASK, manifestAsks, narrowed, type Places, whyNever, writableBy } from './grants.ts';
import { type Command, messageOf, PithError } from '../contract/index.ts';
import type { Manifest } from './manifest.ts';
import { accessSync, constants, existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { once } from '@pith/promises';
import { isThere, makeFolders, realPathOf } from '@pith/safe-files';
import { foreignOwner } from './foreign-owner.ts';
import { agreedNames, ownProjectFiles, projectFileNames } from './project-files.ts';
import { adoptState, stateOwnership } from './state-marker.ts';
import { pithFolder, openTrustFile, type TrustFile } from './trust-file.ts';

/** `own`: it belongs to Pith's installation. `trusted`: a person said so. `restricted`: neither, so nothing of it is used. */
export type TrustLevel = 'own' | 'trusted' | 'restricted';

export interface TrustOptions {
  /** The sandbox that was named or found. Absolute. */
  readonly sandbox: string;
  /** A project without a sandbox, found instead of one; `sandbox` is then ignored. Absolute; null or absent: there is a sandbox. */
  readonly bareProject?: string | null;
  /** Pith's own sandbox. */
  readonly shipped: string;
  /** The user's home folder; null: there is none, and nothing can be recorded. */
  readonly home: string | null;
  /** `--trust` or `PITH_TRUST=1`: the person trusts it for this process. */
  readonly accepts?: boolean;
  /** The person's working directory; default: the project's own folder. */
  readonly workingDirectory?: string;
}

/** Whether the opened sandbox is trusted, and where Pith works because of that. */
export interface Trust {
  readonly level: TrustLevel;
  /** The real path that a person is asked about and that is recorded: the opened sandbox, or the project without one. */
  readonly opened: string;
  /** The folder around the opened sandbox, or the project without one. */
  readonly folder: string;
  /** The project has no sandbox: nothing of it runs, and Pith works in a sandbox below `~/.pith`. */
  readonly isBare: boolean;
  /** The folder is the home folder or the root, which contain more than a project, and no person named it as a project. */
  readonly isWide: boolean;
  /** The sandbox to work in: the opened one or, if that is restricted or missing, one outside of the project. */
  readonly sandbox: string;
  /** The restricted sandbox whose skills may be listed and whose harmless settings count; null: none, or it may not even be read. */
  readonly untrusted: string | null;
  /** The person's project as a real path; null where it is not trusted, and for the home folder and the root, which contain everything. */
  readonly project: string | null;
  /** The project's files and folders that the person was shown when they trusted it, absolute. */
  readonly projectFiles: readonly string[];
  /** Why it is restricted; null when it is not. */
  readonly why: string | null;
  /** True when no person has been asked about it yet, and one may be. */
  readonly isOpen: boolean;
  readonly file: TrustFile;
  /** Where the state is stored that the settings want in `dataDirectory`, and why that is elsewhere. Writes nothing. */
  state(dataDirectory: string): StatePlace;
  /** The same; also marks a new folder as this user's. */
  claim(dataDirectory: string): StatePlace;
  /** Folders that extensions may write, of this sandbox and of others that the person decided about; with links resolved. */
  writable(): readonly string[];
  /** What a manifest is granted, and what it requests beyond that. */
  grant(id: string, manifest: Manifest, shipped: boolean, dataDirectory: string): Granted;
  /** Ids of extensions that the person granted to be guards, whether they still exist or not. */
  guards(): readonly string[];
  /** Grants these requests to an extension, in addition to earlier ones. Throws `trust_failed`. */
  allow(id: string, asks: readonly string[]): void;
  /** Revokes all grants of an extension, and returns them; one that no longer exists stops counting as a guard. Throws `trust_failed`. */
  takeBack(id: string): readonly string[];
}

export interface StatePlace {
  readonly directory: string;
  /** Why the state is not where the settings want it; null when it is. */
  readonly why: string | null;
  /** What to do where something is wrong with the folder, so that nobody can claim it. Else null. */
  readonly cure: string | null;
  /** A person may claim the state as theirs, and has not been asked yet. */
  readonly isOpen: boolean;
  /** There is no state yet. */
  readonly isNew: boolean;
}

export interface Granted {
  readonly manifest: Manifest;
  /** Requests that are not granted, with the reason where nobody can grant one. */
  readonly withheld: readonly { readonly ask: string; readonly never: string | null }[];
}

/**
 * Decides by the records. Asks nobody and records nothing. For a restricted sandbox, or a project without one, creates a sandbox elsewhere.
 */
export function trustOf(options: TrustOptions): Trust {
  const { home, accepts = false, bareProject = null } = options;
  const isBare = bareProject !== null;
  const opened = realPathOf(bareProject ?? options.sandbox);
  const folder = isBare ? opened : path.dirname(opened);
  const file = openTrustFile(home);
  const recorded = isBare ? answerAbout(file, folder) : file.read().sandboxes[opened];
  const isOwn = !isBare && opened === realPathOf(options.shipped);
  const foreign = isOwn || recorded === true ? null : foreignOwner(isBare ? [folder] : [opened, folder]);
  const isAgreed = recorded === true || (accepts && foreign === null);
  const isWide = holdsEverything(folder, home) && answerAbout(file, folder) !== true;
  const workingDirectory = realPathOf(options.workingDirectory ?? folder);
  const names = once(() => projectFileNames(folder, workingDirectory));
  // A project without a sandbox and without files to use is treated as no project.
  const brings = () => foreign !== null || (!isWide && names().some((name) => isThere(path.join(folder, name))));
  const level: TrustLevel = isOwn ? 'own' : isAgreed || (isBare && !brings()) ? 'trusted' : 'restricted';
  const elsewhere = once(() => placeOutside(home, isBare ? 'projects' : 'restricted', opened));
  const sandbox = level === 'restricted' || isBare ? path.join(elsewhere(), 'sandbox') : opened;
  if (sandbox !== opened) makeFolders(sandbox, 0o700);
  const key = isBare ? sandbox : opened;
  const grantsOf = (id: string): readonly string[] => new Map(Object.entries(file.read().grants[key] ?? {})).get(id) ?? [];

  const accepted = new Map<string, readonly string[]>();
  const otherSandboxes = () => Object.keys(file.read().sandboxes).filter((other) => other !== opened);

  function projectFiles(): readonly string[] {
    if (isOwn) return ownProjectFiles(folder, workingDirectory).map((name) => path.join(folder, name));
    if (!isAgreed || isWide) return [];
    const { projects, projectFiles: ofSandboxes } = file.read();
    const shown = accepts ? names() : (isBare ? projects[folder] : ofSandboxes[opened]) || []; // `--trust` accepts everything that is there
    return agreedNames(names(), shown).map((name) => path.join(folder, name));
  }

  function writable(): readonly string[] {
    const all = Object.entries(file.read().grants).map(([of, grants]) => [of, Object.values(grants).flat()] as const);
    const given = [...all, [key, [...accepted.values()].flat()] as const];
    return [...new Set(given.flatMap(([of, asks]) => writableBy(asks, { sandbox: of, home, dataDirectory: path.join(of, 'data') })))];
  }

  function state(wanted: string): StatePlace {
    const own = { directory: path.join(sandbox, 'data'), why: null, cure: null, isOpen: false, isNew: false };
    if (level === 'restricted' || (isBare && wanted === own.directory)) return own;
    const { owner, wrong } = stateOwnership(wanted, home);
    if (owner !== 'unknown' || accepts) return { directory: wanted, why: null, cure: null, isOpen: false, isNew: owner === 'new' };
    const fresh = { directory: path.join(elsewhere(), 'data'), isNew: false };
    if (wrong !== null)
      return { ...fresh, why: messageOf(wrong), cure: (wrong instanceof PithError && wrong.cure) || 'correct that', isOpen: false };
    const isOpen = !file.read().foreignState.includes(realPathOf(wanted));
    return { ...fresh, why: `you have not said that the state in ${wanted} is yours`, cure: null, isOpen };
  }

  return {
    level,
    opened,
    folder,
    isBare,
    isWide,
    sandbox,
    untrusted: level !== 'restricted' || foreign !== null ? null : isBare ? path.join(folder, 'sandbox') : opened,
    project: (isOwn || isAgreed) && !isWide ? folder : null,
    get projectFiles() {
      return projectFiles();
    },
    why: level !== 'restricted' ? null : (foreign ?? file.problem() ?? 'nobody has trusted it'),
    isOpen: !isOwn && !isAgreed && !(isBare && isWide) && foreign === null && recorded === undefined && file.problem() === null,
    file,
    state,
    writable,
    claim(wanted) {
      const found = state(wanted);
      if (!found.isNew || adopted(wanted, home) || accepts) return found;
      return {
        directory: path.join(elsewhere(), 'data'),
        why: `${wanted} cannot be marked as yours`,
        cure: 'make it writable',
        isOpen: false,
        isNew: true,
      };
    },
    grant(id, manifest, shipped, dataDirectory) {
      const asks = shipped ? [] : manifestAsks(manifest); // what is in Pith's own folder runs inside Pith, with all that it has
      if (asks.length === 0) return { manifest, withheld: [] };
      if (accepts) accepted.set(id, asks);
      const places: Places = { sandbox, home, dataDirectory, writable: writable(), otherSandboxes: otherSandboxes() };
      const agreed = new Set(accepts ? asks : grantsOf(id));
      const withheld = asks
        .map((ask) => ({ ask, never: whyNever(ask, places) }))
        .filter(({ ask, never }) => never !== null || !agreed.has(ask));
      if (withheld.length === 0) return { manifest, withheld };
      for (const { ask } of withheld) agreed.delete(ask);
      return { manifest: narrowed(manifest, agreed), withheld };
    },
    guards() {
      if (level === 'restricted') return [];
      const agreed = [...Object.entries(file.read().grants[key] ?? {}), ...accepted];
      return agreed.flatMap(([id, asks]) => (asks.includes(GUARD_ASK) ? [id] : []));
    },
    allow: (id, asks) => file.change((record) => withGrants(record, key, { [id]: asks })),
    takeBack(id) {
      accepted.delete(id);
      const revoked = grantsOf(id);
      if (revoked.length > 0)
        file.change((record) => {
          const others = Object.entries(record.grants[key] ?? {}).filter(([other]) => other !== id);
          return { ...record, grants: { ...record.grants, [key]: Object.fromEntries(others) } };
        });
      return revoked;
    },
  };
}

/** What a person agrees to with a sandbox. */
export interface Agreed {
  /** The grants of its extensions, by id. */
  readonly grants: Readonly<Record<string, readonly string[]>>;
  /** The project's files that they were shown, relative to it. */
  readonly files: readonly string[];
}

/** Records that a sandbox is trusted, with the agreed grants and files. Throws `trust_failed`. */
export function trustSandbox(file: TrustFile, sandbox: string, { grants, files }: Agreed = { grants: {}, files: [] }): void {
  const real = realPathOf(sandbox);
  file.change((record) => ({
    ...withGrants(record, real, grants),
    sandboxes: { ...record.sandboxes, [real]: true },
    projectFiles: { ...record.projectFiles, [real]: files },
  }));
}

/** Records that a person does not trust a sandbox, and removes the grants of its extensions. Throws `trust_failed`. */
export function distrustSandbox(file: TrustFile, sandbox: string): void {
  const real = realPathOf(sandbox);
  file.change((record) => {
    const { [real]: _, ...grants } = record.grants;
    const { [real]: __, ...projectFiles } = record.projectFiles;
    return { ...record, grants, projectFiles, sandboxes: { ...record.sandboxes, [real]: false } };
  });
}

/** Records that a person works in a project, and which of its files they were shown; null: they refused. Throws `trust_failed`. */
export function decideProject(file: TrustFile, project: string, files: readonly string[] | null): void {
  file.change((record) => ({ ...record, projects: { ...record.projects, [realPathOf(project)]: files ?? false } }));
}

/** A person's answer about a project; undefined: nobody was asked. */
function answerAbout(file: TrustFile, project: string): boolean | undefined {
  const files = file.read().projects[project];
  return files === undefined ? undefined : files !== false;
}

/** Records whether the state in a folder is the person's. Throws `trust_failed`. */
export function decideState(file: TrustFile, home: string | null, dataDirectory: string, isTheirs: boolean): void {
  const real = realPathOf(dataDirectory);
  if (isTheirs) adoptState(dataDirectory, home);
  file.change((record) => {
    const others = record.foreignState.filter((each) => each !== real);
    return { ...record, foreignState: isTheirs ? others : [...others, real] };
  });
}

function withGrants(record: ReturnType<TrustFile['read']>, sandbox: string, grants: Readonly<Record<string, readonly string[]>>) {
  const all = new Map(Object.entries(record.grants[sandbox] ?? {})); // others choose ids, so one may be `constructor`
  for (const [id, asks] of Object.entries(grants)) all.set(id, [...new Set([...(all.get(id) ?? []), ...asks])].sort());
  return { ...record, grants: { ...record.grants, [sandbox]: Object.fromEntries(all) } };
}

function adopted(dataDirectory: string, home: string | null): boolean {
  try {
    adoptState(dataDirectory, home);
    return true;
  } catch {
    return false; // the folder or the home folder is not writable: state is stored elsewhere, with a notice
  }
}

/** Whether Pith has stored a database for a project while that had no sandbox. */
export function hasBareState(home: string | null, folder: string): boolean {
  return home !== null && existsSync(path.join(home, '.pith', 'projects', placeName(realPathOf(folder)), 'sandbox', 'data', 'pith.db'));
}

/** A replacement for a folder that must not be written: below `~/.pith`, or temporary for this process. */
function placeOutside(home: string | null, kind: OutsideKind, opened: string): string {
  return lastingPlace(home, kind, opened) ?? passingPlace();
}

type OutsideKind = 'projects' | 'restricted';

function placeName(opened: string): string {
  return sha256(opened).slice(0, 32);
}

function lastingPlace(home: string | null, kind: OutsideKind, opened: string): string | null {
  if (home === null) return null;
  try {
    const place = pithFolder(home).folder(kind, placeName(opened)).make();
    accessSync(place, constants.W_OK);
    return place;
  } catch {
    return null; // there is no home folder, or it is not writable
  }
}

function passingPlace(): string {
  const place = mkdtempSync(path.join(os.tmpdir(), 'pith-restricted-'));
  process.once('exit', () => rmSync(place, { recursive: true, force: true }));
  return place;
}

/** True for the root and for the home folder: an agent in all of that would reach more than was meant. */
function holdsEverything(folder: string, home: string | null): boolean {
  return folder === path.parse(folder).root || (home !== null && folder === realPathOf(home));
}

/** Throws `restricted` for a command that writes into an untrusted sandbox or runs its code. */
export function requireTrust({ path, needsTrust }: Pick<Command, 'path' | 'needsTrust'>, trust?: Pick<Trust, 'level' | 'opened'>): void {
  if (needsTrust && trust?.level === 'restricted')
    throw new PithError('restricted', `'${path}' needs a sandbox that you trust`, {
      where: trust.opened,
      cure: 'see what it brings, and trust it, with: pith trust',
    });
}
