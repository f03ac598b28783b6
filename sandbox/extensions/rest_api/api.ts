import { Conversations, type ExtensionContext, PithError } from 'pith';
import type { RouteAnswer, RouteRequest } from 'pith/http';
import { approvalRoutes } from './conversations/approvals.ts';
import { eventRoutes } from './conversations/events.ts';
import { Feed } from './conversations/feed.ts';
import { LiveTurns } from './conversations/live-turns.ts';
import { apiTables } from './conversations/tables.ts';
import { threadRoutes } from './conversations/threads.ts';
import { OwnedThreads } from './conversations/owned-threads.ts';
import { RepeatedRequests } from './repeated-requests.ts';
import type { ApiRoute } from './route.ts';

/** The routes below `/api`, and what lives between their requests. */
export class Api {
  readonly routes: readonly ApiRoute[];
  readonly #byName: ReadonlyMap<string, ApiRoute>;
  readonly #feed: Feed;
  readonly #repeated: RepeatedRequests;

  constructor(context: ExtensionContext) {
    const conversations = context.use(Conversations);
    const tables = apiTables(context.database);
    const turns = new LiveTurns(context, conversations);
    const threads = new OwnedThreads(tables, context.clock, conversations);
    this.#feed = new Feed({ tables, context, conversations, turns });
    this.#repeated = new RepeatedRequests(tables, context.clock);
    const ports = { context, conversations, turns, threads };
    this.routes = [...threadRoutes(ports), ...approvalRoutes(ports), ...eventRoutes(this.#feed)];
    this.#byName = new Map(this.routes.map((route) => [`${route.method} ${route.path}`, route]));
    context.own(() => turns.stop());
  }

  async answer(request: RouteRequest): Promise<RouteAnswer> {
    const { caller, body, query } = request;
    const route = this.#byName.get(request.route);
    if (route === undefined || caller === null) throw new PithError('not_found', 'there is nothing at this address');
    return this.#repeated.answer({ ...request, caller, body, query }, (asked) => route.answer(asked));
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#feed.run(signal);
  }
}
