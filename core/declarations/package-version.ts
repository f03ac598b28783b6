import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Pith's own version. */
export function packageVersion(): string {
  return pithPackage().version;
}

/** Absolute path of Pith's own package. */
export function packageRoot(): string {
  return pithPackage().root;
}

/** Absolute path of Pith's own sandbox: the extensions, agents and skills that ship. The sandbox in use may be the same one. */
export function shippedSandbox(): string {
  return path.join(pithPackage().root, 'sandbox');
}

/**
 * The folder of `dist/` that holds a build whole. What was built uses its own, also when there is a newer one; what runs from its
 * sources uses the newest.
 */
export function buildOf(root: string): string {
  const dist = path.join(root, 'dist');
  const [own = '', ...rest] = path.relative(dist, fileURLToPath(import.meta.url)).split(path.sep);
  if (rest.length > 0 && own !== '..') return path.join(dist, own);
  return path.join(dist, newestBuild(path.join(dist, 'build.json')));
}

function newestBuild(file: string): string {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { readonly build: string }).build;
  } catch {
    return 'none'; // not built: whoever needs a file of it says so
  }
}

/** Pith's own package, whether this runs from its sources or from its bundle. */
function pithPackage(): { readonly root: string; readonly version: string } {
  return (known ??= find(path.dirname(fileURLToPath(import.meta.url))));
}

let known: ReturnType<typeof pithPackage> | undefined;

/** From the nearest package.json above. */
function find(directory: string): ReturnType<typeof pithPackage> {
  const file = path.join(directory, 'package.json');
  if (existsSync(file)) {
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string };
    if (version !== undefined) return { root: directory, version }; // dist may hold a package.json that only says `type`
  }
  const parent = path.dirname(directory);
  return parent === directory ? { root: directory, version: '0.0.0' } : find(parent);
}
