import { codeOf } from './refused.ts';

/** Whether something failed because the system had no room, which it may have later. */
export function lacksRoom(error: unknown): boolean {
  for (let each = error, depth = 0; each instanceof Error && depth < DEEPEST_CAUSE; each = each.cause, depth += 1) {
    const code = codeOf(each);
    if (code === 'process_not_started' || NO_ROOM.has(code)) return true;
  }
  return false;
}

const DEEPEST_CAUSE = 5;

/** Why the system has no room, by its error code. */
export const NO_ROOM: ReadonlyMap<string, string> = new Map([
  ['EMFILE', 'Pith has as many files open as it may'],
  ['ENFILE', 'the system has as many files open as it may'],
  ['EAGAIN', 'as many processes run as may'],
  ['ENOMEM', 'no memory is left'],
]);
