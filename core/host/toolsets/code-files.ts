import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { systemClock } from '../system-clock.ts';

/** The files of a folder that code can be loaded from, by what tells one state of them from another without reading them. */
export interface CodeStamp {
  /** Equal texts mean unchanged files, unless the stamp is fresh. */
  readonly stamps: string;
  /** Relative paths, links among them, in one order. */
  readonly files: readonly string[];
  /** A file was written so recently that a further write could leave the same stamp. */
  readonly fresh: boolean;
}

/** What a bundle takes text from. */
const CODE = /\.(?:[cm]?[jt]sx?|json|txt)$/;
const MOST_ENTRIES = 20_000;
const MOST_BYTES = 64 * 1024 * 1024;
/** Coarsest step in which file times advance, with room to spare. */
const TICK_NS = 20_000_000n;

/**
 * Does not follow links: what may be imported really lies in the folder, and is met there. Leaves out hidden folders and `node_modules`.
 * Throws the file system's error when the folder itself cannot be read.
 */
export function stampCode(directory: string): CodeStamp {
  const lines: string[] = [];
  const files: string[] = [];
  let newest = 0n;
  let left = MOST_ENTRIES;
  const folders = [''];
  for (let folder = folders.shift(); folder !== undefined && left > 0; folder = folders.shift()) {
    for (const entry of entriesOf(directory, folder)) {
      left -= 1;
      const relative = folder + entry.name;
      if (entry.isDirectory()) {
        if (!entry.name.startsWith('.') && entry.name !== 'node_modules') folders.push(`${relative}/`);
        continue;
      }
      if (!CODE.test(entry.name) && !entry.isSymbolicLink()) continue;
      const stat = fs.lstatSync(path.join(directory, relative), { bigint: true, throwIfNoEntry: false });
      if (stat === undefined) continue;
      if (stat.ctimeNs > newest) newest = stat.ctimeNs;
      files.push(relative);
      lines.push(`${relative}\t${stat.mtimeNs}\t${stat.ctimeNs}\t${stat.size}\t${stat.ino}`);
    }
  }
  return { stamps: lines.join('\n'), files, fresh: newest + TICK_NS >= BigInt(systemClock().now()) * 1_000_000n };
}

/** Hex SHA-256 over the paths and bytes of these files; of what lies beyond 64 MB, sizes and times count. */
export function digestOfCode(directory: string, files: readonly string[]): string {
  const hash = createHash('sha256');
  let left = MOST_BYTES;
  for (const file of files) {
    const full = path.join(directory, file);
    const stat = fs.lstatSync(full, { throwIfNoEntry: false });
    hash.update(`${file}\0`);
    if (stat?.isSymbolicLink()) hash.update(fs.readlinkSync(full));
    else if (stat?.isFile() && stat.size <= left) {
      left -= stat.size;
      hash.update(`${stat.size}\0`).update(fs.readFileSync(full));
    } else hash.update(stat === undefined ? 'gone' : `${stat.size}\0${stat.mtimeMs}`);
    hash.update('\0');
  }
  return hash.digest('hex');
}

function entriesOf(directory: string, folder: string): readonly fs.Dirent[] {
  try {
    return fs.readdirSync(path.join(directory, folder), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (folder === '') throw error;
    return []; // gone or unreadable: nothing can be imported from it
  }
}
