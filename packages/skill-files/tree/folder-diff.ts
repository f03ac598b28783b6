import path from 'node:path';
import { printableLine } from '@pith/plain-text';
import { readRegularFile } from '@pith/safe-files';
import { folderTree, type TreeEntry, withContents } from './folder-tree.ts';

/** What is different in one file. */
export interface FileChange {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Hex digests of the content, of a link its target; null: nothing was there, or is. */
  readonly from: string | null;
  readonly to: string | null;
  /** A unified diff; null where there is none to show. */
  readonly patch: string | null;
}

const TEXT_LIMIT = 512 * 1024;
/** A comparison that takes longer is shown as the old text and the new one. */
const COMPARE_MS = 2000;

/** What differs between two folders, sorted by path. One that is absent, or null, is empty. */
export async function folderDiff(before: string | null, after: string | null): Promise<readonly FileChange[]> {
  const [old, next] = [await contentsOf(before), await contentsOf(after)];
  const changes: FileChange[] = [];
  for (const name of [...new Set([...old.keys(), ...next.keys()])].sort()) {
    const [from, to] = [old.get(name), next.get(name)];
    if (from?.kind === to?.kind && from?.digest === to?.digest) continue;
    const change = from === undefined ? 'added' : to === undefined ? 'removed' : 'changed';
    const lines = change === 'changed' && from?.kind !== to?.kind ? [`it was a ${from?.kind}, and is a ${to?.kind} now`] : [];
    const patch = await patchOf(name, change, await textOf(before, name, from), await textOf(after, name, to));
    if (patch !== null && patch !== '') lines.push(patch);
    const digests = { from: from?.digest ?? null, to: to?.digest ?? null };
    changes.push({ path: name, change, ...digests, patch: lines.length === 0 ? null : lines.join('\n') });
  }
  return changes;
}

/** The same in lines for a person. */
export function folderDiffLines(changes: readonly FileChange[]): readonly string[] {
  return changes.flatMap(({ path: name, change, from, to, patch }) => {
    const digests = [from, to].flatMap((digest) => digest?.slice(0, 12) ?? []).join(' to ');
    const note = patch === null ? ` (too large to show, or not text: sha256 ${digests})` : '';
    return [`  ${change.padEnd(9)} ${printableLine(name)}${note}`, ...(patch?.split('\n') ?? [])];
  });
}

/** One thing in a folder. */
interface Content {
  readonly kind: 'file' | 'program' | 'link' | 'no file';
  /** Of a link: where it leads. */
  readonly digest: string;
}

async function contentsOf(folder: string | null): Promise<ReadonlyMap<string, Content>> {
  if (folder === null) return new Map();
  const found = await folderTree(folder).catch(() => null); // there is none
  if (found === null) return new Map();
  const entries = (await withContents(found)).entries.filter(({ kind }) => kind !== 'folder');
  return new Map(
    entries.map((entry) => [entry.path, { kind: kindOf(entry), digest: entry.kind === 'link' ? entry.target : (entry.sha256 ?? '') }]),
  );
}

function kindOf({ kind, executable }: TreeEntry): Content['kind'] {
  if (kind === 'file') return executable ? 'program' : 'file';
  return kind === 'link' ? 'link' : 'no file';
}

/** Empty for what is absent; null for what nobody can read as text. */
async function textOf(folder: string | null, name: string, content: Content | undefined): Promise<string | null> {
  if (folder === null || content === undefined) return '';
  if (content.kind === 'no file') return null;
  if (content.kind === 'link') return `link ${content.digest}`;
  const bytes = await readRegularFile(path.join(folder, name), TEXT_LIMIT).catch(() => null); // too large to be shown
  return bytes === null || bytes.includes(0) ? null : bytes.toString('utf8');
}

/** null: one of them is not a text that can be shown. */
async function patchOf(name: string, change: FileChange['change'], from: string | null, to: string | null): Promise<string | null> {
  if (from === null || to === null) return null;
  if (from === to) return '';
  const { difference } = await import('@pith/text-changes'); // most who read skills compare none
  return difference(name, change === 'added' ? null : from, change === 'removed' ? null : to, COMPARE_MS);
}
