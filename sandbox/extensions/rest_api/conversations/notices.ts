import { randomUUID } from 'node:crypto';
import { type ChannelMessage, type Clock, PithError, z } from 'pith';
import { type ApiRoute, apiRoute } from '../route.ts';
import type { Feed } from './feed.ts';
import { type ApiTables, DAY_MS, type RemovedThread } from './tables.ts';

const LOCAL = 'local';
const KEPT_MS = 30 * DAY_MS;
const MOST = 100;
/** What waits for an administrator, whoever caused it. */
const FOR_ADMINISTRATORS: ReadonlySet<string> = new Set(['proposal']);
const ABOUT = z.object({ kind: z.string(), id: z.string() });
type About = z.infer<typeof ABOUT>;

/** What a person is told outside of turns: kept until they dismiss it, for a page that they have open or open later. */
export class Notices {
  constructor(
    private readonly tables: ApiTables,
    private readonly clock: Pick<Clock, 'now'>,
    private readonly feed: Pick<Feed, 'add' | 'isRead'>,
    /** Those who may decide over HTTP what administrators decide. */
    private readonly administrators: () => Promise<readonly string[]>,
  ) {}

  /**
   * `target`: `web:NAME`, or `web` for whom the message concerns, and for those who decide on what it tells of. The person at the terminal
   * alone is reached here only while a page is open, because a terminal may be opened next. Rejects `provider_unavailable` otherwise.
   */
  async deliver({ key, kind, text, threadId, userId, about, approvalId }: ChannelMessage, target: string): Promise<string> {
    const named = target.startsWith('web:') ? target.slice(4) : null;
    const known = ABOUT.safeParse(about);
    const deciders = named === null && FOR_ADMINISTRATORS.has(known.data?.kind ?? '') ? await this.administrators() : [];
    const people = [...new Set([named ?? userId ?? LOCAL, ...deciders])];
    if (named === null && people.every((each) => each === LOCAL) && !this.feed.isRead(LOCAL))
      throw new PithError('provider_unavailable', 'no page is open to show this', { cure: 'open one: pith web' });
    if (approvalId !== undefined) return approvalId; // the page asks it in its conversation
    const id = key ?? randomUUID();
    const at = this.clock.now();
    const ofAll = { at, kind, text, about: known.success ? JSON.stringify(known.data) : null };
    const rows = people.map((user_id, index) =>
      index === 0 ? { ...ofAll, id, user_id, thread: threadId ?? null } : { ...ofAll, id: `${id}/${user_id}`, user_id, thread: null },
    );
    await this.tables.write((db) => [
      ...rows.map((row) =>
        db
          .insertInto('rest_api__notices')
          .values(row)
          .onConflict((each) => each.doNothing()),
      ),
      db.deleteFrom('rest_api__notices').where('at', '<', at - KEPT_MS),
    ]);
    await this.feed.add(rows.map((row) => ({ kind: 'notice', id: row.id, userId: row.user_id })));
    return id;
  }

  /** Nobody is shown any more what was told of this until then. */
  async settle({ kind, id }: About, until = Infinity): Promise<void> {
    const about = JSON.stringify({ kind, id });
    const found = await this.tables.all((db) =>
      db.selectFrom('rest_api__notices').select(['id', 'user_id', 'at']).where('about', '=', about),
    );
    const old = found.filter(({ at }) => Number(at) <= until);
    if (old.length === 0) return;
    const ids = old.map((row) => row.id);
    await this.tables.write((db) => [db.deleteFrom('rest_api__notices').where('id', 'in', ids)]);
    await this.feed.add(old.map((row) => ({ kind: 'notice', id: row.id, userId: row.user_id })));
  }

  routes(): readonly ApiRoute[] {
    return [
      apiRoute(
        {
          method: 'GET',
          path: '/api/notices',
          need: 'user',
          summary: 'List your notices, newest first',
          result: z.strictObject({
            notices: z.array(
              z.strictObject({
                id: z.string(),
                at: z.string().meta({ format: 'date-time' }),
                kind: z.string(),
                text: z.string(),
                threadId: z.string().nullable(),
                about: ABOUT.nullable().meta({ description: 'What it tells of: a proposal, run, task, thread, extension, …' }),
              }),
            ),
          }),
        },
        async ({ caller: { userId } }) => ({ status: 200, json: { notices: await this.#of(userId) } }),
      ),
      apiRoute(
        {
          method: 'DELETE',
          path: '/api/notices/{id}',
          need: 'user',
          summary: 'Dismiss a notice',
          result: z.strictObject({ dismissed: z.string() }),
        },
        async ({ caller: { userId }, params }) => {
          const id = params['id'] as string;
          if (!(await this.#dismiss(id, userId)))
            throw new PithError('notice_unknown', `there is no notice '${id}'`, { cure: 'list them: GET /api/notices' });
          return { status: 200, json: { dismissed: id } };
        },
      ),
    ];
  }

  /** Those of a conversation that was deleted, as pages are told of them. */
  async of({ threadId, at }: RemovedThread) {
    const rows = await this.tables.all((db) =>
      db.selectFrom('rest_api__notices').select(['id', 'user_id']).where('thread', '=', threadId).where('at', '<=', at),
    );
    return rows.map(({ id, user_id: userId }) => ({ kind: 'notice', id, userId }) as const);
  }

  async #of(userId: string) {
    const rows = await this.tables.all((db) =>
      db
        .selectFrom('rest_api__notices')
        .select(['id', 'at', 'kind', 'text', 'thread', 'about'])
        .where('user_id', '=', userId)
        .orderBy('at', 'desc')
        .limit(MOST),
    );
    return rows.map(({ at, thread, about, ...row }) => ({
      ...row,
      at: new Date(Number(at)).toISOString(),
      threadId: thread,
      about: about === null ? null : ABOUT.parse(JSON.parse(about)),
    }));
  }

  /** Another page of this person shows it no longer either. */
  async #dismiss(id: string, userId: string): Promise<boolean> {
    const mine = (db: Parameters<Parameters<ApiTables['all']>[0]>[0]) =>
      db.selectFrom('rest_api__notices').select('id').where('id', '=', id).where('user_id', '=', userId);
    if ((await this.tables.first(mine)) === null) return false;
    await this.tables.write((db) => [db.deleteFrom('rest_api__notices').where('id', '=', id).where('user_id', '=', userId)]);
    await this.feed.add([{ kind: 'notice', id, userId }]);
    return true;
  }
}
