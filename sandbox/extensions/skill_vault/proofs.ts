import { sha256 } from '@pith/plain-data';
import type { DataRow, SwitchRow } from './tables.ts';

/** The data that a proof of the master key covers. */
type Parts = readonly (string | number)[];

/** A value or file of a skill, without its content. The number identifies the version among all that ever had the name. */
export type Line = Pick<DataRow, 'kind' | 'name' | 'written'>;

/** A row: its skill, when it was written, and its content. Excludes whether it is sealed now, and by which key. */
export function rowParts({ skill_id, kind, name, written }: Omit<DataRow, 'version' | 'content' | 'proof'>, plain: Uint8Array): Parts {
  return ['row', skill_id, kind, name, written, sha256(plain)];
}

/** All rows of a skill after its write of that number: removing, adding or restoring a row makes another state. */
export function stateParts(skillId: string, written: number, lines: readonly Line[]): Parts {
  const listed = lines.map(({ kind, name, written: number }) => JSON.stringify([kind, name, number])).sort();
  return ['state', skillId, written, sha256(listed.join('\n'))];
}

/** A line of the switch history. Only the newest says that it is the newest, so a history without it was cut. */
export function switchParts({ skill_id, number, written, is_on }: SwitchRow, before: string, isNewest: boolean): Parts {
  return [...olderSwitchParts({ skill_id, number, written, is_on, proof: '' }, before, isNewest), 'rows and state are proven'];
}

/** The same from before proofs covered the content of rows. */
export function olderSwitchParts({ skill_id, number, written, is_on }: SwitchRow, before: string, isNewest: boolean): Parts {
  return [before, skill_id, number, written, is_on, Number(isNewest)];
}

/** The parts of a plain row at that time. */
export function olderRowParts({ skill_id, kind, name, written }: Omit<DataRow, 'version' | 'content' | 'proof'>): Parts {
  return ['plain', skill_id, kind, name, written];
}
