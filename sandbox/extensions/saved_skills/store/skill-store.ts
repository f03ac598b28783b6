import { once } from '@pith/promises';
import { codeOf, PithError, z } from 'pith';
import { exactly, type Queries, type Write } from '@pith/database-queries';
import { PINNED_FIELDS, type SavedSkill, referenceOf, savedSkillSchema, withoutDefault } from '../domain/saved-skill.ts';
import { nextOf } from '../domain/timetable.ts';
import type { SkillRow, Tables, VersionRow } from './tables.ts';

/** What a run is made of, as it was when its skill was saved. */
export type Snapshot = Pick<SavedSkill, (typeof PINNED_FIELDS)[number]>;

export interface SkillVersion {
  readonly id: string;
  readonly skillId: string;
  /** 1 for the first. */
  readonly number: number;
  readonly version: string;
  readonly snapshot: Snapshot;
  /** Each skill that it uses as it was then, `id@sha256:…`, by the name in `uses_skills`; none for one that could not be kept. */
  readonly digests: Readonly<Record<string, string>>;
  readonly authoredBy: string | null;
  readonly createdAt: number;
}

/** A skill as one write knows it: the write fails where somebody else has changed it since. */
export interface StoredSkill {
  readonly skill: SavedSkill;
  readonly revision: number;
}

/** As much of a skill as its deletion needs. */
export interface FoundSkill {
  readonly skill: Pick<SavedSkill, 'id' | 'owner_id' | 'name'>;
  readonly revision: number;
}

const SKILLS = 'saved_skills__skills';
const VERSIONS = 'saved_skills__versions';

/** Skills and their versions. What is written is on disk when the promise resolves. */
export class SkillStore {
  constructor(
    private readonly queries: Queries<Tables>,
    private readonly clock: { now(): number },
  ) {}

  byId(id: string): Promise<StoredSkill | null> {
    return this.#one((rows) => rows.where('id', '=', id));
  }

  /** null as owner: a builtin. */
  byName(owner: string | null, name: string): Promise<StoredSkill | null> {
    return this.#one(named(owner, name));
  }

  /** Of any owner, sorted by owner. */
  allNamed(name: string): Promise<readonly SavedSkill[]> {
    return this.#readable((rows) => rows.where('name', '=', name).orderBy('owner_id'));
  }

  /** Sorted by owner, then name; rows that cannot be read are left out. */
  all(): Promise<readonly SavedSkill[]> {
    return this.#readable((rows) => rows.orderBy('owner_id').orderBy('name'));
  }

  exposed(): Promise<readonly SavedSkill[]> {
    return this.#readable((rows) => rows.where('expose_as_chatbot_tool', '=', 1).orderBy('owner_id').orderBy('name'));
  }

  byWebhook(secret: string): Promise<StoredSkill | null> {
    return this.#one((rows) => rows.where('webhook_secret', '=', secret));
  }

