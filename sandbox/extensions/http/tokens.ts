import { migrated, exactly, Queries, type Migration, type SqlDatabase } from '@pith/database-queries';
import { sha256 } from '@pith/plain-data';
import { randomBytes } from 'node:crypto';
import { codeOf, PithError, type Clock } from 'pith';
import { ulid } from 'ulid';
import type { Caller, May, Role, TokenInfo, WantedToken } from './contract.ts';

interface Row {
  readonly id: string;
  readonly kind: 'token' | 'session';
  /** SHA-256 of the token, or of the cookie of a session. */
  readonly digest: string;
  /** SHA-256 of what the page sends beside the cookie; null for a token. */
  readonly page_digest: string | null;
  /** The token that opened the session; null: a code did, or it is a token. */
  readonly opened_by: string | null;
  readonly user_id: string;
  readonly role: Role;
  readonly may: May;
  readonly made: number;
  readonly expires: number | null;
  readonly last_used: number | null;
}

interface Tables {
  http__tokens: Row;
  /** One-time codes by their SHA-256. */
  http__codes: { readonly digest: string; readonly expires: number };
}

type Builder = Parameters<Parameters<Queries<Tables>['write']>[0]>[0];

const MIGRATIONS: readonly Migration[] = [
  [
    `CREATE TABLE http__tokens (id text PRIMARY KEY, kind text NOT NULL, digest text NOT NULL UNIQUE, page_digest text, opened_by text,
      user_id text NOT NULL, role text NOT NULL, may text NOT NULL, made bigint NOT NULL, expires bigint, last_used bigint)`,
    'CREATE INDEX http__tokens_opened_by ON http__tokens (opened_by)',
    'CREATE TABLE http__codes (digest text PRIMARY KEY, expires bigint NOT NULL)',
  ],
];

const LOCAL = 'local';
const CODE_MS = 5 * 60_000;
const SESSION_MS = 30 * 24 * 3_600_000;
const LAST_USED_MS = 60_000;
const MOST_NAME = 64;
const ADMIN: Caller = { userId: LOCAL, role: 'admin', may: 'admin' };

/** What a token or a session stands for. */
export interface Credential {
  readonly id: string;
  readonly kind: Row['kind'];
  readonly caller: Caller;
}

/** A new session: the values that the browser keeps, given once. */
export interface OpenedSession extends Caller {
  readonly cookie: string;
  /** Sent by the page in `X-Pith-Page`. */
  readonly page: string;
  readonly expires: number;
}

/** Tokens, sessions and one-time codes, by their digests alone: none of them can be read again. */
export class Tokens {
  readonly #tables: Queries<Tables>;

  constructor(
    database: SqlDatabase,
    private readonly clock: Pick<Clock, 'now'>,
    /** Whether the settings make this user an administrator. */
    private readonly isAdmin: (userId: string) => Promise<boolean>,
  ) {
    this.#tables = new Queries(migrated(database, 'http', MIGRATIONS));
  }

  async make(wanted: WantedToken): Promise<TokenInfo & { readonly token: string }> {
    const caller = await this.#checked(wanted);
    const made = this.clock.now();
    const token = `pith_${secret()}`;
    const { validMs } = wanted;
    const row = rowOf(caller, { kind: 'token', digest: sha256(token), made, expires: validMs === undefined ? null : made + validMs });
    await this.#tables.write((db) => [db.insertInto('http__tokens').values(row)]);
    return { ...infoOf(row), token };
  }

