import { codeOf, messageOf, PithError } from 'pith';
import { exactly, migrated, Queries, type SqlDatabase, type Write } from '@pith/database-queries';
import { olderRowParts, olderSwitchParts, rowParts, stateParts, switchParts, type Line } from './proofs.ts';
import { decryptFailed, KEY_KIND, keyFailed, newKey, proofOf, seal, stateFailed, unseal, type Place } from './sealing.ts';
import { MIGRATIONS, type DataRow, type SwitchRow, type Tables } from './tables.ts';

export type Kind = 'value' | 'file';

export interface MasterKeys {
  /** null: not set. Throws `key_unavailable` when the value is not a key. */
  readonly current: () => Uint8Array | null;
  /** The previous key, until all keys are sealed by the new one. */
  readonly former: () => Uint8Array | null;
}

const DATA = 'skill_vault__data';
const KEYS = 'skill_vault__keys';
const SWITCHES = 'skill_vault__switches';
const COUNTS = 'skill_vault__counts';

export const SET_KEY = 'set it in the environment, or: pith secrets set PITH_MASTER_KEY';

type Builder = Parameters<Parameters<Queries<Tables>['write']>[0]>[0];

/** A skill's rows, with the number of its last write and the proof of both. */
interface State {
  readonly lines: readonly Line[];
  readonly written: number;
  readonly proof: string;
}

/** Other writers cannot win so often: something else is wrong then. */
const MOST_ATTEMPTS = 100;
const ROWS_AT_ONCE = 50;

/**
 * Stores what runs of a skill keep: plain, or sealed by a key of the skill that the master key seals. Each row is read by its own marks,
 * whatever is switched on now.
 */
export class Vault {
  readonly #queries: Queries<Tables>;

  constructor(
    private readonly database: SqlDatabase,
    private readonly master: MasterKeys,
  ) {
    this.#queries = new Queries(migrated(database, 'skill_vault', MIGRATIONS));
  }

  /** null: there is none. Rejects `key_unavailable` and `decrypt_failed`. */
  async read(skillId: string, kind: Kind, name: string): Promise<Uint8Array | null> {
    const row = await this.#row(skillId, kind, name);
    if (row === null) {
      await this.#proveNames(skillId);
      return null;
    }
    try {
      return await this.#open(row);
    } catch (error) {
      const now = await this.#row(skillId, kind, name); // a rotation may have sealed it by another key since
      if (now !== null && isSame(now, row)) throw error;
      return now === null ? null : this.#open(now);
    }
  }