  /** Skills whose rows cannot be read, as `owner/name`. */
  async damaged(): Promise<readonly string[]> {
    return (await this.#rows((rows) => rows)).flatMap((row) => (readStored(row) === null ? [namedIn(row)] : []));
  }

  /** Versions whose rows cannot be read. */
  async damagedVersions(): Promise<readonly { readonly skillId: string; readonly version: string }[]> {
    const rows = await this.queries.all((db) => db.selectFrom(VERSIONS).selectAll());
    return rows.flatMap((row) => (readVersion(row) === null ? [{ skillId: row.skill_id, version: row.version }] : []));
  }

  /** One whose row cannot be read; null: there is none of that name. */
  async damagedNamed(owner: string | null, name: string): Promise<FoundSkill | null> {
    const [row] = await this.#rows(named(owner, name));
    return row === undefined || readStored(row) !== null
      ? null
      : { skill: { id: String(row.id), owner_id: owner, name }, revision: row.revision };
  }

  /** Rejects `name_taken`. */
  async insert(skill: SavedSkill, version: SkillVersion): Promise<void> {
    try {
      await this.queries.write((db) => [
        db.insertInto(SKILLS).values({ ...columnsOf(skill), next_run_at: null, revision: 1 } as SkillRow),
        db.insertInto(VERSIONS).values(versionRow(version)),
      ]);
    } catch (error) {
      if ((await this.byName(skill.owner_id, skill.name)) === null) throw error;
      throw nameTaken(skill.name);
    }
  }

  /**
   * Writes what is different now, with the version that it makes, all or nothing. Rejects `write_conflict` where somebody else was
   * faster, and `name_taken`.
   */
  async update({ skill, revision }: StoredSkill, change: Partial<SavedSkill>, version: SkillVersion | null = null): Promise<SavedSkill> {
    try {
      await this.queries.write((db) => [
        this.changing(db, { skill, revision }, change),
        ...(version === null ? [] : [db.insertInto(VERSIONS).values(versionRow(version))]),
      ]);
    } catch (error) {
      const { name = skill.name } = change;
      const holder = name === skill.name ? null : await this.byName(skill.owner_id, name);
      if (holder !== null) throw nameTaken(name);
      throw codeOf(error, '') === 'write_conflict' ? changedMeanwhile(skill.name, error) : error;
    }
    return { ...skill, ...change };
  }

  /** The statement of a change, for a write that does more. */
  changing(db: Builder, { skill, revision }: StoredSkill, change: Partial<SavedSkill>): Write {
    const set = { ...columnsOf(change), next_run_at: null, revision: revision + 1 };
    return exactly(1, db.updateTable(SKILLS).set(set).where('id', '=', skill.id).where('revision', '=', revision));
  }

  async remove({ skill, revision }: FoundSkill): Promise<void> {
    await this.queries.write((db) => [
      exactly(1, db.deleteFrom(SKILLS).where('id', '=', skill.id).where('revision', '=', revision)),
      db.deleteFrom(VERSIONS).where('skill_id', '=', skill.id),
    ]);
  }

  /** Newest first. */
  async versions(skillId: string): Promise<readonly SkillVersion[]> {
    const rows = await this.queries.all((db) =>
      db.selectFrom(VERSIONS).selectAll().where('skill_id', '=', skillId).orderBy('number', 'desc'),
    );
    return rows.flatMap((row) => readVersion(row) ?? []);
  }

  /** The number that its next version has. */
  async nextNumber(skillId: string): Promise<number> {
    const row = await this.queries.first((db) =>
      db
        .selectFrom(VERSIONS)
        .select(({ fn }) => fn.max('number').as('number'))
        .where('skill_id', '=', skillId),
    );
    return Number(row?.number ?? 0) + 1;
  }

  /** null: that skill has no such version. */
  async version(skillId: string, id: string): Promise<SkillVersion | null> {
    const row = await this.queries.first((db) => db.selectFrom(VERSIONS).selectAll().where('skill_id', '=', skillId).where('id', '=', id));
    return row === null ? null : versionOf(row);
  }

  async newest(skillId: string): Promise<SkillVersion | null> {
    const row = await this.queries.first((db) =>
      db.selectFrom(VERSIONS).selectAll().where('skill_id', '=', skillId).orderBy('number', 'desc').limit(1),
    );
    return row === null ? null : versionOf(row);
  }

  /** When they run next is not kept: the timetables of jobs know. */
  async #rows(which: Which): Promise<readonly SkillRow[]> {
    const now = this.clock.now();
    const rows = await this.queries.all((db) => which(everySkill(db)));
    return rows.map((row) => ({ ...row, next_run_at: nextOf(row as unknown as SavedSkill, now) }));
  }

  async #one(which: Which): Promise<StoredSkill | null> {
    const [row = null] = await this.#rows(which);
    return stored(row);
  }

  /** Rows that cannot be read are left out: `findings` names them. */
  async #readable(which: Which): Promise<readonly SavedSkill[]> {
    return (await this.#rows(which)).flatMap((row) => readStored(row)?.skill ?? []);
  }
}

type Builder = Parameters<Parameters<Queries<Tables>['write']>[0]>[0];

function everySkill(db: Builder) {
  return db.selectFrom(SKILLS).selectAll();
}

/** Says which of the skills. */
type Which = (rows: ReturnType<typeof everySkill>) => ReturnType<typeof everySkill>;

function named(owner: string | null, name: string): Which {
  return (rows) => rows.where('owner_id', owner === null ? 'is' : '=', owner).where('name', '=', name);
}

function stored(row: SkillRow | null): StoredSkill | null {
  return row === null ? null : { skill: skillOf(row), revision: row.revision };
}

