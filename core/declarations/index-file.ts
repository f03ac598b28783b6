import path from 'node:path';
import type { Manifest } from '../trust/index.ts';
import type { Diagnostic } from '../contract/index.ts';
import { isDynamic, type FolderRecord } from './declaration.ts';
import { FileRefused, type StateFolder, systemCure } from '@pith/safe-files';
import { packageVersion } from './package-version.ts';
import { isPlainMap, sha256 } from '@pith/plain-data';

/** Raise it when a record's shape or the meaning of a manifest changes: older indexes are then rebuilt. A test pins the manifest's schema to it. */
export const INDEX_FORMAT = 28;

/** What was read from disk before, under stamps that tell whether it still holds. A cache: it may be deleted at any time. */
export interface IndexFile {
  readonly file: string;
  /** Why it began empty although a file was there. */
  readonly diagnostics: readonly Diagnostic[];
  folder(directory: string): FolderRecord | undefined;
  /** Those of which something is kept that lie in a folder, sorted. */
  foldersIn(parent: string): readonly string[];
  /** Nothing changes where it holds the same. */
  putFolder(directory: string, record: FolderRecord): void;
  /** `manifest`, or where a folder has a broken one the last that this process saw: what is used instead may have its rights taken, too. */
  lastManifest(directory: string, manifest: Manifest | null): Manifest | null;
  /** What `putSurface` kept under the same key; undefined when the key differs. */
  surface(extensionId: string, key: string): unknown;
  /** Keeps plain data of an extension; the former of the same id goes. */
  putSurface(extensionId: string, key: string, data: unknown): void;
  /** Forgets folders that are not in `directories`, and what was kept for their ids. */
  keepFolders(directories: ReadonlySet<string>): void;
  /** Writes the file when something changed. Never rejects; what hindered it comes back as a warning. */
  save(): Promise<Diagnostic | null>;
}

/** What an index begins with: it holds this wherever its own file says nothing else. */
export type KnownRecords = Pick<IndexFile, 'folder' | 'surface'>;

const NOTHING: KnownRecords = { folder: () => undefined, surface: () => undefined };

/** Opens the index in a folder. A missing, unreadable or older file makes one that holds what is `known`. */
export function openIndex(folder: StateFolder, known = NOTHING): IndexFile {
  const file = path.join(folder.path, FILE);
  const { content, diagnostics } = load(folder, file);
  const folders = new Map(Object.entries(content.folders));
  const surfaces = new Map(Object.entries(content.surfaces));
  const manifests = new Map<string, Manifest>();
  let dirty = diagnostics.length > 0;
  let saving: Promise<Diagnostic | null> = Promise.resolve(null);

  const put = <T>(map: Map<string, T>, key: string, value: T) => {
    map.set(key, value);
    dirty = true;
  };
  const write = async (): Promise<Diagnostic | null> => {
    if (!dirty) return null;
    dirty = false;
    try {
      const content = JSON.stringify({
        folders: Object.fromEntries(folders),
        surfaces: Object.fromEntries(surfaces),
      });
      const text = `{"version":${JSON.stringify(versionOf())},"digest":"${sha256(content)}"${CONTENT}${content}}`;
      await folder.write(FILE, text, { durable: false }); // a cache that is lost or torn is rebuilt
      return null;
    } catch (error) {
      dirty = true;
      if (error instanceof FileRefused) return refusalOf(error);
      const message = `the index cannot be written: ${(error as Error).message}`;
      return {
        severity: 'warning',
        code: 'internal',
        message,
        file,
        cure: `${systemCure(error, folder.path) ?? `make ${folder.path} writable`}; until then every start reads all manifests`,
      };
    }
  };

  return {
    file,
    diagnostics,
    folder: (directory) => folders.get(directory) ?? known.folder(directory),
    foldersIn: (parent) => [...folders.keys()].filter((directory) => path.dirname(directory) === parent).sort(),
    putFolder(directory, record) {
      const { stamps, fresh, declaration } = folders.get(directory) ?? {};
      if (record.stamps !== stamps || record.fresh !== fresh || record.declaration !== declaration) put(folders, directory, record);
    },
    lastManifest(directory, manifest) {
      if (manifest !== null) manifests.set(directory, manifest);
      return manifest ?? manifests.get(directory) ?? null;
    },
    surface(extensionId, key) {
      const kept = surfaces.get(extensionId);
      return kept?.key === key ? kept.data : known.surface(extensionId, key);
    },
    putSurface: (extensionId, key, data) => put(surfaces, extensionId, { key, data }),
    keepFolders(directories) {
      const ids = new Set([...directories].map((directory) => path.basename(directory)));
      const drop = (map: Map<string, unknown>, isKept: (key: string) => boolean) => {
        for (const key of map.keys()) if (!isKept(key)) dirty = map.delete(key);
      };
      drop(folders, (directory) => directories.has(directory));
      const kept = new Set([...surfaces.keys()].filter(isDynamic).slice(-MOST_DYNAMIC));
      drop(surfaces, (name) => kept.has(name) || (!isDynamic(name) && ids.has(name)));
    },
    save: () => (saving = saving.then(write)),
  };
}

