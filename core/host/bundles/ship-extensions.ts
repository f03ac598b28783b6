import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleShipped, type Bundling } from './bundle.ts';
import type { ShippedIndex } from './bundle-store.ts';
import { stateFolder } from '../../contract/state-files.ts';
import type { Declaration } from '../discovery/declaration.ts';
import { discover } from '../discovery/discover.ts';
import { openIndex } from '../discovery/index-file.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

interface ShipOptions {
  readonly packageRoot: string;
  readonly bundling: (directory: string) => Promise<Bundling>;
}

/** Bundles Pith's own extensions with their packages into `dist/ext` and lists them by digest in `index.json`. For the build. */
export async function shipExtensions(options: ShipOptions): Promise<void> {
  const { packageRoot } = options;
  const folder = path.join(packageRoot, 'dist', 'ext');
  await mkdir(folder, { recursive: true });
  const roots = [{ directory: path.join(packageRoot, 'sandbox'), shipped: true }];
  const { declarations } = await discover({
    roots,
    agentPaths: [],
    index: openIndex(stateFolder(folder, 'none')),
    isEnabled: () => true,
    at: 0,
  });
  const shipped: Writable<ShippedIndex> = {};
  for (const declaration of declarations.values()) {
    if (declaration.manifest?.entrypoint !== undefined)
      shipped[declaration.id] = await ship(declaration, declaration.manifest.entrypoint, folder, options);
  }
  await writeFile(path.join(folder, 'index.json'), `${JSON.stringify(shipped, null, 2)}\n`);
}

async function ship(declaration: Declaration, entrypoint: string, folder: string, options: ShipOptions): Promise<ShippedIndex[string]> {
  const { id, directory, digest, manifest } = declaration;
  const outdir = path.join(folder, id);
  const { packageRoot } = options;
  const bundling = await options.bundling(directory);
  // One by one, so that an entry does not wait for files that it only shares with another.
  const fileOf = async (entry: string) => path.posix.join(id, await bundleShipped({ directory, entry, outdir, packageRoot, bundling }));
  const commands: Record<string, string> = {};
  for (const { entry } of manifest?.commands ?? []) if (entry !== undefined) commands[entry] ??= await fileOf(entry);
  return { digest, main: await fileOf(entrypoint), commands };
}
