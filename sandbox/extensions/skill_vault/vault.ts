import { codeOf, messageOf, PithError } from 'pith';
import { exactly, migrate, Queries, type SqlDatabase, type Write } from '@pith/database-queries';
import { oncePromised } from '@pith/promises';
import { decryptFailed, KEY_KIND, keyFailed, newKey, proofOf, seal, unseal, type Place } from './sealing.ts';
import { MIGRATIONS, type DataRow, type SwitchRow, type Tables } from './tables.ts';

export type Kind = 'value' | 'file';

export interface MasterKeys {
  /** null: none is set. Throws `key_unavailable` when what is set is not a key. */
  readonly current: () => Uint8Array | null;
  /** The former one, until all keys are sealed by the new one. */
  readonly former: () => Uint8Array | null;
}

const DATA = 'skill_vault__data';
const KEYS = 'skill_vault__keys';
const SWITCHES = 'skill_vault__switches';
const COUNTS = 'skill_vault__counts';

export const SET_KEY = 'set it in the environment, or: pith secrets set PITH_MASTER_KEY';

type Builder = Parameters<Parameters<Queries<Tables>['write']>[0]>[0];

type PlainRow = Pick<DataRow, 'skill_id' | 'kind' | 'name' | 'written' | 'proof'>;

/** Others cannot be faster so often: something else is wrong then. */
const MOST_ATTEMPTS = 100;
const ROWS_AT_ONCE = 50;

/** What runs of a skill keep: plain, or sealed by a key of the skill that the master key seals. Each row is read by what it says of itself, whatever is switched on now. */
export class Vault {
  readonly #queries: Queries<Tables>;
  readonly #prepare: () => Promise<void>;

  constructor(
    private readonly database: SqlDatabase,
    private readonly master: MasterKeys,
  ) {
    this.#queries = new Queries(database);
    this.#prepare = oncePromised(() => migrate(this.#queries, 'skill_vault', MIGRATIONS));
  }

  /** null: there is none. Rejects `key_unavailable` and `decrypt_failed`. */
  async read(skillId: string, kind: Kind, name: string): Promise<Uint8Array | null> {
    await this.#prepare();
    const row = await this.#row(skillId, kind, name);
    if (row === null) return null;
    try {
      return await this.#open(row);
    } catch (error) {
      const now = await this.#row(skillId, kind, name); // a rotation may have sealed it by another key since
      if (now !== null && isSame(now, row)) throw error;
      return now === null ? null : this.#open(now);
    }
  }

