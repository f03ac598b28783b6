import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

interface Package {
  readonly root: string;
  readonly version: string;
}

let known: Package | undefined;

/** Pith's own version, from the nearest package.json above this file. */
export function packageVersion(): string {
  return (known ??= find(path.dirname(fileURLToPath(import.meta.url)))).version;
}

/** Absolute path of Pith's own package, whether this runs from its sources or from its bundle. */
export function packageRoot(): string {
  return (known ??= find(path.dirname(fileURLToPath(import.meta.url)))).root;
}

function find(directory: string): Package {
  const file = path.join(directory, 'package.json');
  if (fs.existsSync(file)) {
    const { version } = JSON.parse(fs.readFileSync(file, 'utf8')) as { version?: string };
    if (version !== undefined) return { root: directory, version }; // dist may hold a package.json that only says `type`
  }
  const parent = path.dirname(directory);
  return parent === directory ? { root: directory, version: '0.0.0' } : find(parent);
}
