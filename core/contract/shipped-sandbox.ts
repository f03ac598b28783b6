import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Absolute path of Pith's own sandbox: the extensions, agents and skills that ship. The sandbox in use may be the same one. */
export function shippedSandbox(): string {
  return path.join(pithPackage().root, 'sandbox');
}

/** Pith's own package, whether this runs from its sources or from its bundle. */
export function pithPackage(): { readonly root: string; readonly version: string } {
  return (known ??= find(path.dirname(fileURLToPath(import.meta.url))));
}

let known: ReturnType<typeof pithPackage> | undefined;

/** From the nearest package.json above. */
function find(directory: string): ReturnType<typeof pithPackage> {
  const file = path.join(directory, 'package.json');
  if (fs.existsSync(file)) {
    const { version } = JSON.parse(fs.readFileSync(file, 'utf8')) as { version?: string };
    if (version !== undefined) return { root: directory, version }; // dist may hold a package.json that only says `type`
  }
  const parent = path.dirname(directory);
  return parent === directory ? { root: directory, version: '0.0.0' } : find(parent);
}
