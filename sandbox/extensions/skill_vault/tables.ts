import type { Migration } from '@pith/database-queries';

/** A value or file of one skill. */
export interface DataRow {
  readonly skill_id: string;
  /** `value` or `file`. */
  readonly kind: string;
  readonly name: string;
  /** 0: `content` is plain, in base64; else the number of the data key by which it is sealed. */
  readonly version: number;
  /** When it was written, in the skill's own count. */
  readonly written: number;
  /** Base64. */
  readonly content: string;
  /** Of a skill that was ever encrypted, by the master key: what was written, and when. Else empty. */
  readonly proof: string;
}

/** A data key of one skill, sealed by the master key. */
export interface KeyRow {
  readonly skill_id: string;
  readonly version: number;
  /** Base64. */
  readonly sealed: string;
}

/** Encryption was switched: what is written from `written` on is sealed, or plain. */
export interface SwitchRow {
  readonly skill_id: string;
  readonly number: number;
  readonly written: number;
  /** 0 or 1. */
  readonly is_on: number;
  /** By the master key, over this line, the proof of the one before, and whether it is the newest. */
  readonly proof: string;
}

/** One more with each write of a skill. */
export interface CountRow {
  readonly skill_id: string;
  readonly written: number;
  /** Of a skill that was ever encrypted, by the master key: which rows it has after that write. Else empty. */
  readonly proof: string;
}

export interface Tables {
  skill_vault__data: DataRow;
  skill_vault__keys: KeyRow;
  skill_vault__switches: SwitchRow;
  skill_vault__counts: CountRow;
}

export const MIGRATIONS: readonly Migration[] = [
  (db) => [
    db.schema
      .createTable('skill_vault__data')
      .addColumn('skill_id', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('version', 'integer', (column) => column.notNull())
      .addColumn('written', 'bigint', (column) => column.notNull())
      .addColumn('content', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('skill_vault__one', ['skill_id', 'kind', 'name']),
    db.schema
      .createTable('skill_vault__keys')
      .addColumn('skill_id', 'text', (column) => column.notNull())
      .addColumn('version', 'integer', (column) => column.notNull())
      .addColumn('sealed', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('skill_vault__key', ['skill_id', 'version']),
    db.schema
      .createTable('skill_vault__switches')
      .addColumn('skill_id', 'text', (column) => column.notNull())
      .addColumn('number', 'integer', (column) => column.notNull())
      .addColumn('written', 'bigint', (column) => column.notNull())
      .addColumn('is_on', 'integer', (column) => column.notNull())
      .addColumn('proof', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('skill_vault__switch', ['skill_id', 'number']),
    db.schema
      .createTable('skill_vault__counts')
      .addColumn('skill_id', 'text', (column) => column.primaryKey())
      .addColumn('written', 'bigint', (column) => column.notNull()),
  ],
  (db) => [db.schema.alterTable('skill_vault__data').addColumn('proof', 'text', (column) => column.notNull().defaultTo(''))],
  (db) => [db.schema.alterTable('skill_vault__counts').addColumn('proof', 'text', (column) => column.notNull().defaultTo(''))],
];
