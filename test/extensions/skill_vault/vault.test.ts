import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { olderRowParts, olderSwitchParts } from '../../../sandbox/extensions/skill_vault/proofs.ts';
import { decrypt, newKey, proofOf, seal } from '../../../sandbox/extensions/skill_vault/sealing.ts';
import { MIGRATIONS, type Tables } from '../../../sandbox/extensions/skill_vault/tables.ts';
import { Vault } from '../../../sandbox/extensions/skill_vault/vault.ts';
import { ONLY, saveAs, savedKernel, type SavedKernel } from '../saved_skills/saved-kernel.ts';
import { openStore, createDatabase } from '../../../core/store/index.ts';
import type { ExtensionContext } from 'pith';
import { migrate, Queries } from '@pith/database-queries';
import { systemClock } from '@pith/promises';
import { folderWith } from '../../places.ts';
import { until } from '../../waiting.ts';

type Database = ExtensionContext['database'];

const hex = (text: string) => Buffer.from(text, 'hex');
const KEY = randomBytes(32).toString('base64');

const WITH_VAULT = { only: [...ONLY, 'skill_vault'] };

/** A vault on a real database, and that database. */
function opened(keys: { current?: string | null; former?: string | null } = {}) {
  const store = openStore(`${folderWith()}/pith.db`, systemClock);
  const database = createDatabase(store, 'skill_vault');
  const bytes = (text: string | null | undefined) => (text ? Buffer.from(text, 'base64') : null);
  const kept = { current: KEY as string | null, former: null as string | null, ...keys };
  const vault = new Vault(database, { current: () => bytes(kept.current), former: () => bytes(kept.former) });
  return { vault, database, kept };
}

const keys = { current: () => Buffer.from(KEY, 'base64'), former: () => null as Buffer | null };
/** A vault of its own on that database, where `between` happens just before its query or write of that number. */
function meeting(database: Database, number: number, between: () => Promise<unknown>, itsKeys = keys): Vault {
  let count = 0;
  const counted =
    <Given extends unknown[], Answer>(query: (...given: Given) => Promise<Answer>) =>
    async (...given: Given) => {
      if (++count === number) await between();
      return query(...given);
    };
  return new Vault({ ...database, all: counted(database.all), write: counted(database.write) }, itsKeys);
}
/** More queries and writes than any call makes of a small vault, until it is done or the other has been noticed. */
const QUERIES = Array.from({ length: 14 }, (_, index) => index + 1);

const plain = { skillId: 's1', isOn: false };
/** A vault that keeps the value 0 as `x`, sealed or plain. */
async function keepingX(how: 'sealed' | 'plain') {
  const made = opened();
  if (how === 'sealed') await made.vault.switchTo('s1', true);
  await made.vault.write(plain, 'value', 'x', Buffer.from('0'));
  return made;
}
/** A vault whose skill had `y` and a file `x2` while it was plain, then `x` sealed, `z` plain again, and is encrypted now. */
async function mixed() {
  const made = opened();
  const { vault } = made;
  const keep = (kind: 'value' | 'file', name: string) => vault.write(plain, kind, name, Buffer.from(name));
  await keep('value', 'y');
  await keep('file', 'x2');
  await vault.switchTo('s1', true);
  await keep('value', 'x');
  await vault.switchTo('s1', false);
  await keep('value', 'z');
  await vault.switchTo('s1', true);
  for (const name of ['x', 'y', 'z']) expect(text(await vault.read('s1', 'value', name))).toBe(name);
  return made;
}

const text = (value: Uint8Array | null) => (value === null ? null : Buffer.from(value).toString());

