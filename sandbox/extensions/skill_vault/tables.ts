import type { Migration } from '@pith/database-queries';

/** A value or file of one skill. */
export interface DataRow {
  readonly skill_id: string;
  /** `value` or `file`. */
  readonly kind: string;
  readonly name: string;
  /** 0: `content` is plain, in base64; else the number of the data key that seals it. */
  readonly version: number;
  /** When it was written, in the skill's own count. */
  readonly written: number;
  /** Base64. */
  readonly content: string;
  /** The master key's proof of content and time, for a skill that was ever encrypted; else empty. */
  readonly proof: string;
}

/** A data key of one skill, sealed by the master key. */
export interface KeyRow {
  readonly skill_id: string;
  readonly version: number;
  /** Base64. */
  readonly sealed: string;
}

/** A switch of encryption: writes from `written` on are sealed, or plain. */
export interface SwitchRow {
  readonly skill_id: string;
  readonly number: number;
  readonly written: number;
  /** 0 or 1. */
  readonly is_on: number;
  /** The master key's proof of this line, the proof before it, and whether it is the newest. */
  readonly proof: string;
}

/** Counts the writes of a skill. */
export interface CountRow {
  readonly skill_id: string;
  readonly written: number;
  /** The master key's proof of the skill's rows after that write, for a skill that was ever encrypted; else empty. */
  readonly proof: string;
}

export interface Tables {
  skill_vault__data: DataRow;
  skill_vault__keys: KeyRow;
  skill_vault__switches: SwitchRow;
  skill_vault__counts: CountRow;
}
export const MIGRATIONS: readonly Migration[] = [
  [
    `CREATE TABLE skill_vault__data (
       skill_id text NOT NULL, kind text NOT NULL, name text NOT NULL, version integer NOT NULL, written bigint NOT NULL,
       content text NOT NULL, PRIMARY KEY (skill_id, kind, name)
     )`,
    'CREATE TABLE skill_vault__keys (skill_id text NOT NULL, version integer NOT NULL, sealed text NOT NULL, PRIMARY KEY (skill_id, version))',
    `CREATE TABLE skill_vault__switches (
       skill_id text NOT NULL, number integer NOT NULL, written bigint NOT NULL, is_on integer NOT NULL, proof text NOT NULL,
       PRIMARY KEY (skill_id, number)
     )`,
    'CREATE TABLE skill_vault__counts (skill_id text PRIMARY KEY, written bigint NOT NULL)',
  ],
  ["ALTER TABLE skill_vault__data ADD COLUMN proof text DEFAULT '' NOT NULL"],
  ["ALTER TABLE skill_vault__counts ADD COLUMN proof text DEFAULT '' NOT NULL"],
];
