import fs from 'node:fs';
import type { FileState, SeenFile } from '../../contract/protocols/command-provider.ts';
import type { StoredAnswer } from './answer-file.ts';

/** Whether all that an answer was made from is now as it was then: one look at each. */
export function isUnchanged({ paths, states, others }: Pick<StoredAnswer, 'paths' | 'states' | 'others'>): boolean {
  for (let at = 0, from = 0; at < paths.length; at += 1, from += 4) {
    const now = fs.statSync(paths[at]!, QUIET);
    if (
      now === undefined ||
      now.ctimeMs !== states[from + 1] ||
      now.mtimeMs !== states[from] ||
      now.size !== states[from + 2] ||
      now.ino !== states[from + 3]
    )
      return false;
  }
  return others.every(isAsSeen);
}

const QUIET = { throwIfNoEntry: false } as const;

function isAsSeen({ path, state, link = false, real }: SeenFile): boolean {
  return isSameState(stateAt(path, link), state) && (real === undefined || realOf(path) === real);
}

function isSameState(now: FileState | null, then: FileState | null): boolean {
  if (now === null || then === null) return now === then;
  return now.ctimeMs === then.ctimeMs && now.mtimeMs === then.mtimeMs && now.size === then.size && now.ino === then.ino;
}

/** null also for what may not be seen: whoever may see it then has an answer of his own. */
function stateAt(path: string, link: boolean): FileState | null {
  try {
    return (link ? fs.lstatSync(path, QUIET) : fs.statSync(path, QUIET)) ?? null;
  } catch {
    return null; // EACCES, ELOOP: it was not seen then either
  }
}

function realOf(path: string): string | null {
  try {
    return fs.realpathSync.native(path);
  } catch {
    return null; // nothing there, or a loop of links
  }
}
