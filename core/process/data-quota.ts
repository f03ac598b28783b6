import path from 'node:path';
import { lstat, opendir } from 'node:fs/promises';
import type { Clock } from '../contract/index.ts';

/** Small files cost room in other ways. */
const MOST_FILES = 100_000;
const LOOK_EVERY_MS = 2000;
/** A look takes at most a twentieth of the time. */
const PAUSE = 20;

/** How much a folder holds on disk; what links lead to is not counted. It stops counting beyond the limit. Never rejects: what cannot be looked at counts as nothing. */
async function measureFolder(folder: string, mostBytes: number, mostFiles: number) {
  let bytes = 0;
  let files = 0;
  const waiting = [folder];
  for (let at = waiting.pop(); at !== undefined && bytes <= mostBytes && files <= mostFiles; at = waiting.pop()) {
    const entries = await opendir(at).catch(() => null); // removed meanwhile
    if (entries === null) continue;
    for await (const entry of entries) {
      const place = path.join(at, entry.name);
      const found = await lstat(place).catch(() => null); // the same
      if (found === null) continue;
      files += 1;
      bytes += found.blocks === undefined ? found.size : found.blocks * 512;
      if (found.isDirectory()) waiting.push(place);
      if (bytes > mostBytes || files > mostFiles) break;
    }
  }
  return { bytes, files };
}

/** Why a folder holds too much, as a sentence without its subject; null: it does not. */
export async function whyTooLarge(folder: string, limitMb: number, mostFiles = MOST_FILES): Promise<string | null> {
  const { bytes, files } = await measureFolder(folder, limitMb * 1024 * 1024, mostFiles);
  if (bytes > limitMb * 1024 * 1024) return `it keeps more than ${limitMb} MB in ${folder}`;
  return files > mostFiles ? `it keeps more than ${mostFiles} files in ${folder}` : null;
}

/** Looks at once and every few seconds, and reports once when the folder holds too much. Returns what ends it. */
export function watchFolder(folder: string, limitMb: number, clock: Clock, exceeded: (message: string) => void): () => void {
  let ended = false;
  let cancel = (): void => undefined;
  const look = async (): Promise<void> => {
    const began = clock.now();
    const why = await whyTooLarge(folder, limitMb);
    if (ended) return;
    if (why !== null) return exceeded(why);
    cancel = clock.after(Math.max(LOOK_EVERY_MS, PAUSE * (clock.now() - began)), () => void look());
  };
  void look();
  return () => {
    ended = true;
    cancel();
  };
}
