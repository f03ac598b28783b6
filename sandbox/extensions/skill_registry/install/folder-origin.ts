import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { folderTree } from '../tree/folder-tree.ts';
import { type Listing, type OriginEntry, refused } from './entry.ts';

/** So many entries are looked at to find the skills among them. */
const LOOKED_AT = { entries: 20_000, depth: 32 };

/** A folder of this machine; `.git` is left out. */
export async function openFolderOrigin(folder: string): Promise<Listing> {
  const tree = await folderTree(folder, LOOKED_AT, { leavesOut: (name) => name === '.git' });
  if (tree.more)
    throw refused(`${folder} holds more than ${LOOKED_AT.entries} files, or lies too deep`, 'name the folder of the skill itself');
  const plain = { size: 0, executable: false };
  const entries: OriginEntry[] = [
    ...tree.files.map(({ path: name, size, executable }): OriginEntry => ({ path: name, kind: 'file', size, executable })),
    ...tree.links.map((link): OriginEntry => ({ ...plain, path: link.path, kind: 'link' })),
    ...tree.others.map((name): OriginEntry => ({ ...plain, path: name, kind: 'other' })),
  ];
  return {
    entries,
    commit: null,
    name: { text: path.basename(folder), sure: true },
    async *read(wanted) {
      for (const entry of wanted) {
        const handle = await open(path.join(folder, entry.path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
        yield { entry, chunks: handle.createReadStream() };
      }
    },
  };
}