function readStored(row: SkillRow): StoredSkill | null {
  try {
    return stored(row);
  } catch {
    return null; // `findings` names it; the others go on
  }
}

function versionRow({ id, skillId, number, version, snapshot, digests, authoredBy, createdAt }: SkillVersion): VersionRow {
  return {
    id,
    skill_id: skillId,
    number,
    version,
    snapshot: JSON.stringify(snapshot),
    digests: JSON.stringify(digests),
    authored_by: authoredBy,
    created_at: createdAt,
  };
}

/** What helps where the row of a version cannot be read. */
export const VERSION_CURE = 'edit the skill, which makes another version, and pin that';

/** Throws `skill_damaged` for a row that something else has changed. */
function versionOf(row: VersionRow): SkillVersion {
  try {
    return {
      id: row.id,
      skillId: row.skill_id,
      number: row.number,
      version: row.version,
      snapshot: JSON.parse(row.snapshot) as Snapshot,
      digests: JSON.parse(row.digests) as Readonly<Record<string, string>>,
      authoredBy: row.authored_by,
      createdAt: row.created_at,
    };
  } catch (error) {
    throw new PithError('skill_damaged', `version ${row.version} of the saved skill ${row.skill_id} is damaged in the database`, {
      cause: error,
      cure: VERSION_CURE,
    });
  }
}

function readVersion(row: VersionRow): SkillVersion | null {
  try {
    return versionOf(row);
  } catch {
    return null; // `findings` names it; the others go on
  }
}

function nameTaken(name: string): PithError {
  const message = `there is a saved skill '${name}' already`;
  return new PithError('name_taken', message, { cure: 'choose another name, or edit that one', problems: [{ path: ['name'], message }] });
}

function changedMeanwhile(name: string, cause: unknown): PithError {
  return new PithError('write_conflict', `the saved skill '${name}' was changed by somebody else meanwhile; nothing was written`, {
    cause,
    retryable: true,
    cure: 'look at it, then try again',
  });
}

/** What a run of this skill is made of, as it is now. */
export function snapshotOf(skill: SavedSkill): Snapshot {
  return Object.fromEntries(PINNED_FIELDS.map((field) => [field, skill[field]])) as unknown as Snapshot;
}

/** Fields that are kept as JSON, and those that are kept as 0 or 1. */
const kinds = once(() => {
  const open = Object.entries(savedSkillSchema().shape).map(([field, type]) => [field, withoutDefault(type)] as const);
  const of = (...types: readonly (abstract new (...args: never) => unknown)[]) =>
    new Set(open.filter(([, type]) => types.some((each) => type instanceof each)).map(([field]) => field));
  return { json: of(z.ZodArray, z.ZodObject, z.ZodRecord), flags: of(z.ZodBoolean) };
});

/** The columns of a skill, all or some. */
export function columnsOf(skill: Partial<SavedSkill>): Partial<Omit<SkillRow, 'revision'>> {
  const { json, flags } = kinds();
  const columns = Object.entries(skill).map(([field, value]) => [
    field,
    json.has(field) ? JSON.stringify(value) : flags.has(field) ? Number(value) : value,
  ]);
  return Object.fromEntries(columns);
}

/** Throws `skill_damaged` for a row that something else has changed. */
export function skillOf(row: SkillRow): SavedSkill {
  try {
    const own = Object.entries(row).filter(([key]) => key !== 'revision');
    const { json, flags } = kinds();
    const fields = own.map(([field, value]) => [
      field,
      json.has(field) ? JSON.parse(String(value)) : flags.has(field) ? value === 1 : value,
    ]);
    return savedSkillSchema().parse(Object.fromEntries(fields));
  } catch (error) {
    throw new PithError('skill_damaged', `the row of the saved skill '${String(row.name)}' is damaged`, {
      where: String(row.id),
      cause: error,
      cure: cureOf(namedIn(row)),
    });
  }
}

/** The skill of a row, readable or not, as `owner/name`. */
function namedIn({ owner_id, name }: SkillRow): string {
  return referenceOf({ owner_id: owner_id === null ? null : String(owner_id), name: String(name) });
}

/** What helps where the row of a skill cannot be read. */
export function cureOf(reference: string): string {
  return `delete it and save it again: pith saved delete ${reference}`;
}
