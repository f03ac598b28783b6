import path from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { messageOf } from 'pith';
import { readRegularFile } from '../scan/regular-file.ts';
import { folderTree } from '../tree/folder-tree.ts';

export interface FileChange {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** A unified diff; null where there is none to show. */
  readonly patch: string | null;
}

const TEXT_LIMIT = 512 * 1024;
/** Longer differences take too long to find, and nobody reads them. */
const TIME_MS = 2000;

/** What differs between two folders, sorted by path. One that is absent is empty. */
export async function folderDiff(before: string, after: string): Promise<readonly FileChange[]> {
  const [old, next] = [await contentsOf(before), await contentsOf(after)];
  const changes: FileChange[] = [];
  for (const name of [...new Set([...old.keys(), ...next.keys()])].sort()) {
    const [from, to] = [await textOf(before, name, old), await textOf(after, name, next)];
    if (from !== null && to !== null && from.equals(to) && old.get(name) === next.get(name)) continue;
    const change = from === null ? 'added' : to === null ? 'removed' : 'changed';
    changes.push({ path: name, change, patch: patchOf(name, from, to, old.get(name) !== next.get(name)) });
  }
  return changes;
}

/** By path: whether it can be run, or where a link leads. */
async function contentsOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const tree = await folderTree(folder).catch(() => null); // there is none
  if (tree === null) return new Map();
  return new Map([
    ...tree.files.map((file) => [file.path, file.executable ? 'x' : '-'] as const),
    ...tree.links.map((link) => [link.path, `link ${link.target}`] as const),
  ]);
}

async function textOf(folder: string, name: string, contents: ReadonlyMap<string, string>): Promise<Buffer | null> {
  const kind = contents.get(name);
  if (kind === undefined) return null;
  if (kind.startsWith('link ')) return Buffer.from(kind);
  try {
    return await readRegularFile(path.join(folder, name), TEXT_LIMIT);
  } catch (error) {
    return Buffer.from(`\0${messageOf(error)}`); // shown as binary
  }
}

function patchOf(name: string, from: Buffer | null, to: Buffer | null, mode: boolean): string | null {
  if (from?.includes(0) || to?.includes(0)) return null;
  const [before, after] = [from?.toString('utf8') ?? '', to?.toString('utf8') ?? ''];
  if (before === after) return mode && from !== null && to !== null ? 'whether it can be run changes' : null;
  return (
    createTwoFilesPatch(
      from === null ? '/dev/null' : `a/${name}`,
      to === null ? '/dev/null' : `b/${name}`,
      before,
      after,
      undefined,
      undefined,
      {
        context: 3,
        timeout: TIME_MS,
      },
    ) ?? null
  );
}
