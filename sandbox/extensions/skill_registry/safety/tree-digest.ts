import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { folderTree, type TreeLimits } from './folder-tree.ts';

const EVERYTHING: TreeLimits = { entries: 100_000, depth: 64 };

/** One text that names what a folder holds: names, contents, links and which files can be run. Times and owners do not count. */
export async function treeDigest(folder: string): Promise<string> {
  const { files, links, others, more } = await folderTree(folder, EVERYTHING);
  const digest = createHash('sha256');
  const add = (...parts: readonly string[]) => digest.update(`${JSON.stringify(parts)}\n`);
  for (const file of files) add('file', file.path, file.executable ? 'x' : '-', await fileDigest(path.join(folder, file.path)));
  for (const link of links) add('link', link.path, link.target);
  for (const other of others) add('other', other);
  if (more) add('more');
  return `sha256:${digest.digest('hex')}`;
}

async function fileDigest(file: string): Promise<string> {
  const digest = createHash('sha256');
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  for await (const chunk of handle.createReadStream()) digest.update(chunk as Buffer);
  return digest.digest('hex');
}
