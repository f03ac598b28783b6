import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';

/** Replaces a file as a whole: whoever reads it, also after a loss of power, sees the former or the new one. Throws the file system's error. */
export function writeFileAtomically(file: string, text: string, mode = 0o644): void {
  const draft = path.join(path.dirname(file), `.${path.basename(file)}.${randomUUID()}`);
  try {
    const descriptor = openSync(draft, 'wx', mode);
    try {
      const bytes = Buffer.from(text);
      for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, file);
    syncFolder(path.dirname(file));
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function syncFolder(folder: string): void {
  let descriptor: number;
  try {
    descriptor = openSync(folder, 'r');
  } catch {
    return; // some systems open no folders; the rename is then as lasting as it gets
  }
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
