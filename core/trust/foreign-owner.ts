import { statSync } from 'node:fs';
import { codeOf } from '../contract/index.ts';

/**
 * Why one of these folders may be another user's work: it belongs to a user other than this one and root, or is writable for everybody.
 * null: no sign of that, or the system has no such owners.
 */
export function foreignOwner(folders: readonly string[], user: number | undefined = process.getuid?.()): string | null {
  if (user === undefined) return null;
  for (const folder of folders) {
    const why = whyForeign(folder, user);
    if (why !== null) return why;
  }
  return null;
}

const EVERYBODY_WRITES = 0o002;
const STICKY = 0o1000;

function whyForeign(folder: string, user: number): string | null {
  try {
    const { uid, mode } = statSync(folder);
    if (uid !== user && uid !== 0) return `${folder} belongs to another user (${uid})`;
    if ((mode & EVERYBODY_WRITES) !== 0 && (mode & STICKY) === 0) return `everybody can write ${folder}`;
    return null;
  } catch (error) {
    return codeOf(error, '') === 'ENOENT' ? null : `${folder} cannot be looked at`;
  }
}
