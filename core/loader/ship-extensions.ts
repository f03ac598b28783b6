import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleShipped } from './bundle.ts';
import type { ShippedIndex } from './bundle-store.ts';
import { stateFolder } from '@pith/safe-files';
import { discover, openIndex } from '../declarations/index.ts';

/** Bundles the extensions in Pith's own sandbox with their packages into `folder` and lists them by digest in its `index.json`. For the build. `ships`: which of them come with Pith; a person's own beside them do not. */
export async function shipExtensions(packageRoot: string, folder: string, ships: (id: string) => boolean = () => true): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { declarations } = await discover({
    roots: [{ directory: path.join(packageRoot, 'sandbox'), shipped: true }],
    agentPaths: [],
    index: openIndex(stateFolder(folder, 'none')),
    isEnabled: () => true,
    at: 0,
  });
  const shipped: [string, ShippedIndex[string]][] = [];
  for (const declaration of declarations.values()) {
    const { id, manifest } = declaration;
    if (manifest?.entrypoint === undefined || !ships(id)) continue;
    const bundle = async (entry: string) =>
      path.posix.join(
        id,
        await bundleShipped({
          directory: declaration.directory,
          contracts: declaration.imports?.contracts,
          entry,
          outdir: path.join(folder, id),
          packageRoot,
        }),
      );
    const entries = [...new Set((manifest.commands ?? []).flatMap(({ entry }) => entry ?? []))];
    const commands = await Promise.all(entries.map(async (entry) => [entry, await bundle(entry)] as const));
    shipped.push([id, { digest: declaration.digest, main: await bundle(manifest.entrypoint), commands: Object.fromEntries(commands) }]);
  }
  await writeFile(path.join(folder, 'index.json'), `${JSON.stringify(Object.fromEntries(shipped), null, 2)}\n`);
}
