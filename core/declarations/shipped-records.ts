import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isPlainMap } from '@pith/plain-data';
import type { FolderRecord } from './declaration.ts';
import { INDEX_FORMAT, type IndexFile, type KeptSurfaces, type KnownRecords } from './index-file.ts';
import { buildOf } from './package-version.ts';

/** In the folder of a build, beside what it built of the extensions that ship. */
export const RECORDS_FILE = path.join('ext', 'records.json');

/** Beside it: what those offer that run in a process of their own, with the settings of a new project, taken from the index of one. */
export const SURFACES_FILE = path.join('ext', 'surfaces.json');

/** By folder, relative to Pith's own sandbox, with paths that are relative to the folder. */
type Content = { readonly format: number; readonly folders: Readonly<Record<string, FolderRecord>> };

/** What an index holds of the folders of a sandbox, as text. Without what had findings: those name the places of the build. */
export function recordsOf(index: IndexFile, sandbox: string, directories: readonly string[]): string {
  const records = directories.flatMap((directory) => {
    const record = index.folder(directory);
    if (record === undefined || record.declaration.diagnostics.length > 0) return [];
    return [[path.relative(sandbox, directory), placed(record, '', path.basename)] as const];
  });
  const content: Content = { format: INDEX_FORMAT, folders: Object.fromEntries(records) };
  return `${JSON.stringify(content)}\n`;
}

/**
 * What the build read of the folders that ship, wherever the package is now, and what those offer that run in a process of their own: an
 * index begins with it, so that a new project starts no process to know its tools. The stamps are those of the build, so that in an
 * installed package the digest decides. Read when it is first asked for.
 */
export function shippedRecords(packageRoot: string): KnownRecords {
  const sandbox = path.join(packageRoot, 'sandbox');
  const folders = kept<Content['folders']>(packageRoot, RECORDS_FILE, 'folders');
  const surfaces = kept<KeptSurfaces>(packageRoot, SURFACES_FILE, 'surfaces');
  return {
    folder(directory) {
      const name = path.relative(sandbox, directory);
      if (name.startsWith('..')) return undefined;
      const record = folders(name);
      return record && placed(record, directory, (file) => path.join(directory, file));
    },
    surface(extensionId, key) {
      const surface = surfaces(extensionId);
      return surface?.key === key ? surface.data : undefined;
    },
  };
}

function kept<T extends object>(packageRoot: string, name: string, part: string): (key: string) => T[keyof T] | undefined {
  let all: T | undefined;
  return (key) => {
    all ??= read(path.join(buildOf(packageRoot), name), part) as T;
    return Object.hasOwn(all, key) ? all[key as keyof T] : undefined;
  };
}

function read(file: string, part: string): object {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8')) as { readonly format: number; readonly [part: string]: unknown };
    const found = content.format === INDEX_FORMAT ? content[part] : null;
    return isPlainMap(found) ? found : {};
  } catch {
    return {}; // not built, or damaged: everything is read from its sources
  }
}

function placed(record: FolderRecord, directory: string, at: (file: string) => string): FolderRecord {
  const { declaration } = record;
  const { file, prompt, contract } = declaration;
  return {
    ...record,
    declaration: {
      ...declaration,
      directory,
      file: at(file),
      prompt: prompt && { ...prompt, file: at(prompt.file) },
      ...(contract && { contract: { ...contract, file: at(contract.file) } }),
    },
  };
}
