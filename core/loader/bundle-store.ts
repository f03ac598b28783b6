import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { sha256 } from '@pith/plain-data';
import { type Declaration, digestOf, digestWith, sourceDigest, stampFolder, buildOf, packageVersion } from '../declarations/index.ts';
import { type Bundle, type Loader, Problem } from '../kernel/index.ts';
import { codeOf } from '../contract/index.ts';
import { importBundle } from './contract-shim.ts';
import { FileRefused, stateFolder, type StateFolder, systemCure, systemReason } from '@pith/safe-files';
import type { BundleRequest } from './bundle.ts';

/** `ext/index.json` in the folder of a build. Files are relative to it. */
export type ShippedIndex = Readonly<
  Record<string, { readonly digest: string; readonly main: string | null; readonly commands: Readonly<Record<string, string>> }>
>;

const KEPT = 5;

export function createLoader(options: { readonly dataDirectory: string; readonly packageRoot: string }): Loader {
  const folder = stateFolder(options.dataDirectory, '.cache', 'bundles');
  const shippedFolder = path.join(buildOf(options.packageRoot), 'ext');
  let shipped: ShippedIndex | null | undefined;
  const making = new Map<string, Promise<Bundle>>();

  function shippedAs(id: string): ShippedIndex[string] | undefined {
    if (shipped === undefined) shipped = readShipped(shippedFolder);
    return shipped?.[id];
  }

  function shippedOf({ id, digest }: Declaration): ShippedIndex[string] | undefined {
    const known = shippedAs(id);
    return known?.digest === digest ? known : undefined;
  }

  async function find(declaration: Declaration, entry: string): Promise<Bundle> {
    const known = shippedOf(declaration);
    if (known !== undefined) {
      const file = entry === declaration.manifest?.entrypoint ? known.main : known.commands[entry];
      if (file) return { file: path.join(shippedFolder, file), shipped: true };
    }
    const file = fileOf(declaration, entry);
    if (isThere(file)) return { file, shipped: false };
    const made = await make(declaration, entry, file);
    return { file: made, shipped: false };
  }

  /** A bundle is code: one that is no file of ours is not run. */
  function isThere(file: string): boolean {
    return folder.has(path.basename(file));
  }

  function fileOf(declaration: Declaration, entry: string): string {
    const name = `${fileNameOf(declaration)}-${versionOf(declaration)}-${keyOf(declaration, entry, options.packageRoot)}`;
    const file = path.join(folder.path, `${name}.mjs`);
    // A folder in its place takes nothing away: another name does as well.
    const isFolder = folder.list().includes(`${name}.mjs`) && lstatSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
    return isFolder ? path.join(folder.path, `${name}-00000000.mjs`) : file;
  }

  async function make(declaration: Declaration, entry: string, file: string): Promise<string> {
    const { id, directory, digest, dynamic } = declaration;
    if (dynamic) {
      const made = await makeDynamic(declaration);
      if (made.digest === digest) return made.file;
      throw new Problem('bundle', 'bundle_failed', `the code of '${id}' has just changed`, { cure: 'try again' });
    }
    const { bundle } = await import('./bundle.ts');
    const before = stampFolder(directory);
    const text = await bundle(requestOf(declaration, entry, file));
    // Sources that changed since they were declared must not be under the old digest, nor what was read while the same was written again.
    const isSame = !before.fresh && stampFolder(directory).stamps === before.stamps && digestNow(declaration) === digest;
    return write(isSame ? file : file.replace(/\.mjs$/, `-${sha256(text).slice(0, 8)}.mjs`), text, declaration);
  }

  /** Its digest is that of its bundle: what is not part of the code changes nothing. */
  async function makeDynamic(declaration: Declaration): Promise<{ readonly digest: string; readonly file: string }> {
    const { id, manifest, dynamic } = declaration;
    const entry = manifest?.entrypoint ?? '';
    const owner = id.slice(0, id.indexOf(':'));
    const { bundleText } = await import('./bundle.ts');
    const text = await bundleText({ ...requestOf(declaration, entry, fileOf(declaration, entry)), owner, text: dynamic?.main ?? '' });
    const digest = sha256(text);
    const file = fileOf({ ...declaration, digest }, entry);
    if (!isThere(file)) await write(file, text, { ...declaration, digest });
    return { digest, file };
  }

  function requestOf({ directory, imports }: Declaration, entry: string, file: string): BundleRequest {
    return { directory, packageRoot: options.packageRoot, file, contracts: imports?.contracts, absent: imports?.absent, entry };
  }

  async function write(target: string, text: string, declaration: Declaration): Promise<string> {
    await folder.write(path.basename(target), text, { durable: false }).catch((error: unknown) => {
      if (error instanceof FileRefused) throw error;
      const code = codeOf(error, '');
      throw new Problem('bundle', 'bundle_failed', `its bundle cannot be written: ${systemReason(code)}`, {
        cause: error,
        file: target,
        cure: `${systemCure(error, folder.path) ?? `make ${folder.path} writable`}, or set data_dir to another folder`,
      });
    }); // made again where it is lost
    prune(folder, declaration);
    return target;
  }

  return {
    digestOf: async (declaration) => (await makeDynamic(declaration)).digest,
    bundle(declaration, entry) {
      const key = `${declaration.id}\0${declaration.digest}\0${entry}`;
      const found = making.get(key) ?? find(declaration, entry).finally(() => making.delete(key));
      making.set(key, found);
      return found;
    },
    isShipped: (declaration) => shippedOf(declaration) !== undefined,
    isAltered({ id, digest }) {
      const known = shippedAs(id);
      return known === undefined ? shipped === null : known.digest !== digest;
    },
    import: importBundle,
    async forget(made) {
      if (!made.shipped) folder.remove(path.basename(made.file));
    },
  };
}

