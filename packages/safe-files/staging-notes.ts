import path from 'node:path';
import { codeOf } from './refused.ts';
import type { StateFolder } from './state-files.ts';

/** The name of a note: the process id, and the staged file's name without its ends. */
const NOTE = /^(\d{1,10})\.([0-9a-f]{16})$/u;
const LONGEST_PLACE = 8192;

/**
 * Notes on staged files in a person's folder, kept outside of that folder. A killed process cannot remove its staged files, so the next one
 * does: only those that are noted, never by their names alone.
 */
export class StagingNotes {
  constructor(private readonly folder: StateFolder) {}

  /** A unique name. */
  static nameOf(id: string): string {
    return `.${id}.tmp`;
  }

  /** Notes that a staged file will be at `place`. Returns a function that removes the note. */
  begin(id: string, place: string): () => void {
    const name = `${process.pid}.${id}`;
    try {
      this.folder.append(name, place);
    } catch {
      return () => undefined; // a full or read-only disk: a kill may then leave the file behind
    }
    return () => {
      try {
        this.folder.remove(name);
      } catch {
        // its file is gone: the next start counts the note as done
      }
    };
  }

  /** Passes the staged files of processes that have ended to `remove`, and removes each note after it. */
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

/**
 * Whether another process with this id runs. This process has staged nothing when it clears: in a container all processes have the same few
 * ids.
 */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
