import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

let known: string | undefined;

/** Pith's own version, from the nearest package.json above this file. */
export function packageVersion(): string {
  known ??= read(path.dirname(fileURLToPath(import.meta.url)));
  return known;
}

function read(directory: string): string {
  const file = path.join(directory, 'package.json');
  if (fs.existsSync(file)) {
    const { version } = JSON.parse(fs.readFileSync(file, 'utf8')) as { version?: string };
    if (version !== undefined) return version; // dist may hold a package.json that only says `type`
  }
  const parent = path.dirname(directory);
  return parent === directory ? '0.0.0' : read(parent);
}
