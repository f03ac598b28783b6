import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { pithPackage } from '../../contract/shipped-sandbox.ts';

/** Pith's own version. */
export function packageVersion(): string {
  return pithPackage().version;
}

/** Absolute path of Pith's own package. */
export function packageRoot(): string {
  return pithPackage().root;
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