  /** Names, sorted. */
  async names(skillId: string, kind: Kind): Promise<readonly string[]> {
    await this.#prepare();
    const rows = await this.#queries.all((db) =>
      db.selectFrom(DATA).select('name').where('skill_id', '=', skillId).where('kind', '=', kind).orderBy('name'),
    );
    return rows.map(({ name }) => name);
  }

  /** Rejects `key_unavailable` where encryption is or was on and there is no master key. `isOn`: the skill itself says that it is on. */
  async write(
    { skillId, isOn }: { readonly skillId: string; readonly isOn: boolean },
    kind: Kind,
    name: string,
    content: Uint8Array,
  ): Promise<void> {
    await this.#prepare();
    if (isOn && (await this.#history(skillId)).length === 0) await this.switchTo(skillId, true);
    await this.#untilNobodyIsFaster(async () => {
      const written = (await this.#count(skillId)) + 1; // first: whoever changes what is read below raises it
      const history = await this.#history(skillId);
      const version = isOn || isOnNow(history) ? await this.#newestKey(skillId) : 0;
      const wasPlain = version === 0 && history.length > 0;
      const row = {
        skill_id: skillId,
        kind,
        name,
        version,
        written,
        content: this.#sealed({ skillId, kind, name, version }, content, await this.#keyOf(skillId, version)),
        proof: wasPlain ? proofOf(this.#required(), plainParts({ skill_id: skillId, kind, name, written })) : '',
      };
      const { content: kept, proof } = row;
      await this.#queries.write((db) => [
        ...this.#counted(db, skillId, written),
        db
          .insertInto(DATA)
          .values(row)
          .onConflict((conflict) => conflict.columns(['skill_id', 'kind', 'name']).doUpdateSet({ version, written, content: kept, proof })),
      ]);
    });
  }

  /** False: there was none. */
  async remove(skillId: string, kind: Kind, name: string): Promise<boolean> {
    await this.#prepare();
    const [removed] = await this.#queries.write((db) => [
      db.deleteFrom(DATA).where('skill_id', '=', skillId).where('kind', '=', kind).where('name', '=', name),
    ]);
    return removed === 1;
  }

  /** Throws `key_unavailable` where nothing can be encrypted. */
  requireKey(): void {
    if (this.master.current() !== null) return;
    throw new PithError('key_unavailable', 'nothing can be encrypted: PITH_MASTER_KEY is not set', { cure: SET_KEY });
  }

  /** What is written from now on is sealed, or plain. Rows stay as they are. */
  async switchTo(skillId: string, isOn: boolean): Promise<void> {
    await this.#prepare();
    await this.#untilNobodyIsFaster(async () => {
      this.#required();
      const written = (await this.#count(skillId)) + 1; // first, as in `write`
      const history = await this.#history(skillId);
      if (isOnNow(history) === isOn) return;
      if (history.length === 0) await this.#provePlain(skillId, () => true);
      const row = { skill_id: skillId, number: history.length + 1, written, is_on: Number(isOn), proof: '' };
      await this.#queries.write((db) => [...this.#counted(db, skillId, written), ...this.#proven(db, [...history, row])]);
    });
  }

  /**
   * Makes a new key for a skill and seals its rows by it, some at a time; rows of older keys are read meanwhile. Cut off anywhere, it goes on
   * when it is asked for again. Resolves how many rows were sealed.
   */
  async rotate(skillId: string): Promise<number> {
    await this.#prepare();
    this.#required();
    if ((await this.#lastKey(skillId)) === 0) return 0;
    const version = await this.#untilNobodyIsFaster(() => this.#nextKey(skillId));
    let count = 0;
    for (;;) {
      const rows = await this.#queries.all((db) =>
        db
          .selectFrom(DATA)
          .selectAll()
          .where('skill_id', '=', skillId)
          .where('version', '>', 0)
          .where('version', '<', version)
          .limit(ROWS_AT_ONCE),
      );
      if (rows.length === 0) break;
      for (const row of rows) count += (await this.#resealed(row, version)) ? 1 : 0;
    }
    await this.#queries.write((db) => [db.deleteFrom(KEYS).where('skill_id', '=', skillId).where('version', '<', version)]);
    return count;
  }

  /** Seals the keys of all skills by the master key that is set now; they are opened by the former one. Resolves how many. */
  async rewrap(): Promise<number> {
    await this.#prepare();
    const master = this.#required();
    const former = this.master.former();
    let count = 0;
    for (const row of await this.#queries.all((db) => db.selectFrom(KEYS).selectAll())) {
      const place = keyPlace(row.skill_id, row.version);
      const sealed = Buffer.from(row.sealed, 'base64');
      const isCurrent = opens(() => unseal(master, place, sealed));
      if (isCurrent || former === null) continue;
      const again = Buffer.from(seal(master, place, unseal(former, place, sealed))).toString('base64');
      await this.#queries.write((db) => [
        db
          .updateTable(KEYS)
          .set({ sealed: again })
          .where('skill_id', '=', row.skill_id)
          .where('version', '=', row.version)
          .where('sealed', '=', row.sealed),
      ]);
      count += 1;
    }
    const skills = await this.#queries.all((db) => db.selectFrom(SWITCHES).select('skill_id').distinct());
    for (const { skill_id: skillId } of skills) await this.#untilNobodyIsFaster(() => this.#proveAgain(skillId));
    return count;
  }

  /** Why what is sealed cannot be opened; null: nothing is sealed, or there is a master key. Makes no table, and loads nothing. */
  async whyLocked(): Promise<string | null> {
    const tables = await this.database.all("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", DATA);
    if (tables.length === 0) return null;
    const needs = [`SELECT 1 FROM ${DATA} WHERE version > 0 LIMIT 1`, `SELECT 1 FROM ${SWITCHES} LIMIT 1`];
    if ((await Promise.all(needs.map((sql) => this.database.all(sql)))).flat().length === 0) return null;
    try {
      return this.master.current() === null ? 'PITH_MASTER_KEY is not set' : null;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** What the former master key proves, by the one that is set now. */
  async #proveAgain(skillId: string): Promise<void> {
    const written = (await this.#count(skillId)) + 1; // first, as in `write`
    const history = await this.#history(skillId);
    await this.#provePlain(skillId, (row) => this.#isProven(plainParts(row), row.proof));
    await this.#queries.write((db) => [...this.#counted(db, skillId, written), ...this.#proven(db, history)]);
  }

  /** All of a history, proven by the master key that is set now. */
  #proven(db: Builder, history: readonly SwitchRow[]): readonly Write[] {
    const master = this.#required();
    let before = '';
    return history.map((row, place) => {
      const proof = proofOf(master, switchParts(row, before, place === history.length - 1));
      before = proof;
      return db
        .insertInto(SWITCHES)
        .values({ ...row, proof })
        .onConflict((conflict) => conflict.columns(['skill_id', 'number']).doUpdateSet({ proof }));
    });
  }

  /** Proves that these rows of a skill were written as plain ones, and when. */
  async #provePlain(skillId: string, areThese: (row: PlainRow) => boolean): Promise<void> {
    const master = this.#required();
    const all = await this.#queries.all((db) =>
      db.selectFrom(DATA).select(['skill_id', 'kind', 'name', 'written', 'proof']).where('skill_id', '=', skillId).where('version', '=', 0),
    );
    const rows = all.filter(areThese);
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
      await this.#queries.write((db) =>
        rows.slice(from, from + ROWS_AT_ONCE).map((row) =>
          db
            .updateTable(DATA)
            .set({ proof: proofOf(master, plainParts(row)) })
            .where('skill_id', '=', skillId)
            .where('kind', '=', row.kind)
            .where('name', '=', row.name)
            .where('version', '=', 0)
            .where('written', '=', row.written),
        ),
      );
  }

  async #open(row: DataRow): Promise<Uint8Array> {
    const { skill_id: skillId, kind, name, version } = row;
    const content = Buffer.from(row.content, 'base64');
    if (version === 0) {
      const isPlain =
        this.master.current() === null
          ? !isOnAt(await this.#switches(skillId), row.written) // nothing can be proven without the key
          : (await this.#history(skillId)).length === 0 || this.#isProven(plainParts(row), row.proof);
      if (!isPlain) throw decryptFailed({ kind, name }); // it was sealed when it was written
      return content;
    }
    const key = await this.#keyOf(skillId, version);
    if (key === null) throw decryptFailed({ kind, name });
    return unseal(key, { skillId, kind, name, version }, content);
  }

  #sealed(place: Place, content: Uint8Array, key: Uint8Array | null): string {
    if (place.version === 0) return Buffer.from(content).toString('base64');
    if (key !== null) return Buffer.from(seal(key, place, content)).toString('base64');
    throw new PithError('write_conflict', `the key ${place.version} of a saved skill was replaced meanwhile`, { cure: 'write again' });
  }

  /** False: somebody else was faster. */
  async #resealed(row: DataRow, version: number): Promise<boolean> {
    const { skill_id: skillId, kind, name } = row;
    let content: string;
    try {
      const plain = await this.#open(row);
      content = this.#sealed({ skillId, kind, name, version }, plain, await this.#keyOf(skillId, version));
    } catch (error) {
      const now = await this.#row(skillId, kind, name);
      if (now !== null && isSame(now, row)) throw error;
      return false;
    }
    const [changed] = await this.#queries.write((db) => [
      db
        .updateTable(DATA)
        .set({ version, content })
        .where('skill_id', '=', skillId)
        .where('kind', '=', kind)
        .where('name', '=', name)
        .where('content', '=', row.content),
    ]);
    return changed === 1;
  }

  /** The key of a version; null for version 0, and for one that is not there. */
  async #keyOf(skillId: string, version: number): Promise<Uint8Array | null> {
    if (version === 0) return null;
    const row = await this.#queries.first((db) =>
      db.selectFrom(KEYS).selectAll().where('skill_id', '=', skillId).where('version', '=', version),
    );
    if (row === null) return null;
    const sealed = Buffer.from(row.sealed, 'base64');
    const place = keyPlace(skillId, version);
    const former = this.master.former();
    try {
      return unseal(this.#required(), place, sealed);
    } catch (error) {
      if (former === null || codeOf(error, '') !== 'decrypt_failed') throw error;
      return unseal(former, place, sealed);
    }
  }

  async #newestKey(skillId: string): Promise<number> {
    const newest = await this.#lastKey(skillId);
    if (newest === 0) await this.#queries.write((db) => [this.#keyAdded(db, skillId, 1)]);
    return newest || 1;
  }

  /** The key that rows are to have: a new one, or the one that a rotation which was cut off had made. A write beside it that saw another one looks again. */
  async #nextKey(skillId: string): Promise<number> {
    const written = (await this.#count(skillId)) + 1;
    const newest = await this.#lastKey(skillId);
    const left = await this.#queries.first((db) =>
      db.selectFrom(DATA).select('name').where('skill_id', '=', skillId).where('version', '>', 0).where('version', '<', newest),
    );
    if (left !== null) return newest;
    await this.#queries.write((db) => [...this.#counted(db, skillId, written), this.#keyAdded(db, skillId, newest + 1)]);
    return newest + 1;
  }

  async #lastKey(skillId: string): Promise<number> {
    const row = await this.#queries.first((db) =>
      db
        .selectFrom(KEYS)
        .select(({ fn }) => fn.max('version').as('version'))
        .where('skill_id', '=', skillId),
    );
    return Number(row?.version ?? 0);
  }

  /** Nothing where there is one of that number. */
  #keyAdded(db: Builder, skillId: string, version: number): Write {
    const sealed = Buffer.from(seal(this.#required(), keyPlace(skillId, version), newKey())).toString('base64');
    return db
      .insertInto(KEYS)
      .values({ skill_id: skillId, version, sealed })
      .onConflict((conflict) => conflict.doNothing());
  }

  /** Oldest first. Rejects `decrypt_failed` where somebody without the master key changed or cut it, `key_unavailable` where there is one and no master key. */
  async #history(skillId: string): Promise<readonly SwitchRow[]> {
    const isSealed = (await this.#lastKey(skillId)) > 0; // first: keys are made where there is a history
    const rows = await this.#switches(skillId);
    if (rows.length === 0 && !isSealed) return rows;
    this.#required();
    const isWhole = rows.every((row, place) => {
      const parts = switchParts(row, rows[place - 1]?.proof ?? '', place === rows.length - 1);
      return row.number === place + 1 && this.#isProven(parts, row.proof);
    });
    if (isWhole && rows.length > 0) return rows;
    throw keyFailed();
  }

  /** As they are in the table, which proves nothing. */
  #switches(skillId: string): Promise<readonly SwitchRow[]> {
    return this.#queries.all((db) => db.selectFrom(SWITCHES).selectAll().where('skill_id', '=', skillId).orderBy('number'));
  }

  /** By the master key, or the former one. */
  #isProven(parts: readonly (string | number)[], proof: string): boolean {
    return [this.master.current(), this.master.former()].some((key) => key !== null && proofOf(key, parts) === proof);
  }

  async #count(skillId: string): Promise<number> {
    const row = await this.#queries.first((db) => db.selectFrom(COUNTS).select('written').where('skill_id', '=', skillId));
    return row?.written ?? 0;
  }

  #counted(db: Builder, skillId: string, written: number): readonly Write[] {
    if (written === 1)
      return [
        exactly(
          1,
          db
            .insertInto(COUNTS)
            .values({ skill_id: skillId, written })
            .onConflict((conflict) => conflict.doNothing()),
        ),
      ];
    return [
      exactly(
        1,
        db
          .updateTable(COUNTS)
          .set({ written })
          .where('skill_id', '=', skillId)
          .where('written', '=', written - 1),
      ),
    ];
  }

  #row(skillId: string, kind: string, name: string): Promise<DataRow | null> {
    return this.#queries.first((db) =>
      db.selectFrom(DATA).selectAll().where('skill_id', '=', skillId).where('kind', '=', kind).where('name', '=', name),
    );
  }

  #required(): Uint8Array {
    const key = this.master.current();
    if (key !== null) return key;
    throw new PithError('key_unavailable', 'what this skill keeps is or was encrypted, and PITH_MASTER_KEY is not set', {
      cure: SET_KEY,
    });
  }

  async #untilNobodyIsFaster<T>(act: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await act();
      } catch (error) {
        if (codeOf(error, '') !== 'write_conflict' || attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }
}

function keyPlace(skillId: string, version: number): Place {
  return { skillId, kind: KEY_KIND, name: '', version };
}

function isSame(one: DataRow, other: DataRow): boolean {
  return one.version === other.version && one.written === other.written && one.proof === other.proof && one.content === other.content;
}

/** Whether encryption was on when a row of this number was written. */
function isOnAt(history: readonly SwitchRow[], number: number): boolean {
  return history.findLast(({ written }) => written <= number)?.is_on === 1;
}

function isOnNow(history: readonly SwitchRow[]): boolean {
  return history.at(-1)?.is_on === 1;
}

/** What the proof of a switch covers. Only the newest says that it is: without it the history is cut. */
function switchParts({ skill_id, number, written, is_on }: SwitchRow, before: string, isNewest: boolean) {
  return [before, skill_id, number, written, is_on, Number(isNewest)];
}

function plainParts({ skill_id, kind, name, written }: Pick<DataRow, 'skill_id' | 'kind' | 'name' | 'written'>) {
  return ['plain', skill_id, kind, name, written];
}

function opens(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch {
    return false; // by another key
  }
}