describe('the vault', () => {
  it('M79 AES-256-GCM as the test vectors of its specification say (case 16), and with no shorter tag', () => {
    const key = hex('feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308');
    const nonce = hex('cafebabefacedbaddecaf888');
    const cipher = hex(
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662',
    );
    const tag = hex('76fc6ece0f4e1768cddf8853bb2d551b');
    const aad = hex('feedfacedeadbeeffeedfacedeadbeefabaddad2');
    const expected =
      'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39';
    expect(Buffer.from(decrypt(key, aad, Buffer.concat([nonce, cipher, tag]))).toString('hex')).toBe(expected);
    for (let at = 0; at < tag.length; at += 1) {
      const wrong = Buffer.from(tag);
      wrong[at] = (wrong[at] as number) ^ 1;
      expect(() => decrypt(key, aad, Buffer.concat([nonce, cipher, wrong]))).toThrow(/authenticate/);
    }
    expect(() => decrypt(key, aad, Buffer.concat([nonce, cipher, tag.subarray(0, 4)]))).toThrow(/authenticate|short|tag/i);
  });

  it('M77 M78 rows are plain while it is off and sealed while it is on; each is read by what it is, for ever', async () => {
    const { vault, database } = opened();
    await vault.write(plain, 'value', 'before', Buffer.from('plain'));
    await vault.switchTo('s1', true);
    await vault.write(plain, 'value', 'during', Buffer.from('secret'));
    await vault.write(plain, 'file', 'during', Buffer.from('secret file'));
    await vault.switchTo('s1', false);
    await vault.write(plain, 'value', 'after', Buffer.from('plain again'));
    const values = { before: 'plain', during: 'secret', after: 'plain again' };
    for (const [name, value] of Object.entries(values)) expect(text(await vault.read('s1', 'value', name))).toBe(value);
    const rows = await database.all('SELECT name, version, content FROM skill_vault__data WHERE kind = ?', 'value');
    expect(Object.fromEntries(rows.map(({ name, version }) => [name, Number(version) > 0]))).toEqual({
      before: false,
      during: true,
      after: false,
    });
    expect(rows.map(({ content }) => Buffer.from(String(content), 'base64').toString()).join()).not.toContain('secret');
    expect(await vault.names('s1', 'value')).toEqual(['after', 'before', 'during']);
    expect(await vault.read('s2', 'value', 'during')).toBeNull();
  });

  it('M80 without the master key nothing sealed is read or written, and nothing is written plain instead', async () => {
    const { vault, kept } = opened();
    await vault.write(plain, 'value', 'open', Buffer.from('plain'));
    await vault.switchTo('s1', true);
    await vault.write(plain, 'value', 'closed', Buffer.from('secret'));
    kept.current = null;
    expect(text(await vault.read('s1', 'value', 'open'))).toBe('plain');
    await expect(vault.read('s1', 'value', 'closed')).rejects.toMatchObject({ code: 'key_unavailable' });
    await expect(vault.write(plain, 'value', 'new', Buffer.from('x'))).rejects.toMatchObject({ code: 'key_unavailable' });
    expect(await vault.names('s1', 'value')).toEqual(['closed', 'open']);
  });

  it('M81 flipped, cut, moved and downgraded rows are refused', async () => {
    const { vault, database, kept } = opened();
    const master = kept.current;
    await vault.switchTo('s1', true);
    await vault.write(plain, 'value', 'a', Buffer.from('one'));
    await vault.write(plain, 'value', 'b', Buffer.from('two'));
    const set = (sql: string, ...values: (string | number)[]) => database.write([{ sql: `UPDATE skill_vault__data SET ${sql}`, values }]);
    const row = await database.get("SELECT content, version FROM skill_vault__data WHERE name = 'a'");
    const sealed = Buffer.from(String(row?.['content']), 'base64');
    const refused = async () => expect(vault.read('s1', 'value', 'a')).rejects.toMatchObject({ code: 'decrypt_failed' });
    for (let at = 0; at < sealed.length; at += 1) {
      const flipped = Buffer.from(sealed);
      flipped[at] = (flipped[at] as number) ^ 0x80;
      await set("content = ? WHERE name = 'a'", flipped.toString('base64'));
      await refused();
    }
    await set("content = ? WHERE name = 'a'", sealed.subarray(0, -1).toString('base64'));
    await refused();
    await database.write([
      { sql: "UPDATE skill_vault__data SET content = (SELECT content FROM skill_vault__data WHERE name = 'b') WHERE name = 'a'" },
    ]);
    await refused();
    await set("content = ?, version = 9 WHERE name = 'a'", sealed.toString('base64'));
    await refused();
    await set("content = ?, version = 0 WHERE name = 'a'", Buffer.from('forged').toString('base64'));
    kept.current = null; // nothing can be proven then
    await refused();
    kept.current = master;
    await refused();
  });

  const FORGED = `version = 0, content = '${Buffer.from('forged').toString('base64')}'`;
  it.each([
    ['with its number', `UPDATE skill_vault__data SET ${FORGED} WHERE name = 'x'`],
    ['with an earlier number', `UPDATE skill_vault__data SET ${FORGED}, written = 1 WHERE name = 'x'`],
    [
      'with number and proof of another',
      `UPDATE skill_vault__data SET ${FORGED}, (written, proof) = (SELECT written, proof FROM skill_vault__data WHERE name = 'y') WHERE name = 'x'`,
    ],
    [
      'with the row of another',
      "DELETE FROM skill_vault__data WHERE name = 'x'",
      "UPDATE skill_vault__data SET name = 'x' WHERE name = 'y'",
    ],
    [
      'with the row of another kind',
      "DELETE FROM skill_vault__data WHERE name = 'x'",
      "UPDATE skill_vault__data SET name = 'x', kind = 'value' WHERE name = 'x2'",
    ],
  ])('M81 a sealed value put back as plain is refused: %s', async (_how, ...statements) => {
    const { vault, database } = await mixed();
    await database.write(statements.map((sql) => ({ sql })));
    await expect(vault.read('s1', 'value', 'x')).rejects.toMatchObject({ code: 'decrypt_failed' });
  });

  it.each([
    ['all of it', 'DELETE FROM skill_vault__switches'],
    ['its end', 'DELETE FROM skill_vault__switches WHERE number = 3'],
    ['its beginning', 'DELETE FROM skill_vault__switches WHERE number = 1'],
    ['its beginning, counted again', 'DELETE FROM skill_vault__switches WHERE number < 3', 'UPDATE skill_vault__switches SET number = 1'],
    ['what it switched to', 'UPDATE skill_vault__switches SET is_on = 0 WHERE number = 3'],
    ['when it switched', 'UPDATE skill_vault__switches SET written = 99 WHERE number = 3'],
    ['its skill', "UPDATE skill_vault__switches SET skill_id = 's2'"],
  ])('M81 with a changed history nothing plain is read or written: %s', async (_part, ...statements) => {
    const { vault, database } = await mixed();
    await database.write(statements.map((sql) => ({ sql })));
    await database.write([{ sql: `UPDATE skill_vault__data SET ${FORGED} WHERE name = 'x'` }]);
    await expect(vault.read('s1', 'value', 'x')).rejects.toMatchObject({ code: 'decrypt_failed' });
    await expect(vault.write(plain, 'value', 'new', Buffer.from('canary'))).rejects.toMatchObject({ code: 'decrypt_failed' });
    await expect(vault.names('s1', 'value')).rejects.toMatchObject({ code: 'decrypt_failed' });
  });

  const COLUMNS = 'version, written, content, proof';
  const givenTo = (name: string, columns: string, from: string) =>
    `UPDATE skill_vault__data SET (${columns}) = (SELECT ${columns} FROM ${from}) WHERE name = '${name}' AND skill_id = 's1'`;
  const BEFORE = "skill_vault__kept WHERE name = 'x' AND skill_id = 's1'";
  /** By hand, in a database where `x` was sealed as 1 and then as 2; `skill_vault__kept` has the rows of before the second. */
  it.each([
    [
      'any text, by an older plain row',
      'x',
      `UPDATE skill_vault__data SET ${FORGED} WHERE name = 'x'`,
      givenTo('x', 'written, proof', "skill_vault__data WHERE name = 'y'"),
    ],
    ['any text in a plain row', 'y', "UPDATE skill_vault__data SET content = 'Zm9yZ2Vk' WHERE name = 'y'"],
    ['its older row', 'x', givenTo('x', COLUMNS, BEFORE)],
    [
      'its older row, with the older count',
      'x',
      givenTo('x', COLUMNS, BEFORE),
      'REPLACE INTO skill_vault__counts SELECT * FROM skill_vault__older',
    ],
    ['its older row, with its newer number', 'x', givenTo('x', 'version, content, proof', BEFORE)],
    [
      'the row of another name',
      'x',
      "DELETE FROM skill_vault__data WHERE name = 'x'",
      "UPDATE skill_vault__data SET name = 'x' WHERE name = 'other'",
    ],
    [
      'names swapped',
      'x',
      ...['xz', 'yx', 'zy'].map((swap) => `UPDATE skill_vault__data SET name = '${swap[1]}' WHERE name = '${swap[0]}' AND skill_id = 's1'`),
    ],
    ['the row of another skill', 'x', givenTo('x', COLUMNS, "skill_vault__data WHERE skill_id = 's2'")],
    ['taken away', 'x', "DELETE FROM skill_vault__data WHERE name = 'x'"],
    ['another one taken away', 'x', "DELETE FROM skill_vault__data WHERE name = 'other'"],
    [
      'a row added',
      'new',
      `INSERT INTO skill_vault__data SELECT skill_id, kind, 'new', ${COLUMNS} FROM skill_vault__data WHERE name = 'other'`,
    ],
    ['a row put back that was removed', 'gone', "INSERT INTO skill_vault__data SELECT * FROM skill_vault__kept WHERE name = 'gone'"],
    ['no count', 'x', 'DELETE FROM skill_vault__counts'],
    ['no proof of the count', 'x', "UPDATE skill_vault__counts SET proof = ''"],
    [
      'the count of another skill',
      'x',
      "UPDATE skill_vault__counts SET (written, proof) = (SELECT written, proof FROM skill_vault__counts WHERE skill_id = 's2')",
    ],
  ])('S3 what is written into the database by hand is refused: %s', async (_what, name, ...statements) => {
    const { vault, database } = opened();
    const keep = (key: string, value: string, skillId = 's1') => vault.write({ skillId, isOn: false }, 'value', key, Buffer.from(value));
    await keep('y', 'plain');
    for (const skill of ['s1', 's2']) await vault.switchTo(skill, true);
    await keep('x', 'of another', 's2');
    await keep('gone', 'gone');
    await keep('x', '1');
    await database.write(
      ['skill_vault__kept AS SELECT * FROM skill_vault__data', 'skill_vault__older AS SELECT * FROM skill_vault__counts'].map((sql) => ({
        sql: `CREATE TABLE ${sql}`,
      })),
    );
    await keep('x', '2');
    await keep('other', 'other');
    await vault.remove('s1', 'value', 'gone');
    expect(text(await vault.read('s1', 'value', 'x'))).toBe('2');
    expect(text(await vault.read('s1', 'value', 'y'))).toBe('plain');
    await database.write(statements.map((sql) => ({ sql })));
    await expect(vault.read('s1', 'value', name)).rejects.toMatchObject({ code: 'decrypt_failed' });
  });

  it('S3 what was changed from outside is not made right by a write; a person may go on with what is there', async () => {
    const { vault, database } = await mixed();
    await database.write([
      { sql: "DELETE FROM skill_vault__data WHERE name = 'z'" },
      { sql: "UPDATE skill_vault__data SET content = 'Zm9yZ2Vk' WHERE name = 'y'" },
    ]);
    for (const act of [
      () => vault.write(plain, 'value', 'new', Buffer.from('new')),
      () => vault.remove('s1', 'value', 'x'),
      () => vault.switchTo('s1', false),
      () => vault.rotate('s1'),
    ])
      await expect(act()).rejects.toMatchObject({ code: 'decrypt_failed', cure: expect.stringContaining('--accept') });
    await vault.accept('s1');
    await vault.write(plain, 'value', 'new', Buffer.from('new'));
    for (const name of ['x', 'new']) expect(text(await vault.read('s1', 'value', name))).toBe(name);
    expect(await vault.read('s1', 'value', 'z')).toBeNull();
    await expect(vault.read('s1', 'value', 'y')).rejects.toMatchObject({ code: 'decrypt_failed' }); // it is not what was written
    expect(await vault.remove('s1', 'value', 'y')).toBe(true);
  });

  it('S3 rows of before are read and proven again, once; a forged one among them is not', async () => {
    const { vault, database } = opened();
    await migrate(new Queries<Tables>(database), 'skill_vault', MIGRATIONS.slice(0, 2));
    const master = keys.current();
    const skill_id = 's1';
    const row = (name: string, version: number, written: number, content: Uint8Array, proof = '') => ({
      sql: 'INSERT INTO skill_vault__data VALUES (?, ?, ?, ?, ?, ?, ?)',
      values: [skill_id, 'value', name, version, written, Buffer.from(content).toString('base64'), proof],
    });
    const plainProof = (name: string, written: number) => proofOf(master, olderRowParts({ skill_id, kind: 'value', name, written }));
    const key = newKey();
    const history = { skill_id, number: 1, written: 2, is_on: 1, proof: '' };
    const sealed = (name: string) => seal(key, { skillId: skill_id, kind: 'value', name, version: 1 }, Buffer.from(name));
    const statements = [
      { sql: "INSERT INTO skill_vault__counts VALUES ('s1', 4)", values: [] },
      {
        sql: 'INSERT INTO skill_vault__switches VALUES (?, 1, 2, 1, ?)',
        values: [skill_id, proofOf(master, olderSwitchParts(history, '', true))],
      },
      {
        sql: 'INSERT INTO skill_vault__keys VALUES (?, 1, ?)',
        values: [skill_id, Buffer.from(seal(master, { skillId: skill_id, kind: 'key', name: '', version: 1 }, key)).toString('base64')],
      },
      row('y', 0, 1, Buffer.from('y'), plainProof('y', 1)),
      row('x', 1, 3, sealed('x')),
      row('forged', 0, 1, Buffer.from('forged')),
      row('moved', 1, 4, sealed('x')),
    ];
    await database.write(statements);
    for (const name of ['y', 'x']) expect(text(await vault.read('s1', 'value', name))).toBe(name);
    for (const name of ['forged', 'moved']) await expect(vault.read('s1', 'value', name)).rejects.toMatchObject({ code: 'decrypt_failed' });
    expect(await vault.names('s1', 'value')).toEqual(['forged', 'moved', 'x', 'y']);
    // From now on what was enough then is enough no more.
    await database.write([
      { sql: 'UPDATE skill_vault__data SET proof = ?, content = ? WHERE name = ?', values: [plainProof('y', 1), 'Zm9yZ2Vk', 'y'] },
    ]);
    await expect(vault.read('s1', 'value', 'y')).rejects.toMatchObject({ code: 'decrypt_failed' });
  });

  it('M77 M78 what was plain before its skill was ever encrypted is read for ever, however much it is and whenever it was kept', async () => {
    const { database, vault } = opened();
    const queries = new Queries<Tables>(database);
    await migrate(queries, 'skill_vault', MIGRATIONS.slice(0, 1));
    const old = ['s1', 'value', 'old', 0, 1, Buffer.from('old').toString('base64')];
    await database.write([
      { sql: 'INSERT INTO skill_vault__data VALUES (?, ?, ?, ?, ?, ?)', values: old },
      { sql: "INSERT INTO skill_vault__counts VALUES ('s1', 1)" },
    ]);
    const names = ['old', ...Array.from({ length: 120 }, (_, number) => `n${number}`)];
    for (const name of names.slice(1)) await vault.write(plain, 'value', name, Buffer.from(name));
    expect(await vault.rotate('s1')).toBe(0);
    const contents = () => database.all('SELECT name, version, content FROM skill_vault__data ORDER BY name');
    const before = await contents();
    await vault.switchTo('s1', true);
    for (const name of names) expect(text(await vault.read('s1', 'value', name))).toBe(name);
    expect(await contents()).toEqual(before);
  });

  it('M80 once a skill was encrypted nothing is written without the master key, also while that is off; plain rows are read', async () => {
    const { vault, kept } = await mixed();
    await vault.switchTo('s1', false);
    kept.current = null;
    for (const name of ['y', 'z']) expect(text(await vault.read('s1', 'value', name))).toBe(name);
    await expect(vault.write(plain, 'value', 'new', Buffer.from('x'))).rejects.toMatchObject({ code: 'key_unavailable' });
  });

  it('M80 what the skill itself says is sealed, also where nothing was switched', async () => {
    const { vault, database } = opened();
    await vault.write(plain, 'value', 'before', Buffer.from('before'));
    await vault.write({ skillId: 's1', isOn: true }, 'value', 'a', Buffer.from('canary'));
    for (const [name, value] of Object.entries({ before: 'before', a: 'canary' }))
      expect(text(await vault.read('s1', 'value', name))).toBe(value);
    expect(await database.all("SELECT version FROM skill_vault__data WHERE name = 'a'")).toEqual([{ version: 1 }]);
  });

  it('M78 what could not be prepared, as on a full disk, is prepared when it is next needed', async () => {
    const { database } = opened();
    let isFull = true;
    const write: Database['write'] = (statements) => (isFull ? Promise.reject(new Error('disk full')) : database.write(statements));
    const vault = new Vault({ ...database, write }, keys);
    await expect(vault.read('s1', 'value', 'x')).rejects.toThrow('disk full');
    isFull = false;
    expect(await vault.read('s1', 'value', 'x')).toBeNull();
  });

  it('M82 rotation seals every row by a new key; cut off anywhere it goes on, and what is old is read meanwhile', async () => {
    const { vault, database } = opened();
    await vault.switchTo('s1', true);
    for (let number = 0; number < 120; number += 1) await vault.write(plain, 'value', `n${number}`, Buffer.from(`v${number}`));
    let writes = 0;
    const write: Database['write'] = (statements) =>
      (writes += 1) > 40 ? Promise.reject(new Error('killed')) : database.write(statements);
    const cut = new Vault({ ...database, write }, keys);
    await expect(cut.rotate('s1')).rejects.toThrow('killed');
    for (const number of [0, 60, 119]) expect(text(await vault.read('s1', 'value', `n${number}`))).toBe(`v${number}`);
    await vault.rotate('s1');
    const versions = await database.all('SELECT DISTINCT version FROM skill_vault__data');
    expect(versions.map(({ version }) => Number(version))).toEqual([2]);
    expect((await database.all('SELECT version FROM skill_vault__keys')).map(({ version }) => Number(version))).toEqual([2]);
    for (const number of [0, 60, 119]) expect(text(await vault.read('s1', 'value', `n${number}`))).toBe(`v${number}`);
  });

  it.each(QUERIES)('M80 M82 a write beside a rotation is sealed and read, wherever they meet: before its step %i', async (number) => {
    const { vault, database } = await keepingX('sealed');
    const beside = meeting(database, number, () => vault.rotate('s1'));
    await beside.write(plain, 'value', 'a', Buffer.from('canary'));
    expect(text(await vault.read('s1', 'value', 'a'))).toBe('canary');
    const rows = await database.all('SELECT version, content FROM skill_vault__data');
    expect(rows.map(({ version }) => Number(version) > 0)).toEqual([true, true]);
    expect(rows.map(({ content }) => Buffer.from(String(content), 'base64').toString()).join()).not.toContain('canary');
  });

  it.each(QUERIES)('M77 M81 a write beside switching on is read, wherever they meet: before its step %i', async (number) => {
    const { vault, database } = await keepingX('plain');
    const beside = meeting(database, number, () => vault.switchTo('s1', true));
    await beside.write(plain, 'value', 'a', Buffer.from('canary'));
    expect(text(await vault.read('s1', 'value', 'a'))).toBe('canary');
  });

  it.each(QUERIES)('M77 two who switch on at once both do, wherever they meet: before its step %i', async (number) => {
    const { vault, database } = opened();
    const beside = meeting(database, number, () => vault.switchTo('s1', true));
    await beside.switchTo('s1', true);
    expect(await database.all('SELECT number, is_on FROM skill_vault__switches')).toEqual([{ number: 1, is_on: 1 }]);
  });

  it.each(QUERIES)('M77 M78 a plain value is read beside switching on, wherever they meet: before its step %i', async (number) => {
    const { vault, database } = await keepingX('plain');
    const beside = meeting(database, number, () => vault.switchTo('s1', true));
    expect(text(await beside.read('s1', 'value', 'x'))).toBe('0');
  });

  it.each(QUERIES)('M82 a switch beside a new master key leaves all readable, wherever they meet: before its step %i', async (number) => {
    const { vault, database, kept } = await mixed();
    kept.former = kept.current;
    kept.current = randomBytes(32).toString('base64');
    const renewed = { current: () => Buffer.from(kept.current as string, 'base64'), former: keys.current };
    const beside = meeting(database, number, () => vault.rewrap(), renewed);
    await beside.switchTo('s1', false);
    await vault.rewrap();
    kept.former = null;
    for (const name of ['x', 'y', 'z']) expect(text(await vault.read('s1', 'value', name))).toBe(name);
  });

  it.each(QUERIES)('M82 a value is read beside a rotation, wherever they meet: before its step %i', async (number) => {
    const { vault, database } = await keepingX('sealed');
    const beside = meeting(database, number, () => vault.rotate('s1'));
    expect(text(await beside.read('s1', 'value', 'x'))).toBe('0');
  });

  it.each(QUERIES)('M82 two rotations at once leave every value readable, wherever they meet: before its step %i', async (number) => {
    const { vault, database } = opened();
    await vault.switchTo('s1', true);
    for (const name of ['x', 'y']) await vault.write(plain, 'value', name, Buffer.from(name));
    const beside = meeting(database, number, () => vault.rotate('s1'));
    await beside.rotate('s1');
    for (const name of ['x', 'y']) expect(text(await vault.read('s1', 'value', name))).toBe(name);
  });

  it('M82 a new master key opens all once the keys are sealed again; the former one is not needed then', async () => {
    const { vault, kept } = await mixed();
    await vault.write(plain, 'value', 'a', Buffer.from('one'));
    kept.former = kept.current;
    kept.current = randomBytes(32).toString('base64');
    expect(text(await vault.read('s1', 'value', 'a'))).toBe('one');
    expect(await vault.rewrap()).toBe(1);
    kept.former = null;
    expect(text(await vault.read('s1', 'value', 'a'))).toBe('one');
    for (const name of ['x', 'y', 'z']) expect(text(await vault.read('s1', 'value', name))).toBe(name);
  });

  it('M80 encryption that cannot be switched on is not noted as on', async () => {
    const kernel = await savedKernel([], WITH_VAULT);
    await saveAs(kernel, 'ada', 'memo', { system_prompt: 'x' });
    expect(await kernel.as('ada', 'saved encrypt memo on --yes')).toMatchObject({ error: 'key_unavailable' });
    expect((await kernel.as('ada', 'saved show memo')).json).toMatchObject({ encryption_enabled: false });
  });

  it('M80 the start and doctor warn of sealed data without its key; where nothing was kept, they make no table', async () => {
    const kernel = await savedKernel([], WITH_VAULT);
    const warnings = async () => {
      const { notes } = await kernel.pith.kernel.doctor();
      return notes.filter(({ code }) => code === 'key_unavailable').map(({ severity, message }) => `${severity}: ${message}`);
    };
    const store = openStore(`${kernel.pith.sandbox}/data/pith.db`, systemClock);
    const database = createDatabase(store, 'skill_vault');
    expect(await warnings()).toEqual([]);
    expect(await database.all("SELECT name FROM sqlite_master WHERE name LIKE 'skill_vault__%'")).toEqual([]);
    const vault = new Vault(database, keys);
    await vault.write(plain, 'value', 'open', Buffer.from('plain'));
    expect(await warnings()).toEqual([]);
    await vault.switchTo('s1', true);
    await vault.write(plain, 'value', 'closed', Buffer.from('secret'));
    const text = 'saved skills cannot read or write what they keep encrypted: PITH_MASTER_KEY is not set';
    expect(await warnings()).toEqual([`warning: ${text}`]);
    await kernel.restart();
    await until(async () => (await readFile(`${kernel.pith.sandbox}/data/logs/pith.log`, 'utf8')).includes(text));
    expect((await kernel.pith.kernel.problems()).map(({ message }) => message)).toContain(text);
  });

  it('M77 M91 runs keep data by tools, and switching says what it means', async () => {
    const set = { calls: [{ name: 'skill_data_set', input: { name: 'last', content: 'canary-7' } }] };
    const get = { calls: [{ name: 'skill_data_get', input: { name: 'last' } }] };
    const kernel: SavedKernel = await savedKernel([set, { text: 'kept' }, get, { text: 'read' }], {
      ...WITH_VAULT,
      env: { PITH_MASTER_KEY: KEY },
    });
    await saveAs(kernel, 'ada', 'memo', { system_prompt: 'x', tools: ['skill_data_set', 'skill_data_get'] });
    expect(await kernel.as('ada', 'saved encrypt memo on')).toMatchObject({
      error: 'usage',
      message: expect.stringContaining('beside backups'),
    });
    expect(await kernel.as('bob', 'saved encrypt ada/memo on --yes')).toMatchObject({ error: 'not_found' });
    expect((await kernel.as('ada', 'saved encrypt memo on --yes')).code).toBe(0);
    await kernel.as('ada', 'run memo');
    await kernel.as('ada', 'run memo');
    expect(JSON.stringify(kernel.model.requests.at(-1)?.messages)).toContain('canary-7');
  });
});
