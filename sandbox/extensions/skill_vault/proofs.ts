import { sha256 } from '@pith/plain-data';
import type { DataRow, SwitchRow } from './tables.ts';

/** What a proof of the master key covers. */
type Parts = readonly (string | number)[];

/** A value or file that a skill has, without what it is: the number says which of all that ever had its name. */
export type Line = Pick<DataRow, 'kind' | 'name' | 'written'>;

/** A row: whose it is, when it was written, and what. Whether it is sealed now, and by which key, is not of it. */
export function rowParts({ skill_id, kind, name, written }: Omit<DataRow, 'version' | 'content' | 'proof'>, plain: Uint8Array): Parts {
  return ['row', skill_id, kind, name, written, sha256(plain)];
}

/** All that a skill has after its write of that number: a row that went, came or was put back makes another state. */
export function stateParts(skillId: string, written: number, lines: readonly Line[]): Parts {
  const listed = lines.map(({ kind, name, written: number }) => JSON.stringify([kind, name, number])).sort();
  return ['state', skillId, written, sha256(listed.join('\n'))];
}

/** A line of the switch history. Only the newest says that it is: without it the history is cut. */
export function switchParts({ skill_id, number, written, is_on }: SwitchRow, before: string, isNewest: boolean): Parts {
  return [...olderSwitchParts({ skill_id, number, written, is_on, proof: '' }, before, isNewest), 'rows and state are proven'];
}

/** The same before rows were proven with what they hold. */
export function olderSwitchParts({ skill_id, number, written, is_on }: SwitchRow, before: string, isNewest: boolean): Parts {
  return [before, skill_id, number, written, is_on, Number(isNewest)];
}

/** Of a plain row then. */
export function olderRowParts({ skill_id, kind, name, written }: Omit<DataRow, 'version' | 'content' | 'proof'>): Parts {
  return ['plain', skill_id, kind, name, written];
}
