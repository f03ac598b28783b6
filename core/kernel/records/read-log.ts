import { isPlainMap, jsonOf } from '@pith/plain-data';
import { stateFolder } from '@pith/safe-files';
import { LEVELS, LOG_FILE, LOG_FOLDER } from './logger.ts';

/** The worst last. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof LOG_LEVELS)[number];

export interface ShownRecord {
  readonly time: number;
  readonly level: Level;
  /** An extension, or a part of the kernel. */
  readonly name: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface WantedRecords {
  /** null: of all. */
  readonly name: string | null;
  /** This one and what is worse. */
  readonly level: Level;
  readonly most: number;
}

/** Of the end of the file, so that a long log takes no longer. */
const END_BYTES = 2 * 1024 * 1024;

/** The newest records of the log's present file, the oldest first. */
export function readLog(dataDirectory: string, { name, level, most }: WantedRecords): readonly ShownRecord[] {
  const bytes = stateFolder(dataDirectory, LOG_FOLDER).read(LOG_FILE, Infinity);
  const text = bytes?.subarray(-END_BYTES).toString() ?? '';
  const records = text.split('\n').flatMap((line) => recordOf(line) ?? []);
  return records.filter((record) => (name === null || record.name === name) && LEVELS[record.level] >= LEVELS[level]).slice(-most);
}

/** null: a line that is cut off, or no record. */
function recordOf(line: string): ShownRecord | null {
  const record = jsonOf(line);
  if (!isPlainMap(record)) return null;
  const { level: number, time, name, msg: message, ...fields } = record;
  const level = LOG_LEVELS.findLast((each) => LEVELS[each] <= Number(number));
  if (level === undefined || typeof time !== 'number' || typeof name !== 'string' || typeof message !== 'string') return null;
  return { time, level, name, message, fields };
}
