import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { packageRoot } from '../host/package-version.ts';

/** How a person who stands in `folder` starts Pith: `npx pith` where npm finds it, else by the path of the program. */
export function commandName(folder: string, installation = packageRoot()): string {
  const prefix = npmPrefix(folder);
  if (prefix !== null && (prefix === installation || existsSync(join(prefix, 'node_modules', '.bin', 'pith')))) return 'npx pith';
  const program = join(installation, 'bin', 'pith');
  const way = relative(folder, program);
  const path = way.length < program.length ? way : program;
  return `node ${/[^\w./~@+-]/u.test(path) ? `'${path}'` : path}`;
}

/** The folder that npm works in from here: the nearest upwards with a package.json or installed packages. */
export function npmPrefix(folder: string): string | null {
  if (existsSync(join(folder, 'package.json')) || existsSync(join(folder, 'node_modules'))) return folder;
  const parent = dirname(folder);
  return parent === folder ? null : npmPrefix(parent);
}