const FILE = 'index.json';

/** Nobody says when a dynamic one is gone for good: those that were described last are kept. */
const MOST_DYNAMIC = 200;

/** Comes before the content, whose bytes the digest covers: a file that is well formed but damaged is not believed. */
const CONTENT = ',"content":';

interface Content {
  readonly folders: Record<string, FolderRecord>;
  readonly surfaces: KeptSurfaces;
}

/** By the extension's id. */
export type KeptSurfaces = Readonly<Record<string, { readonly key: string; readonly data: unknown }>>;

/** Far above what thousands of folders need. */
const MAX_INDEX_BYTES = 256 * 1024 * 1024;

const EMPTY: Content = { folders: {}, surfaces: {} };

function versionOf(): string {
  return `${INDEX_FORMAT} ${packageVersion()} node${process.versions.node.split('.', 1)[0]}`;
}

function load(folder: StateFolder, file: string): { readonly content: Content; readonly diagnostics: readonly Diagnostic[] } {
  let text: string;
  try {
    const bytes = folder.read(FILE, MAX_INDEX_BYTES);
    if (bytes === null) return { content: EMPTY, diagnostics: [] };
    text = bytes.toString('utf8');
  } catch (error) {
    if (error instanceof FileRefused) return { content: EMPTY, diagnostics: [refusalOf(error)] };
    return rebuilt(file, `it cannot be read: ${(error as Error).message}`);
  }
  try {
    const whole: unknown = JSON.parse(text);
    if (!isPlainMap(whole) || typeof whole['version'] !== 'string') return rebuilt(file, 'it is not an index');
    const { version, digest, content } = whole;
    if (version !== versionOf()) return rebuilt(file, `it was written by another version (${version.slice(0, 40)})`);
    const bytes = text.slice(text.indexOf(CONTENT) + CONTENT.length, -1);
    if (digest !== sha256(bytes)) return rebuilt(file, 'it is damaged');
    return { content: content as Content, diagnostics: [] };
  } catch {
    return rebuilt(file, 'it is not JSON'); // torn or edited; nothing in it is worth saving
  }
}

/** Something else is in its place: it is neither read nor written. */
function refusalOf({ code, message, cure = '' }: FileRefused): Diagnostic {
  return { severity: 'warning', code, message: `${message}, so every start reads all manifests`, cure };
}

function rebuilt(file: string, why: string): { readonly content: Content; readonly diagnostics: readonly Diagnostic[] } {
  return { content: EMPTY, diagnostics: [{ severity: 'info', code: 'internal', message: `the index is rebuilt: ${why}`, file }] };
}
