import fs from 'node:fs';
import path from 'node:path';
import { codeOf, type Diagnostic, messageOf } from '../contract/index.ts';
import { isNothingThere, isPassing } from '@pith/safe-files';
import type { Manifest, Granted } from '../trust/index.ts';
import { settleAgents, type Entry } from './agents.ts';
import { settleDefinitions } from './definitions.ts';
import { isExtension, isGuard, MANIFEST_FILE, type Declaration, type Discovery, type FolderRecord } from './declaration.ts';
import { keptAsItWas, readFolder, type AgentFiles } from './folder-read.ts';
import type { IndexFile } from './index-file.ts';
import { dependencyFailures, type IsEnabled } from './dependencies.ts';

/** A sandbox. */
export interface Root {
  readonly directory: string;
  readonly shipped: boolean;
  /** Its folders are as they were read before; only new ones are looked into. */
  readonly unchanged?: boolean;
  /** Only these of its folders, and those that they depend on, or may. Absent: all. */
  readonly only?: readonly string[];
}

export interface DiscoverOptions {
  /** What a sandbox that is not shipped declares replaces what a shipped one does. */
  readonly roots: readonly Root[];
  /** More folders of agents (or single agents): before shipped ones, after those of a sandbox of one's own. */
  readonly agentPaths: readonly string[];
  readonly index: IndexFile;
  /** `declared`: all ids. */
  readonly isEnabled: (...asked: [...Parameters<IsEnabled>, declared: Iterable<string>]) => boolean;
  /** What of a manifest holds: nobody sees the rest. Absent: all of it. */
  readonly grant?: (id: string, manifest: Manifest, shipped: boolean) => Granted;
  /** Folders of extensions anywhere, as those of a sandbox of one's own, and before them. */
  readonly folders?: readonly string[];
  /** What is in no folder, with all that extensions that ship may. */
  readonly objects?: readonly FolderRecord[];
  /** Ids of guards that a person agreed to: they count where their file is broken, and fail where it is gone. Absent: none. */
  readonly guards?: ReadonlySet<string>;
  /** When, for the failures. */
  readonly at: number;
}

/** Reads what all folders declare. Never rejects: what is wrong is in the diagnostics of its declaration, or of the discovery. */
export async function discover(options: DiscoverOptions): Promise<Discovery> {
  const { roots, folders: named = [], objects = [], agentPaths, index, isEnabled, grant, guards, at } = options;
  const diagnostics: Diagnostic[] = [...index.diagnostics];
  const seen = new Set<string>();
  const foldersOf = (directory: string, only?: readonly string[]) => foldersIn(directory, { index, diagnostics, only });
  const readAll = async (folders: readonly string[] | null, agentFiles: AgentFiles | null, unchanged = false) => {
    const records: FolderRecord[] = [];
    for (const directory of folders ?? []) {
      if (seen.has(directory)) continue; // the same folder by two ways
      seen.add(directory);
      const record = await recordOf(directory, { agentFiles, index, unchanged });
      if ('severity' in record) diagnostics.push(record);
      else records.push(record);
      if ('unread' in record && record.unread !== undefined) diagnostics.push(record.unread);
    }
    return records;
  };
  const sandboxes: (Root & { readonly extensions: readonly FolderRecord[] })[] = [];
  for (const root of [...roots].sort((a, b) => Number(a.shipped) - Number(b.shipped))) {
    const only = root.only && (await withDependencies(root, root.only, index));
    sandboxes.push({
      ...root,
      only,
      extensions: await readAll(foldersOf(path.join(root.directory, 'extensions'), only), null, root.unchanged),
    });
  }
  // Of two that read the same files the shipped one does.
  const agentFiles = new Map(sandboxes.flatMap(({ extensions }) => extensions.flatMap(({ declaration }) => readingOf(declaration))));
  const readByShipped = (id: string | undefined) =>
    sandboxes.some((each) => each.shipped && each.extensions.some(({ declaration }) => declaration.id === id));
  const ofSandbox = async ({ directory, shipped, only, unchanged, extensions }: (typeof sandboxes)[number]) => ({
    shipped,
    records: [...extensions, ...(await readAll(foldersOf(path.join(directory, 'agents'), only), agentFiles, unchanged))],
  });
  const places: { readonly shipped: boolean; readonly records: readonly FolderRecord[] }[] = [
    { shipped: true, records: objects },
    { shipped: false, records: await readAll(named, null) },
  ];
  for (const each of sandboxes) if (!each.shipped) places.push(await ofSandbox(each));
  for (const directory of agentPaths)
    places.push({ shipped: false, records: await readAll(ofAgentPath(directory, agentFiles, { index, diagnostics }), agentFiles) });
  for (const each of sandboxes) if (each.shipped) places.push(await ofSandbox(each));
  const entries = new Map<string, Entry>();
  const ofPith = new Map<string, Declaration>();
  for (const { records, shipped } of places) {
    const found = new Map<string, Entry[]>();
    for (const record of records) {
      const { id } = record.declaration;
      found.set(id, [...(found.get(id) ?? []), { record, declaration: declarationOf(record, shipped, { index, grant, guards }) }]);
    }
    for (const [id, same] of found) {
      if (shipped) ofPith.set(id, same[0]!.declaration);
      const winner = entries.get(id);
      // Only a reader that ships makes an agent that is in the place of a shipped one.
      const gives = shipped && winner?.declaration.readBy !== undefined && !readByShipped(winner.declaration.readBy);
      if (winner === undefined || gives) entries.set(id, same.length === 1 ? same[0]! : duplicate(same));
      else if (shipped) entries.set(id, { ...winner, declaration: { ...winner.declaration, replacesShipped: true } });
      else diagnostics.push(shadowed(id, same[0]!.declaration, winner.declaration));
    }
  }
  for (const declaration of missingGuards(entries, roots, guards ?? [])) entries.set(declaration.id, { declaration, record: NOTHING });
  index.keepFolders(seen);
  const declarations = new Map([...settleDefinitions(settleAgents(entries), ofPith)].sort(([a], [b]) => (a < b ? -1 : 1)));
  const isOn: IsEnabled = (declaration) => isEnabled(declaration, declarations.keys());
  // Findings of agents that are switched off are reported nowhere else.
  for (const declaration of declarations.values()) {
    const { manifest, diagnostics: found } = declaration;
    if (manifest !== null && !isExtension(declaration) && !isOn(declaration)) diagnostics.push(...found);
  }
  return { declarations, failures: dependencyFailures(declarations, isOn, at), diagnostics };
}

