import fs from 'node:fs';
import path from 'node:path';
import { discover, type IndexFile, openIndex } from '../../../core/declarations/index.ts';
import { stateFolder } from '@pith/safe-files';

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
    isEnabled: ({ manifest }) => manifest?.enabled ?? true,
    ...options,
  });
}

/** Ids of what nothing keeps from running. */
export function able({ declarations, failures }: Awaited<ReturnType<typeof discover>>): readonly string[] {
  return [...declarations.values()].flatMap(({ id, manifest }) => (manifest?.enabled === false || failures.has(id) ? [] : [id]));
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
