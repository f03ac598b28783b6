import type { StateFolder } from '../../contract/state-files.ts';
import { isFresh, placesToWatch, stampsOf } from './watched-paths.ts';

/** What a toolset's bundle was made of when it was looked at last. */
export interface ToolsetSources {
  /** Of whose modules, made by which Pith. */
  readonly key: string;
  /** Names the bundle. */
  readonly digest: string;
  readonly watched: readonly string[];
  /** Empty where a further change could leave the same: then it is bundled again. */
  readonly stamps: string;
}

export interface Made {
  readonly key: string;
  readonly digest: string;
  /** When bundling began. */
  readonly began: number;
}

export function sourcesOf(directory: string, seen: Iterable<string>, { key, digest, began }: Made): ToolsetSources {
  const watched = placesToWatch(directory, seen);
  const stamps = stampsOf(watched);
  return { key, digest, watched, stamps: isFresh(watched, began) ? '' : stamps };
}

/** One look at each place: no folder is walked. */
export function isUnchanged({ watched, stamps }: ToolsetSources): boolean {
  return stamps !== '' && stamps === stampsOf(watched);
}

/** null: none, damaged, or of something else. */
export function readSources(folder: StateFolder, name: string, key: string): ToolsetSources | null {
  try {
    const read = JSON.parse(String(folder.read(name))) as ToolsetSources;
    return read?.key === key && typeof read.digest === 'string' && Array.isArray(read.watched) ? read : null;
  } catch {
    return null; // it is only a memory: what it would tell is found out anew
  }
}
