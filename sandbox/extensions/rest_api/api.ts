import { type ChannelMessage, Conversations, type ExtensionContext, PithError } from 'pith';
import { HttpUsers, type Route, type RouteAnswer, type RouteRequest } from 'pith/http';
import { CommandRoutes } from './commands/command-routes.ts';
import { refusedWith } from './commands/cures.ts';
import { descriptionRoute } from './commands/openapi.ts';
import { Uploads } from './commands/uploads.ts';
import { approvalRoutes } from './conversations/approvals.ts';
import { eventRoutes } from './conversations/events.ts';
import { Feed } from './conversations/feed.ts';
import { Notices } from './conversations/notices.ts';
import { LiveTurns } from './conversations/live-turns.ts';
import { type ApiTables, apiTables, forgetThread, type RemovedThread } from './conversations/tables.ts';
import { QueuedMessages } from './conversations/queued-messages.ts';
import { RunningElsewhere } from './conversations/running-elsewhere.ts';
import { TurnEnds } from './conversations/turn-ends.ts';
import { threadRoutes } from './conversations/threads.ts';
import { OwnedThreads } from './conversations/owned-threads.ts';
import { UsedKeys } from './conversations/used-keys.ts';
import { Cursors } from './cursors.ts';
import { meRoute } from './me.ts';
import { RepeatedRequests } from './repeated-requests.ts';
import type { ApiRoute, DescribedRoute } from './route.ts';

/** The routes below `/api`, and what lives between their requests. */
export class Api {
  readonly #own: readonly ApiRoute[];
  readonly #commands: CommandRoutes;
  readonly #byName: ReadonlyMap<string, ApiRoute>;
  readonly #turns: LiveTurns;
  readonly #feed: Feed;
  readonly #notices: Notices;
  readonly #repeated: RepeatedRequests;
  readonly #tables: ApiTables;
  readonly #uploads: Uploads;

  /** `ending`: aborts before open requests are waited for, at the end of all. */
  constructor(context: ExtensionContext, ending: AbortSignal) {
    const conversations = context.use(Conversations);
    const tables = (this.#tables = apiTables(context.database));
    const ends = new TurnEnds(tables, context.clock);
    const queued = new QueuedMessages(tables, context.clock);
    const turns = (this.#turns = new LiveTurns(context, conversations, queued, ends));
    const threads = new OwnedThreads(tables, context.clock, conversations);
    const elsewhere = new RunningElsewhere(conversations, turns);
    this.#feed = new Feed({ tables, context, conversations, turns, queued, elsewhere });
    const users = context.use(HttpUsers);
    const cursors = new Cursors(tables);
    const administrators = async () => (await users.tokens()).filter(({ may }) => may === 'admin').map(({ userId }) => userId);
    this.#notices = new Notices(tables, context.clock, this.#feed, administrators);
    const commands = (this.#commands = new CommandRoutes(context, { users, cursors, ending }));
    this.#repeated = new RepeatedRequests(tables, context.clock, (route) => commands.isShownOnce(route));
    const keys = new UsedKeys(tables, context.clock);
    const forget = (removed: RemovedThread): Promise<void> => this.forget(removed);
    const ports = { context, conversations, users, turns, queued, elsewhere, threads, ends, keys, cursors, forget };
    this.#uploads = new Uploads(context);
    this.#own = [
      ...threadRoutes(ports),
      ...approvalRoutes(ports),
      ...eventRoutes(this.#feed),
      ...this.#notices.routes(),
      meRoute(context, this.#feed),
      this.#uploads.route(),
      descriptionRoute(() => this.#described()),
    ];
    this.#byName = new Map(this.#own.map((route) => [`${route.method} ${route.path}`, route]));
    context.own(() => turns.stop());
  }

  /** Those of conversations, and those that commands answer. */
  routes(): readonly Route[] {
    return [...this.#own, ...this.#commands.routes()].map((route) => ({ ...route, refused: refusedWith }));
  }

  async answer(request: RouteRequest): Promise<RouteAnswer> {
    const { caller, body, query } = request;
    if (caller === null) throw new PithError('not_found', 'there is nothing at this address');
    const route = this.#byName.get(request.route);
    const asked = { ...request, caller, body, query };
    return this.#repeated.answer(asked, (each) => (route ?? this.#commands).answer(each));
  }

  deliver(message: ChannelMessage, target: string): Promise<string> {
    return this.#notices.deliver(message, target);
  }

  settle(about: NonNullable<ChannelMessage['about']>): Promise<void> {
    return this.#notices.settle(about);
  }

  proposalChanged(id: string): Promise<void> {
    return this.#feed.add([{ kind: 'proposal', id, userId: null }]);
  }

  /** Of a thread that was removed. */
  async forget(removed: RemovedThread): Promise<void> {
    await this.#notices.settle({ kind: 'thread', id: removed.threadId }, removed.at);
    const dismissed = await this.#notices.of(removed);
    await forgetThread(this.#tables, removed);
    await this.#turns.refuseForgotten(removed.threadId);
    if (dismissed.length > 0) await this.#feed.add(dismissed);
  }

  async #described(): Promise<readonly DescribedRoute[]> {
    return [...this.#own, ...(await this.#commands.described())];
  }

  /** Goes on with what waited, and keeps what changes, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#turns.restore(await this.#feed.removed());
    await Promise.all([this.#feed.run(signal), this.#uploads.run(signal)]);
  }
}