/** As the files are now, with the contracts that it imports. */
function digestNow({ directory, imports }: Declaration): string {
  const own = sourceDigest(directory);
  if (imports === undefined) return own;
  const contracts = Object.entries(imports.contracts).map(([id, { file }]) => {
    return [id, { file, digest: digestOf(path.dirname(file), [path.basename(file)]) }] as const;
  });
  return digestWith(own, { ...imports, contracts: Object.fromEntries(contracts) });
}

/** The id of a dynamic one ends with the name of a folder, whatever that is. */
function fileNameOf({ id, dynamic }: Declaration): string {
  return dynamic ? `dynamic-${sha256(id).slice(0, 16)}` : id;
}

/** Names what one state of the sources was made into: one bundle for each entry. */
function versionOf({ digest }: Declaration): string {
  return digest.slice(0, 8);
}

function keyOf(declaration: Declaration, entry: string, packageRoot: string): string {
  const parts = [declaration.digest, declaration.directory, entry, packageRoot, process.versions.node.split('.')[0], packageVersion()];
  return sha256(parts.join('\0')).slice(0, 32);
}

/** null where the build is damaged; empty where there is none: everything is bundled from its sources. */
function readShipped(folder: string): ShippedIndex | null {
  try {
    return JSON.parse(readFileSync(path.join(folder, 'index.json'), 'utf8')) as ShippedIndex;
  } catch {
    return existsSync(path.dirname(folder)) ? null : {}; // it cannot be read, or nothing was built
  }
}

/** Keeps all that was made of an extension's sources as they are now, and of former ones the newest, up to five in all. */
function prune(folder: StateFolder, declaration: Declaration): void {
  const own = new RegExp(`^${fileNameOf(declaration)}-([0-9a-f]+)-[0-9a-f]{32}(?:-[0-9a-f]{8})*\\.mjs$`);
  const found = folder.list().flatMap((name) => {
    const version = own.exec(name)?.[1];
    return version === undefined ? [] : [{ name, isCurrent: version === versionOf(declaration) }];
  });
  const former = found
    .filter(({ isCurrent }) => !isCurrent)
    .map(({ name }) => ({ name, at: statSync(path.join(folder.path, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }));
  const room = Math.max(0, KEPT - (found.length - former.length));
  for (const { name } of former.sort((a, b) => b.at - a.at).slice(room)) folder.remove(name);
}