function declarationOf(
  { declaration }: FolderRecord,
  shipped: boolean,
  { index, grant, guards }: Pick<DiscoverOptions, 'index' | 'grant' | 'guards'>,
): Declaration {
  const { id, manifest, directory } = declaration;
  const asking = index.lastManifest(directory, manifest);
  const { manifest: given, withheld } = asking && grant ? grant(id, asking, shipped) : { manifest, withheld: [] };
  const guard = declaration.guard ?? (guards?.has(id) ? 'agreed' : undefined);
  const more = { ...(guard && { guard }), ...(withheld.length === 0 ? {} : { withheld }) };
  return { ...declaration, manifest: manifest && given, shipped, ...more };
}

const NOTHING = { extraAgentKeys: [], ownedAgentKeys: [] };

/** Guards that a person agreed to and nothing declares any more. Where only some folders were read, nobody knows. */
function missingGuards(entries: ReadonlyMap<string, Entry>, roots: readonly Root[], agreed: Iterable<string>): readonly Declaration[] {
  const { directory = '', shipped = false, only = [] } = roots.find((root) => !root.shipped) ?? roots[0] ?? {};
  const gone = [...agreed].filter((id) => !entries.has(id) || !isExtension(entries.get(id)!.declaration));
  return only.length > 0 ? [] : gone.map((id) => missingGuard(path.join(directory, 'extensions', id), shipped));
}

function missingGuard(directory: string, shipped: boolean): Declaration {
  const file = path.join(directory, MANIFEST_FILE);
  const message = 'its manifest is gone, and you agreed that it is asked before tools run';
  const gone: Diagnostic = {
    severity: 'error',
    code: 'manifest_missing',
    message,
    file,
    cure: `put its folder back, or forget it (pith extensions allow ${path.basename(directory)} --revoke)`,
  };
  return {
    id: path.basename(directory),
    directory,
    file,
    manifest: null,
    guard: 'agreed',
    prompt: null,
    shipped,
    digest: '',
    diagnostics: [gone],
  };
}

function readingOf({ id, manifest }: FolderRecord['declaration']): readonly (readonly [string, string])[] {
  return (manifest?.agent_files ?? []).map((name) => [name, id] as const);
}

