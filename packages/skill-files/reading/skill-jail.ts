import { FileRefused, isPassing, Jail, type Reach } from '@pith/safe-files';

/** Reads in a skill's real folder. null: it is no longer there. `reach`: default what the system supports. */
export function skillJail(realDirectory: string, reach?: Reach): Jail | null {
  try {
    const jail = new Jail(realDirectory, reach);
    return jail.root === realDirectory ? jail : null;
  } catch (error) {
    if (isPassing(error)) throw error;
    return null; // it is gone
  }
}

/** null for every refusal, so that nobody learns what is there. Throws what may pass, such as too few descriptors, and where no file can be read. */
export async function unlessRefused<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    const isRefused = error instanceof FileRefused && error.code !== 'jail_unavailable' && !isPassing(error);
    if (!isRefused) throw error;
    return null;
  }
}

/** Package installers link files to their store, so these have a second name. */
export function isOfPackage(file: string): boolean {
  return file.includes('/node_modules/');
}
