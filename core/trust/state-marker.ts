import { randomUUID } from 'node:crypto';
import { PithError } from '../contract/index.ts';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { isPlainMap } from '@pith/plain-data';
import { openRecordFile, type RecordFile } from './record-file.ts';
import { pithFolder } from './trust-file.ts';

/** `new`: the folder is missing or empty. `known`: this user's Pith wrote it. `unknown`: it came from elsewhere, or nobody can tell. */
export type StateOwnership = 'new' | 'known' | 'unknown';

/**
 * Whose state is in a data folder. Of the folder's content only a random id is trusted, and only where `~/.pith` knows it. `wrong`: why
 * nobody can tell, such as a link, a pipe, another user's file or a damaged record; else null.
 */
export function stateOwnership(dataDirectory: string, home: string | null): { readonly owner: StateOwnership; readonly wrong: unknown } {
  try {
    const folder = stateFolder(dataDirectory);
    if (folder.list().length === 0) return { owner: 'new', wrong: null };
    const id = idIn(folder);
    const isKnown = id !== null && home !== null && knownStates(home).read().ids.includes(id);
    return { owner: isKnown ? 'known' : 'unknown', wrong: null };
  } catch (error) {
    return { owner: 'unknown', wrong: error };
  }
}

/**
 * Creates the folder where it is missing, and records its state in `~/.pith` as the user's: for a new one, or once a person has claimed it.
 * The id is recorded before it is written, so that after an interruption the person is asked again. Throws `state_refused`.
 */
export function adoptState(dataDirectory: string, home: string | null): void {
  if (home === null) throw new PithError('state_refused', 'state cannot be marked as yours: there is no home folder', { cure: 'set HOME' });
  const folder = stateFolder(dataDirectory);
  if (stateOwnership(dataDirectory, home).owner === 'known') return;
  folder.make();
  const id = randomUUID();
  knownStates(home).change(({ ids }) => ({ ids: [...ids, id].slice(-MOST) }));
  folder.writeNow(MARKER, `${id}\n`);
}

const MARKER = 'state-id';
const KNOWN = 'states.json';
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MARKER_BYTES = 100;
/** The most folders on record, more than anybody has; the latest are kept. */
const MOST = 10_000;

/** null: there is no file, or no id in it. Throws where it is not a file of this user. */
function idIn(folder: StateFolder): string | null {
  const text = folder.read(MARKER, MARKER_BYTES)?.toString('utf8').trim() ?? '';
  return ID.test(text) ? text : null;
}

/** The ids of this user's data folders. Throws where the file is damaged, so that nobody can tell which state is theirs. */
function knownStates(home: string): RecordFile<{ readonly ids: readonly string[] }> {
  const record = openRecordFile(pithFolder(home), { name: KNOWN, nothing: { ids: [] }, parse });
  const problem = record.problem();
  if (problem === null) return record;
  throw new PithError('state_refused', `${problem}, so Pith cannot tell which state is yours`, {
    where: record.file ?? KNOWN,
    cure: 'move it away, then run: pith trust --yes --state',
  });
}

function parse(read: unknown): { readonly ids: readonly string[] } {
  const ids = isPlainMap(read) ? read['ids'] : undefined;
  if (!Array.isArray(ids)) throw new Error("'ids' is not a list");
  return { ids: ids.filter((id): id is string => typeof id === 'string' && ID.test(id)) };
}
