// The checked-in lists of what people use of the package.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { exportedTypes } from './exported-types.ts';
import { packageContents } from './package-contents.ts';
import { parseList, type Release, type SurfaceList } from './surface-list.ts';

export type ListName = 'contents' | 'types';

export const LISTS: readonly ListName[] = ['contents', 'types'];

export const fileOfList = (name: ListName): string => `test/architecture/public-surface/${name}.txt`;

export function readList(root: string, name: ListName): SurfaceList {
  return parseList(readFileSync(path.join(root, fileOfList(name)), 'utf8'));
}

/** What the list would hold of what is built. */
export async function currentSurface(root: string, name: ListName): Promise<readonly string[]> {
  return name === 'types' ? exportedTypes(root) : packageContents(await packedFiles(root));
}

/** What stands in package.json, and what CHANGELOG.md says above the section of the released version. */
export function releaseOf(root: string, released: string): Release {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
  const [changelog = ''] = readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8').split(`\n## [${released}]`);
  return { version, changelog };
}

async function packedFiles(root: string): Promise<readonly string[]> {
  const argv = ['pack', '--dry-run', '--json', '--offline', '--ignore-scripts'];
  const { stdout } = await promisify(execFile)('npm', argv, { cwd: root, maxBuffer: 1 << 24 });
  const [{ files }] = JSON.parse(stdout) as [{ files: readonly { readonly path: string }[] }];
  return files.map((file) => file.path);
}
