import fs from 'node:fs';
import path from 'node:path';
import type { SeenFile } from '../contract/index.ts';
import { AGENT_FILE, MANIFEST_FILE, PROMPT_FILES } from './discovery/file-names.ts';
import type { IndexFile } from './discovery/index-file.ts';
import { sandboxRoots } from './discovery/roots.ts';
import { stampFile, stampFolder } from './discovery/source-stamp.ts';
import { packageRoot } from './package-version.ts';
import { quarantineFile } from './quarantine.ts';
import type { SandboxReading } from './sandbox-reading.ts';
import { settingsFiles } from './settings/settings.ts';

/**
 * All files that decide what a command of that extension is given and which code it is: settings, what the folders declare, the sources of
 * the extension. null when one of them is not as it was read, or when that cannot be told. Never rejects.
 */
export async function seenOfSandbox(reading: SandboxReading, extensionId: string): Promise<readonly SeenFile[] | null> {
  try {
    const { options, settings, discovery, index } = reading;
    const owner = discovery?.declarations.get(extensionId);
    if (owner === undefined) return null;
    const roots = sandboxRoots(options.sandbox, packageRoot(), options.shipped ?? true);
    const seen = [
      ...settingsFiles(options).map(([file]) => look(file)),
      look(quarantineFile(settings.data_dir)),
      ...roots.flatMap(({ directory }) => ['extensions', 'agents'].flatMap((kind) => declarationsIn(path.join(directory, kind), index))),
      ...settings.agents.paths.flatMap((directory) => [...declaring(directory, index), ...declarationsIn(directory, index)]),
      ...sourcesIn(owner.directory, index),
    ];
    return (await reading.renew()) ? null : seen;
  } catch {
    return null; // such as a folder that may not be read, or is being written
  }
}

/** A folder, the folders in it, and what these declare. */
function declarationsIn(directory: string, index: IndexFile): readonly SeenFile[] {
  return [
    look(directory),
    ...namesIn(directory)
      .filter((name) => !name.startsWith('.') && name !== 'node_modules')
      .flatMap((name) => declaring(path.join(directory, name), index)),
  ];
}

const DECLARING: readonly string[] = [MANIFEST_FILE, AGENT_FILE, ...PROMPT_FILES];

function declaring(directory: string, index: IndexFile): readonly SeenFile[] {
  const files = namesIn(directory).filter((name) => DECLARING.includes(name));
  const read = index.folder(directory)?.stamps.split('\n');
  for (const name of files)
    if (read?.includes(`${name}${stampFile(path.join(directory, name))?.stamp}`) === false) throw new Changed(directory);
  return [look(directory), ...files.map((name) => look(path.join(directory, name)))];
}

/** Every file and folder that an extension may be made of. */
function sourcesIn(directory: string, index: IndexFile): readonly SeenFile[] {
  const { stamps, files, folders, odd, strayLinks, truncated } = stampFolder(directory);
  if (truncated || index.folder(directory)?.stamps !== stamps) throw new Changed(directory);
  return [...folders, ...files, ...odd.keys(), ...strayLinks].map((name) => look(path.join(directory, name)));
}

class Changed extends Error {}

function namesIn(directory: string): readonly string[] {
  try {
    return fs.readdirSync(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}

function look(file: string): SeenFile {
  const stats = fs.statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return { path: file, state: null };
  const { mtimeMs, ctimeMs, size, ino } = stats;
  return { path: file, state: { mtimeMs, ctimeMs, size, ino } };
}
