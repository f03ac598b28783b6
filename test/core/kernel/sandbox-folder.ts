import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { discover, type IndexFile, openIndex } from '../../../core/kernel/index.ts';
import { stateFolder } from '@pith/safe-files';

/** A temporary folder with `files`, removed when the test ends. Its real path. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pith-host-')));
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }));
  writeFiles(directory, files);
  return directory;
}

export function writeFiles(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
    fs.writeFileSync(path.join(directory, name), content);
  }
}

export function removeFile(directory: string, name: string): void {
  fs.rmSync(path.join(directory, name), { recursive: true, force: true });
}

/** Discovery of one sandbox of the user's own. */
export function discoverIn(sandbox: string, options: Partial<Parameters<typeof discover>[0]> = {}): ReturnType<typeof discover> {
  return discover({
    roots: [{ directory: sandbox, shipped: false }],
    agentPaths: [],
    index: indexIn(sandbox),
    at: 0,
    isEnabled: (_id, manifest) => manifest?.enabled ?? true,
    ...options,
  });
}

export function indexIn(sandbox: string): IndexFile {
  return openIndex(stateFolder(path.join(sandbox, 'data'), '.cache'));
}

/** The manifest of an extension with an entrypoint, and that entrypoint. */
export function extension(id: string, more = '', provides = 'tool'): Record<string, string> {
  return {
    [`extensions/${id}/manifest.yaml`]: `id: ${id}\nentrypoint: main.ts\nprovides: [${provides}]\n${more}`,
    [`extensions/${id}/main.ts`]: 'export default class {}\n',
  };
}