  /** Names, sorted. Rejects `decrypt_failed` where rows were removed or added from outside. */
  async names(skillId: string, kind: Kind): Promise<readonly string[]> {
    await this.#proveNames(skillId);
    const rows = await this.#queries.all((db) =>
      db.selectFrom(DATA).select('name').where('skill_id', '=', skillId).where('kind', '=', kind).orderBy('name'),
    );
    return rows.map(({ name }) => name);
  }

  /** Rejects `key_unavailable` where encryption is or was on and there is no master key. `isOn`: the skill's own setting. */
  async write(
    { skillId, isOn }: { readonly skillId: string; readonly isOn: boolean },
    kind: Kind,
    name: string,
    content: Uint8Array,
  ): Promise<void> {
    if (isOn && (await this.#history(skillId)).length === 0) await this.switchTo(skillId, true);
    await this.#untilNobodyIsFaster(async () => {
      const written = (await this.#count(skillId)) + 1; // first: another writer of the rows read below raises it
      const history = await this.#history(skillId);
      const version = isOn || isOnNow(history) ? await this.#newestKey(skillId) : 0;
      const row = {
        skill_id: skillId,
        kind,
        name,
        version,
        written,
        content: this.#sealed({ skillId, kind, name, version }, content, await this.#keyOf(skillId, version)),
        proof: history.length > 0 ? proofOf(this.#required(), rowParts({ skill_id: skillId, kind, name, written }, content)) : '',
      };
      const { content: kept, proof } = row;
      const state = history.length > 0 ? this.#proofAfter(skillId, written, [...(await this.#others(skillId, row)), row]) : '';
      await this.#queries.write((db) => [
        ...this.#counted(db, skillId, written, state),
        db
          .insertInto(DATA)
          .values(row)
          .onConflict((conflict) => conflict.columns(['skill_id', 'kind', 'name']).doUpdateSet({ version, written, content: kept, proof })),
      ]);
    });
  }

  /** False: there was none. Rejects as `write`. */
  async remove(skillId: string, kind: Kind, name: string): Promise<boolean> {
    return this.#untilNobodyIsFaster(async () => {
      const written = (await this.#count(skillId)) + 1; // first, as in `write`
      const history = await this.#history(skillId);
      if ((await this.#row(skillId, kind, name)) === null) {
        if (history.length > 0) await this.#provenState(skillId); // it may have been removed from outside
        return false;
      }
      const state = history.length > 0 ? this.#proofAfter(skillId, written, await this.#others(skillId, { kind, name })) : '';
      await this.#queries.write((db) => [
        ...this.#counted(db, skillId, written, state),
        db.deleteFrom(DATA).where('skill_id', '=', skillId).where('kind', '=', kind).where('name', '=', name),
      ]);
      return true;
    });
  }

  /** Throws `key_unavailable` where nothing can be encrypted. */
  requireKey(): void {
    if (this.master.current() !== null) return;
    throw new PithError('key_unavailable', 'nothing can be encrypted: PITH_MASTER_KEY is not set', { cure: SET_KEY });
  }

  /** Future writes are sealed, or plain. Existing rows stay as they are. */
  async switchTo(skillId: string, isOn: boolean): Promise<void> {
    await this.#untilNobodyIsFaster(async () => {
      this.#required();
      const written = (await this.#count(skillId)) + 1; // first, as in `write`
      const history = await this.#history(skillId);
      if (isOnNow(history) === isOn) return;
      if (history.length === 0) await this.#proveRows(skillId, () => true);
      const { lines } = history.length === 0 ? await this.#state(skillId) : await this.#provenState(skillId);
      const row = { skill_id: skillId, number: history.length + 1, written, is_on: Number(isOn), proof: '' };
      await this.#proveHistory([...history, row], written, lines);
    });
  }

  /**
   * Makes a new key for a skill and seals its rows with it, some at a time; rows of older keys stay readable meanwhile. After an
   * interruption, the next call continues. Resolves the number of sealed rows.
   */
  async rotate(skillId: string): Promise<number> {
    this.#required();
    await this.#history(skillId);
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
    const ofRuns = await this.#lastKey(runsOf(skillId));
    await this.#queries.write((db) => [
      db.deleteFrom(KEYS).where('skill_id', '=', skillId).where('version', '<', version),
      ...(ofRuns === 0 ? [] : [this.#keyAdded(db, runsOf(skillId), ofRuns + 1)]),
    ]);
    return count;
  }

  /** Seals a run's text with a key for the skill's runs, which rotation keeps, since nobody knows where such texts are. */
  async sealRun(skillId: string, text: string): Promise<string> {
    const version = await this.#newestKey(runsOf(skillId));
    const sealed = this.#sealed(runPlace(skillId, version), Buffer.from(text), await this.#keyOf(runsOf(skillId), version));
    return `${version}:${sealed}`;
  }

  /** Rejects `key_unavailable` and `decrypt_failed`. */
  async openRun(skillId: string, text: string): Promise<string> {
    const [, version = '0', sealed = ''] = /^(\d{1,9}):([A-Za-z0-9+/=]+)$/.exec(text) ?? [];
    const place = runPlace(skillId, Number(version));
    const key = await this.#keyOf(runsOf(skillId), place.version);
    if (key === null) throw decryptFailed(place);
    return Buffer.from(unseal(key, place, Buffer.from(sealed, 'base64'))).toString('utf8');
  }

  /** Accepts a skill's present rows as its state, whatever was changed from outside; a row whose content was changed stays refused. */
  async accept(skillId: string): Promise<void> {
    await this.#untilNobodyIsFaster(async () => {
      this.#required();
      const written = (await this.#count(skillId)) + 1; // first, as in `write`
      const history = await this.#history(skillId);
      if (history.length > 0) await this.#proveHistory(history, written, (await this.#state(skillId)).lines);
    });
  }

  /** Seals the keys of all skills with the new master key, opening them with the previous one. Resolves how many; null: there are none. */
  async rewrap(): Promise<number | null> {
    const master = this.#required();
    const former = this.master.former();
    let count = 0;
    const keys = await this.#queries.all((db) => db.selectFrom(KEYS).selectAll());
    for (const row of keys) {
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
    return keys.length === 0 ? null : count;
  }

  /** Why sealed values cannot be opened; null: nothing is sealed, or there is a master key. Creates no table, and loads nothing. */
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

  /** Renews the previous master key's proofs with the new one. */
  async #proveAgain(skillId: string): Promise<void> {
    const written = (await this.#count(skillId)) + 1; // first, as in `write`
    const history = await this.#history(skillId);
    const { lines } = await this.#provenState(skillId);
    await this.#proveRows(skillId, (row, plain) => this.#isProven(rowParts(row, plain), row.proof));
    await this.#proveHistory(history, written, lines);
  }

  /**
   * Proves rows from before proofs covered their content. A plain one was proven by its number, a sealed one opens nowhere else; any other
   * stays without a proof. The last line of the history marks this as done, so that it happens once.
   */
  async #proveOlder(skillId: string, history: readonly SwitchRow[]): Promise<void> {
    const written = (await this.#count(skillId)) + 1;
    const wasProven = (row: DataRow) => row.version > 0 || this.#isProven(olderRowParts(row), row.proof);
    await this.#proveRows(skillId, (row, plain) => wasProven(row) || this.#isProven(rowParts(row, plain), row.proof));
    await this.#proveHistory(history, written, (await this.#state(skillId)).lines);
  }

  /** Writes a skill's history and state, proven by the current master key. */
  async #proveHistory(history: readonly SwitchRow[], written: number, lines: readonly Line[]): Promise<void> {
    const master = this.#required();
    const skillId = history[0]?.skill_id ?? '';
    let before = '';
    const proven = history.map((row, place) => {
      before = proofOf(master, switchParts(row, before, place === history.length - 1));
      return { ...row, proof: before };
    });
    await this.#queries.write((db) => [
      ...this.#counted(db, skillId, written, this.#proofAfter(skillId, written, lines)),
      ...proven.map(({ proof, ...row }) =>
        db
          .insertInto(SWITCHES)
          .values({ ...row, proof })
          .onConflict((conflict) => conflict.columns(['skill_id', 'number']).doUpdateSet({ proof })),
      ),
    ]);
  }

  /** Proves content and time of these rows of a skill. Rows that cannot be opened are left out. */
  async #proveRows(skillId: string, areThese: (row: DataRow, plain: Uint8Array) => boolean): Promise<void> {
    const master = this.#required();
    const { lines } = await this.#state(skillId);
    for (let from = 0; from < lines.length; from += ROWS_AT_ONCE) {
      const writes: ((db: Builder) => Write)[] = [];
      for (const { kind, name } of lines.slice(from, from + ROWS_AT_ONCE)) {
        const row = await this.#row(skillId, kind, name);
        const plain = row === null ? null : await this.#contentOf(row).catch(() => null); // reading it reports the error
        if (row === null || plain === null || !areThese(row, plain)) continue;
        const proof = proofOf(master, rowParts(row, plain));
        if (proof === row.proof) continue;
        writes.push((db) =>
          db
            .updateTable(DATA)
            .set({ proof })
            .where('skill_id', '=', skillId)
            .where('kind', '=', kind)
            .where('name', '=', name)
            .where('written', '=', row.written)
            .where('content', '=', row.content),
        );
      }
      if (writes.length > 0) await this.#queries.write((db) => writes.map((write) => write(db)));
    }
  }

  /** The rows of the tables, unverified. One query, so that a concurrent write is in it as a whole or not at all. */
  async #state(skillId: string): Promise<State> {
    const rows = await this.#queries.all((db) =>
      db
        .selectFrom(COUNTS)
        .leftJoin(DATA, `${DATA}.skill_id`, `${COUNTS}.skill_id`)
        .select([`${COUNTS}.written as count`, `${COUNTS}.proof as state`, `${DATA}.kind`, `${DATA}.name`, `${DATA}.written`])
        .where(`${COUNTS}.skill_id`, '=', skillId),
    );
    const lines = rows.flatMap(({ kind, name, written }) =>
      kind === null || name === null ? [] : [{ kind, name, written: written ?? 0 }],
    );
    return { lines, written: rows[0]?.count ?? 0, proof: rows[0]?.state ?? '' };
  }

  /** Rejects `decrypt_failed` where a row was removed, added or restored from outside. */
  async #provenState(skillId: string): Promise<State> {
    const state = await this.#state(skillId);
    if (this.#isProven(stateParts(skillId, state.written, state.lines), state.proof)) return state;
    throw stateFailed();
  }

  /** Rejects `decrypt_failed` where the skill's rows differ from its last state. Without the key nothing can be verified. */
  async #proveNames(skillId: string): Promise<void> {
    if (this.master.current() !== null && (await this.#history(skillId)).length > 0) await this.#provenState(skillId);
  }

  /** A skill's rows except one name. */
  async #others(skillId: string, { kind, name }: Pick<Line, 'kind' | 'name'>): Promise<readonly Line[]> {
    return (await this.#provenState(skillId)).lines.filter((line) => line.kind !== kind || line.name !== name);
  }

  #proofAfter(skillId: string, written: number, lines: readonly Line[]): string {
    return proofOf(this.#required(), stateParts(skillId, written, lines));
  }

  /** Rejects `decrypt_failed` for content that was changed, and for a row that the skill no longer has. */
  async #open(row: DataRow): Promise<Uint8Array> {
    const { skill_id: skillId, kind, name, version } = row;
    if (this.master.current() === null && version === 0) {
      if (isOnAt(await this.#switches(skillId), row.written)) throw decryptFailed({ kind, name }); // it was sealed when it was written
      return this.#contentOf(row); // without the key nothing can be verified
    }
    const history = await this.#history(skillId);
    if (history.length === 0) return this.#contentOf(row);
    const plain = await this.#contentOf(row);
    if (!this.#isProven(rowParts(row, plain), row.proof)) throw decryptFailed({ kind, name });
    const { lines } = await this.#provenState(skillId);
    if (!lines.some((line) => line.kind === kind && line.name === name && line.written === row.written)) throw stateFailed();
    return plain;
  }

  async #contentOf(row: DataRow): Promise<Uint8Array> {
    const { skill_id: skillId, kind, name, version } = row;
    const content = Buffer.from(row.content, 'base64');
    if (version === 0) return content;
    const key = await this.#keyOf(skillId, version);
    if (key === null) throw decryptFailed({ kind, name });
    return unseal(key, { skillId, kind, name, version }, content);
  }

  #sealed(place: Place, content: Uint8Array, key: Uint8Array | null): string {
    if (place.version === 0) return Buffer.from(content).toString('base64');
    if (key !== null) return Buffer.from(seal(key, place, content)).toString('base64');
    throw new PithError('write_conflict', `the key ${place.version} of a saved skill was replaced meanwhile`, { cure: 'write again' });
  }

  /** False: another writer was faster. */
  async #resealed(row: DataRow, version: number): Promise<boolean> {
    const { skill_id: skillId, kind, name } = row;
    let content: string;
    try {
      const plain = await this.#contentOf(row); // its content is verified when it is read
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

  /** The key of a version; null for version 0, and for a missing version. */
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

  /** The key for all rows: a new one, or that of an interrupted rotation. A concurrent write that saw another key looks again. */
  async #nextKey(skillId: string): Promise<number> {
    const written = (await this.#count(skillId)) + 1;
    const newest = await this.#lastKey(skillId);
    const left = await this.#queries.first((db) =>
      db.selectFrom(DATA).select('name').where('skill_id', '=', skillId).where('version', '>', 0).where('version', '<', newest),
    );
    if (left !== null) return newest;
    const state = this.#proofAfter(skillId, written, (await this.#provenState(skillId)).lines);
    await this.#queries.write((db) => [...this.#counted(db, skillId, written, state), this.#keyAdded(db, skillId, newest + 1)]);
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

  /** Does nothing where the number exists. */
  #keyAdded(db: Builder, skillId: string, version: number): Write {
    const sealed = Buffer.from(seal(this.#required(), keyPlace(skillId, version), newKey())).toString('base64');
    return db
      .insertInto(KEYS)
      .values({ skill_id: skillId, version, sealed })
      .onConflict((conflict) => conflict.doNothing());
  }

  /**
   * Oldest first. Rejects `decrypt_failed` where somebody without the master key changed or cut it, `key_unavailable` where it exists and
   * the master key is missing.
   */
  async #history(skillId: string): Promise<readonly SwitchRow[]> {
    return this.#untilNobodyIsFaster(async () => {
      const isSealed = (await this.#lastKey(skillId)) > 0; // first: keys are made only where there is a history
      const rows = await this.#switches(skillId);
      if (rows.length === 0 && !isSealed) return rows;
      this.#required();
      if (rows.length > 0 && this.#isWhole(rows, switchParts)) return rows;
      if (rows.length === 0 || !this.#isWhole(rows, olderSwitchParts)) throw keyFailed();
      await this.#proveOlder(skillId, rows);
      return this.#switches(skillId);
    });
  }

  #isWhole(rows: readonly SwitchRow[], partsOf: typeof switchParts): boolean {
    return rows.every((row, place) => {
      const parts = partsOf(row, rows[place - 1]?.proof ?? '', place === rows.length - 1);
      return row.number === place + 1 && this.#isProven(parts, row.proof);
    });
  }

  /** The rows of the table, unverified. */
  #switches(skillId: string): Promise<readonly SwitchRow[]> {
    return this.#queries.all((db) => db.selectFrom(SWITCHES).selectAll().where('skill_id', '=', skillId).orderBy('number'));
  }

  /** By the master key, or the previous one. */
  #isProven(parts: readonly (string | number)[], proof: string): boolean {
    return [this.master.current(), this.master.former()].some((key) => key !== null && proofOf(key, parts) === proof);
  }

  async #count(skillId: string): Promise<number> {
    const row = await this.#queries.first((db) => db.selectFrom(COUNTS).select('written').where('skill_id', '=', skillId));
    return row?.written ?? 0;
  }

  #counted(db: Builder, skillId: string, written: number, proof: string): readonly Write[] {
    if (written === 1)
      return [
        exactly(
          1,
          db
            .insertInto(COUNTS)
            .values({ skill_id: skillId, written, proof })
            .onConflict((conflict) => conflict.doNothing()),
        ),
      ];
    return [
      exactly(
        1,
        db
          .updateTable(COUNTS)
          .set({ written, proof })
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

/** The owner of the keys that seal texts of its runs. No skill id has this suffix. */
function runsOf(skillId: string): string {
  return `${skillId}/runs`;
}

function runPlace(skillId: string, version: number): Place {
  return { skillId, kind: 'run', name: '', version };
}

function isSame(one: DataRow, other: DataRow): boolean {
  return one.version === other.version && one.written === other.written && one.proof === other.proof && one.content === other.content;
}

/** Whether encryption was on when the row of this number was written. */
function isOnAt(history: readonly SwitchRow[], number: number): boolean {
  return history.findLast(({ written }) => written <= number)?.is_on === 1;
}

function isOnNow(history: readonly SwitchRow[]): boolean {
  return history.at(-1)?.is_on === 1;
}

function opens(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch {
    return false; // proven by another key
  }
}
