import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { isSame } from '../scan/stamp.ts';
import { Breather } from './breather.ts';
import { folderTree, placeOf, type FolderTree, type TreeEntry } from './folder-tree.ts';

/** One text that names what a folder holds: names, contents, links and which files can be run. Times and owners do not count. */
export async function treeDigest(folder: string): Promise<string> {
  const [digest] = await digestsOf(await folderTree(folder), [() => true]);
  return `sha256:${digest}`;
}

/** For each question the hex digest of the entries to which it says yes. Every file is read once. */
export async function digestsOf(
  tree: FolderTree,
  questions: readonly ((entry: TreeEntry) => boolean)[],
  breather = new Breather(),
): Promise<readonly string[]> {
  const digests = questions.map(() => createHash('sha256'));
  for (const entry of tree.entries) {
    if (entry.kind === 'folder') continue; // what lies in it names it
    const content = entry.kind === 'file' ? await fileDigest(placeOf(tree.directory, entry.path), entry, breather) : entry.target;
    const line = `${JSON.stringify([entry.kind, entry.path, entry.executable ? 'x' : '-', content])}\n`;
    for (const [at, asks] of questions.entries()) if (asks(entry)) digests[at]!.update(line);
  }
  if (tree.more) for (const digest of digests) digest.update('more\n');
  return digests.map((digest) => digest.digest('hex'));
}

const buffer = Buffer.allocUnsafeSlow(64 * 1024);
/** How much reading costs as much as a look at a file. */
const BYTES_PER_COST = 8 * 1024;

/** Hex digest of what a file holds. Rejects where it is no longer the one of the entry. */
export async function fileDigest(full: string, { stamp }: Pick<TreeEntry, 'stamp'>, breather: Breather): Promise<string> {
  const hash = createHash('sha256');
  const descriptor = openSync(full, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    if (!isSame(stamp, fstatSync(descriptor, { bigint: true }))) throw new Error(`${full} changed while it was read`);
    for (let read = readSync(descriptor, buffer); read > 0; read = readSync(descriptor, buffer)) {
      hash.update(buffer.subarray(0, read));
      const pause = breather.spend(read / BYTES_PER_COST);
      if (pause !== null) await pause;
    }
  } finally {
    closeSync(descriptor);
  }
  await breather.spend(4);
  return hash.digest('hex');
}
