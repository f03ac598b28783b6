import path from 'node:path';
import { codeOf } from './refused.ts';
import type { StateFolder } from './state-files.ts';

/** As a note is named: the process, and the name of what is staged without its ends. */
const NOTE = /^(\d{1,10})\.([0-9a-f]{16})$/u;
const LONGEST_PLACE = 8192;

/**
 * Notes of new content that lies in a person's folder until it is in its place, kept outside of that folder. A process that is killed
 * cannot take it away, so the next one does: only what is noted, and never by its looks.
 */
export class StagingNotes {
  constructor(private readonly folder: StateFolder) {}

  /** A name that nobody else makes. */
  static nameOf(id: string): string {
    return `.${id}.tmp`;
  }

  /** Notes that content will lie at `place`. Returns what takes the note back. */
  begin(id: string, place: string): () => void {
    const name = `${process.pid}.${id}`;
    try {
      this.folder.append(name, place);
    } catch {
      return () => undefined; // a full or read-only disk: then a kill may leave the file, as before
    }
    return () => {
      try {
        this.folder.remove(name);
      } catch {
        // what it names is gone: the next start takes it for done
      }
    };
  }

  /** What processes left that have ended, as paths; each note is gone once `remove` returns. */
  clear(remove: (place: string) => void): void {
    for (const note of this.folder.list()) {
      const [, pid, id] = NOTE.exec(note) ?? [];
      if (pid === undefined || id === undefined || isRunning(Number(pid))) continue;
      const place = this.folder.read(note, LONGEST_PLACE)?.toString() ?? '';
      if (path.basename(place) === StagingNotes.nameOf(id)) remove(place);
      this.folder.remove(note);
    }
  }
}

/** Another process than this, which has staged nothing when it clears: in a container all have the same few numbers. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
