import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { FolderChanges } from '@pith/folder-changes';
import { systemClock } from '@pith/promises';
import { stateFolder } from '@pith/safe-files';
import { treeDigest } from '@pith/skill-files';

export interface Entry {
  readonly digest: string;
}

/** Of the folders in `folders`, with entries in `lock.json` beside it and journals elsewhere. */
export function changesIn(root: string, digestOf = treeDigest): FolderChanges<Entry> {
  const folder = path.join(root, 'folders');
  const named = (code: string) => (name: string) => ({ code, message: `${code}: ${name}`, cure: 'look at it' });
  return new FolderChanges<Entry>({
    folder,
    journals: stateFolder(root, 'journals'),
    entries: { file: path.join(root, 'lock.json'), name: 'folders', entryOf },
    digestOf,
    clock: systemClock,
    refusals: {
      exists: named('exists'),
      gone: named('gone'),
      edited: named('edited'),
      editedMeanwhile: named('edited_meanwhile'),
      damaged: named('damaged'),
      journal: { code: 'journal_damaged', message: 'the journal cannot be read' },
      takenOver: { code: 'taken_over', message: 'another process undid it' },
      busy: { code: 'busy', message: 'another process is at work' },
      failed: 'failed',
    },
  });
}

function entryOf(id: string, value: unknown): Entry {
  const { digest } = (value ?? {}) as Partial<Entry>;
  if (typeof digest !== 'string') throw new TypeError(`its entry '${id}' is incomplete`);
  return { digest };
}

/** As the file beside the folders has them. */
export function entriesIn(root: string): Readonly<Record<string, Entry>> {
  const file = path.join(root, 'lock.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).folders : {};
}

/** Nobody has said for long that he lives. */
export function dead(root: string): void {
  const staging = path.join(root, 'folders/.staging');
  const names = existsSync(staging) ? readdirSync(staging) : [];
  for (const folder of [path.join(root, 'folders/.busy'), ...names.map((name) => path.join(staging, name))])
    if (existsSync(folder)) utimesSync(folder, 1, 1);
}