  /** Those that are valid, oldest first. */
  async list(): Promise<readonly TokenInfo[]> {
    const now = this.clock.now();
    const rows = await this.#tables.all((db) =>
      db
        .selectFrom('http__tokens')
        .selectAll()
        .where((is) => is.or([is('expires', 'is', null), is('expires', '>', now)]))
        .orderBy('made')
        .orderBy('id'),
    );
    return rows.map(infoOf);
  }

  async revoke(id: string): Promise<boolean> {
    const [sessions = 0, tokens = 0] = await this.#tables.write((db) => [
      db.deleteFrom('http__tokens').where('opened_by', '=', id),
      db.deleteFrom('http__tokens').where('id', '=', id),
    ]);
    return sessions + tokens > 0;
  }

  /** The ids of those that requests may use now. */
  async usable(): Promise<ReadonlySet<string>> {
    const valid = await this.list();
    const outdated = await Promise.all(valid.map((each) => this.#isOutdated(each)));
    return new Set(valid.flatMap(({ id }, at) => (outdated[at] === true ? [] : [id])));
  }

  /** What a text from `Authorization: Bearer` stands for; null: nothing. */
  async ofToken(token: string): Promise<Credential | 'outdated' | null> {
    return this.#used(await this.#find('token', token));
  }

  /** What a cookie stands for, with what its page must send beside it; null: nothing. */
  async ofSession(cookie: string, page: string): Promise<Credential | 'outdated' | null> {
    const row = await this.#find('session', cookie);
    return this.#used(row?.page_digest === sha256(page) ? row : null);
  }

  /** A code that opens one session of the person at the terminal, within five minutes. */
  async makeCode(): Promise<string> {
    const code = secret();
    const now = this.clock.now();
    await this.#tables.write((db) => [
      db.deleteFrom('http__codes').where('expires', '<=', now),
      db.deleteFrom('http__tokens').where('expires', '<=', now),
      db.insertInto('http__codes').values({ digest: sha256(code), expires: now + CODE_MS }),
    ]);
    return code;
  }

  /** Uses up the code; null: it is unknown, used or too old. */
  async openByCode(code: string): Promise<OpenedSession | null> {
    const now = this.clock.now();
    return this.#open(ADMIN, null, now + SESSION_MS, (db) =>
      db.deleteFrom('http__codes').where('digest', '=', sha256(code)).where('expires', '>', now),
    );
  }

  /** A session with what the token may do, no longer than that is valid; null: the token is unknown. */
  async openByToken(token: string): Promise<OpenedSession | null> {
    const row = await this.#find('token', token);
    if (row === null || (await this.#isOutdated(callerOf(row)))) return null;
    const now = this.clock.now();
    return this.#open(callerOf(row), row.id, Math.min(now + SESSION_MS, row.expires ?? Infinity), (db) =>
      db.updateTable('http__tokens').set({ last_used: now }).where('id', '=', row.id),
    );
  }

  /** One transaction: null, and no session, where `by` does not change its one row. */
  async #open(
    caller: Caller,
    openedBy: string | null,
    expires: number,
    by: (db: Builder) => Parameters<typeof exactly>[1],
  ): Promise<OpenedSession | null> {
    const cookie = secret();
    const page = secret();
    const kept = { kind: 'session', digest: sha256(cookie), page_digest: sha256(page), opened_by: openedBy } as const;
    const row = rowOf(caller, { ...kept, made: this.clock.now(), expires });
    try {
      await this.#tables.write((db) => [exactly(1, by(db)), db.insertInto('http__tokens').values(row)]);
      return { ...caller, cookie, page, expires };
    } catch (error) {
      if (codeOf(error, '') !== 'write_conflict') throw error;
      return null;
    }
  }

  async #find(kind: Row['kind'], text: string): Promise<Row | null> {
    const row = await this.#tables.first((db) =>
      db.selectFrom('http__tokens').selectAll().where('digest', '=', sha256(text)).where('kind', '=', kind),
    );
    return row === null || (row.expires !== null && row.expires <= this.clock.now()) ? null : row;
  }

  /** Its person has become an administrator since: what asks for the person and not for the token would let it do more than it may. */
  async #isOutdated({ role, userId }: Caller): Promise<boolean> {
    return role === 'user' && (await this.isAdmin(userId));
  }

  /** Keeps when it was used, to the minute. */
  async #used(row: Row | null): Promise<Credential | 'outdated' | null> {
    if (row === null) return null;
    if (await this.#isOutdated(callerOf(row))) return 'outdated';
    const { id, kind, last_used } = row;
    const now = this.clock.now();
    if (last_used === null || now - last_used >= LAST_USED_MS) await this.#note(id, now);
    return { id, kind, caller: callerOf(row) };
  }

  /** A full disk keeps nobody out: whatever writes says so itself. */
  async #note(id: string, now: number): Promise<void> {
    try {
      await this.#tables.write((db) => [
        db
          .updateTable('http__tokens')
          .set({ last_used: now })
          .where('id', '=', id)
          .where((is) => is.or([is('last_used', 'is', null), is('last_used', '<=', now - LAST_USED_MS)])),
      ]);
    } catch (error) {
      if (codeOf(error, '') !== 'database_failed') throw error;
    }
  }

  async #checked({ userId = LOCAL, role, may = 'chat', validMs }: WantedToken): Promise<Caller> {
    const refuse = (why: string, cure: string): PithError => new PithError('token_invalid', why, { cure });
    if (!isName(userId))
      throw refuse('the name of the user is not a name', `use letters, digits, spaces and . _ @ + -, at most ${MOST_NAME} characters`);
    const isAdmin = userId === LOCAL || (await this.isAdmin(userId));
    const given = role ?? (isAdmin ? 'admin' : 'user');
    if (given === 'user' && isAdmin)
      throw refuse(`${userId} is an administrator, so a token of the role user would say less than it can do`, 'leave --role out');
    if (may === 'admin' && given !== 'admin')
      throw refuse(`a token of the role ${given} cannot do what an administrator does`, 'add --role admin, or use --may approve');
    if (validMs !== undefined && !(validMs > 0)) throw refuse('the token would never be valid', 'use a time such as 90d');
    return { userId, role: given, may };
  }
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

function isName(text: string): boolean {
  return (
    text === text.trim() && text === text.normalize('NFC') && new RegExp(`^[\\p{L}\\p{M}\\p{N}._@+ -]{1,${MOST_NAME}}$`, 'u').test(text)
  );
}

function rowOf(
  { userId, role, may }: Caller,
  more: Pick<Row, 'kind' | 'digest' | 'made' | 'expires'> & Partial<Pick<Row, 'page_digest' | 'opened_by'>>,
): Row {
  return { id: ulid(more.made), page_digest: null, opened_by: null, ...more, user_id: userId, role, may, last_used: null };
}

function callerOf({ user_id: userId, role, may }: Row): Caller {
  return { userId, role, may };
}

function infoOf(row: Row): TokenInfo {
  const { id, kind, made, expires, last_used: lastUsed } = row;
  return { ...callerOf(row), id, kind, made, expires, lastUsed };
}
