import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { FolderRecord } from './declaration.ts';
import { INDEX_FORMAT, type IndexFile } from './index-file.ts';
import { buildOf } from './package-version.ts';

/** In the folder of a build, beside what it built of the extensions that ship. */
export const RECORDS_FILE = path.join('ext', 'records.json');

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
 * What the build read of the folders that ship, wherever the package is now: an index begins with it. Their stamps are those of the build,
 * so that in an installed package the digest decides. Read when a folder is first asked for.
 */
export function shippedRecords(packageRoot: string): (directory: string) => FolderRecord | undefined {
  const sandbox = path.join(packageRoot, 'sandbox');
  let folders: Content['folders'] | undefined;
  return (directory) => {
    const name = path.relative(sandbox, directory);
    if (name.startsWith('..')) return undefined;
    folders ??= read(path.join(buildOf(packageRoot), RECORDS_FILE));
    const record = Object.hasOwn(folders, name) ? folders[name] : undefined;
    return record && placed(record, directory, (file) => path.join(directory, file));
  };
}

function read(file: string): Content['folders'] {
  try {
    const { format, folders } = JSON.parse(readFileSync(file, 'utf8')) as Content;
    return format === INDEX_FORMAT ? folders : {};
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
