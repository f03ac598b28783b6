import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleShipped, type ShippedBundleRequest } from './bundle.ts';
import type { ShippedIndex } from './bundle-store.ts';
import type { Declaration } from '../discovery/declaration.ts';
import { discover } from '../discovery/discover.ts';
import { openIndex } from '../discovery/index-file.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Bundles Pith's own extensions with their packages into `dist/ext` and lists them by digest in `index.json`. For the build. */
export async function shipExtensions({
  packageRoot,
  latePackages = [],
}: {
  readonly packageRoot: string;
  /** Packages that the build has put into `dist/packages`. */
  readonly latePackages?: readonly string[];
}): Promise<void> {
  const folder = path.join(packageRoot, 'dist', 'ext');
  await mkdir(folder, { recursive: true });
  const roots = [{ directory: path.join(packageRoot, 'sandbox'), shipped: true }];
  const { declarations } = await discover({
    roots,
    agentPaths: [],
    index: openIndex(path.join(folder, 'none.json')),
    isEnabled: () => true,
    at: 0,
  });
  const shipped: Writable<ShippedIndex> = {};
  for (const declaration of declarations.values()) {
    if (declaration.manifest?.entrypoint !== undefined)
      shipped[declaration.id] = await ship(declaration, declaration.manifest.entrypoint, folder, { packageRoot, latePackages });
  }
  await writeFile(path.join(folder, 'index.json'), `${JSON.stringify(shipped, null, 2)}\n`);
}

async function ship(
  declaration: Declaration,
  entrypoint: string,
  folder: string,
  options: Pick<ShippedBundleRequest, 'packageRoot' | 'latePackages'>,
): Promise<ShippedIndex[string]> {
  const { id, directory, digest, manifest } = declaration;
  const commands = [...new Set((manifest?.commands ?? []).flatMap(({ entry }) => entry ?? []))];
  const files = await bundleShipped({ directory, entries: [entrypoint, ...commands], outdir: path.join(folder, id), ...options });
  const fileOf = (entry: string) => path.posix.join(id, files.get(path.posix.normalize(entry)) ?? '');
  return { digest, main: fileOf(entrypoint), commands: Object.fromEntries(commands.map((entry) => [entry, fileOf(entry)])) };
}