function ofAgentPath(
  directory: string,
  agentFiles: AgentFiles,
  { index, diagnostics }: Pick<Listing, 'index' | 'diagnostics'>,
): readonly string[] | null {
  const isAgent = [MANIFEST_FILE, ...agentFiles.keys()].some((name) => fs.existsSync(path.join(directory, name)));
  const found = isAgent ? [directory] : foldersIn(directory, { index, diagnostics });
  if (found === null) {
    diagnostics.push({
      severity: 'warning',
      code: 'settings_invalid',
      message: `agents.paths: there is no folder ${directory}`,
      cure: 'correct agents.paths',
      file: directory,
    });
  }
  return found;
}

interface Reading {
  readonly agentFiles: AgentFiles | null;
  readonly index: IndexFile;
  /** It is as it was read before. */
  readonly unchanged?: boolean | undefined;
}

async function recordOf(directory: string, { agentFiles, index, unchanged = false }: Reading): Promise<FolderRecord | Diagnostic> {
  const known = unchanged ? index.folder(directory) : undefined;
  return known?.fresh === false ? known : readFolder(directory, agentFiles, index);
}

/** Optional dependencies too: a build needs their contract. */
async function withDependencies({ directory, unchanged }: Root, only: readonly string[], index: IndexFile): Promise<readonly string[]> {
  const wanted = new Set(only);
  for (const id of wanted)
    for (const kind of ['extensions', 'agents']) {
      const record = await recordOf(path.join(directory, kind, id), { agentFiles: null, index, unchanged });
      const manifest = 'declaration' in record ? record.declaration.manifest : null;
      for (const used of [...(manifest?.depends_on ?? []), ...(manifest?.optional_depends_on ?? [])]) wanted.add(used);
    }
  return [...wanted];
}

interface Listing {
  readonly index: IndexFile;
  readonly diagnostics: Diagnostic[];
  readonly only?: readonly string[] | undefined;
}

/**
 * Folders and links to folders, sorted, without hidden ones, of `only` if that is given; null when `directory` does not exist. One that
 * cannot be read is not taken for an empty one: it has the folders that it had.
 */
function foldersIn(directory: string, { index, diagnostics, only }: Listing): readonly string[] | null {
  try {
    return fs
      .readdirSync(directory, { withFileTypes: true })
      .filter((entry) => !entry.name.startsWith('.') && entry.name !== 'node_modules')
      .filter((entry) => only?.includes(entry.name) ?? true)
      .filter((entry) => entry.isDirectory() || (entry.isSymbolicLink() && leadsToFolder(path.join(directory, entry.name))))
      .map((entry) => path.join(directory, entry.name))
      .sort();
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT') return null;
    const known = index.foldersIn(directory).filter((folder) => only?.includes(path.basename(folder)) ?? true);
    if (known.length > 0 && !isNothingThere(error)) {
      diagnostics.push(keptAsItWas(directory, error));
      return known;
    }
    diagnostics.push({
      severity: 'error',
      code: 'manifest_invalid',
      message: `the folder cannot be read: ${messageOf(error)}`,
      file: directory,
      cure: 'make it readable',
    });
    return [];
  }
}

function leadsToFolder(link: string): boolean {
  try {
    return fs.statSync(link).isDirectory();
  } catch (error) {
    if (isPassing(error)) throw error;
    return false; // a link to nothing, or to itself
  }
}

function duplicate(same: readonly Entry[]): Entry {
  const [first] = same as readonly [Entry, ...Entry[]];
  const files = same.map(({ declaration }) => declaration.file);
  const found = same.map(({ declaration }): Diagnostic => ({
    severity: 'error',
    code: 'duplicate_id',
    file: declaration.file,
    line: declaration.positions?.['id']?.[0] ?? 1,
    column: 1,
    message: `the id '${declaration.id}' is declared more than once: ${files.join(' and ')}`,
    cure: 'rename one of the folders',
  }));
  const declaration: Declaration = {
    ...first.declaration,
    ...(same.some(({ declaration }) => isGuard(declaration)) && { guard: 'named' }),
    manifest: null,
    diagnostics: [...found, ...same.flatMap((each) => each.declaration.diagnostics)],
  };
  const ownedAgentKeys = same.flatMap(({ record }) => record.ownedAgentKeys ?? []);
  return { declaration, record: { ...first.record, ownedAgentKeys } };
}

function shadowed(id: string, loser: Declaration, winner: Declaration): Diagnostic {
  return {
    severity: 'info',
    code: 'duplicate_id',
    file: loser.file,
    message: `the agent '${id}' is not used, because ${winner.file} declares the same id`,
    cure: 'rename one of the folders',
  };
}
