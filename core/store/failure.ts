import { messageOf, PithError } from '../contract/index.ts';

// primary result codes, https://sqlite.org/rescode.html
const BUSY = 5;
const LOCKED = 6;
const DAMAGED = 11;
const FULL = 13;
const NOT_A_DATABASE = 26;

/** SQLITE_IOERR_SHMSIZE: no room for the file that the processes of a database share. */
const NO_ROOM_TO_SHARE = 4874;

/**
 * A driver's error as `database_failed`, with the file and the cure. A PithError stays as it is. SQLite's message about a statement, which
 * names tables and quotes SQL, becomes the cause, and part of the message only for an extension's own statement (`isExtensions`).
 */
export function databaseFailure(error: unknown, file: string, { isExtensions = false } = {}): PithError {
  if (error instanceof PithError) return error;
  const words = messageOf(error);
  const primary = primaryCode(error);
  const known = explain(primary, words);
  const why =
    known?.why ?? (isExtensions ? `a statement failed (${words.replace(/^near "[^]*": /u, '')})` : 'it refused a statement of Pith itself');
  const cure = known === null && !isExtensions ? 'run: pith doctor, or report it as a fault of Pith' : known?.cure;
  return new PithError('database_failed', `database ${file}: ${why}`, {
    cause: error,
    cure,
    where: file,
    retryable: isBusy(error),
  });
}

/** Another connection has the lock. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error instanceof PithError ? error.cause : error);
  return code === BUSY || code === LOCKED;
}

/** Works again once there is space. */
export function isDiskFull(error: unknown): boolean {
  return primaryCode(error instanceof PithError ? error.cause : error) === FULL;
}

function primaryCode(error: unknown): number | null {
  if (typeof error !== 'object' || error === null) return null;
  if ('errcode' in error && error.errcode === NO_ROOM_TO_SHARE) return FULL;
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & 0xff; // the higher bits give the kind of busy, of I/O error, …
  return CODES.get(messageOf(error)) ?? null;
}

/** By SQLite's own words: the driver's `all` throws without a code where a later step fails. */
const CODES: ReadonlyMap<string, number> = new Map([
  ['database is locked', BUSY],
  ['database table is locked', LOCKED],
  ['database disk image is malformed', DAMAGED],
  ['file is not a database', NOT_A_DATABASE],
]);

/** null: the statement is at fault, or the reason is unknown. */
function explain(code: number | null, message: string): { readonly why: string; readonly cure?: string } | null {
  switch (code) {
    case BUSY:
    case LOCKED:
      return { why: 'another process is writing to it', cure: 'try again; if it lasts, end the other process of Pith' };
    case 8:
      return { why: `it is read-only (${message})`, cure: 'make the file and its folder writable' };
    case 10:
      return { why: `reading or writing failed (${message})`, cure: 'check the disk and its permissions; nothing that was saved is lost' };
    case DAMAGED:
    case NOT_A_DATABASE:
      return { why: `it is damaged (${message}); it was left as it is`, cure: 'restore it from a backup, or move it away to start empty' };
    case FULL:
      return { why: 'the disk is full', cure: 'free some space and try again; nothing that was saved is lost' };
    case 14:
      return { why: 'it cannot be opened', cure: 'check that its folder exists and is writable' };
    case 18:
      return { why: 'what was to be stored is too long', cure: 'make it shorter' };
    default:
      return null;
  }
}
