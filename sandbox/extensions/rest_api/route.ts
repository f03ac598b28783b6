import { PithError, type z } from 'pith';
import type { Caller, Route, RouteAnswer, RouteRequest } from 'pith/http';

/** A request of a known caller, with what its schemas say it has. */
export interface ApiRequest<Body = unknown, Query = unknown> extends Omit<RouteRequest, 'caller' | 'body' | 'query'> {
  readonly caller: Caller;
  readonly body: Body;
  readonly query: Query;
}

/** A route, and what its description says besides its schemas. */
export interface DescribedRoute extends Route {
  /** Of a successful answer; default 200. One with 204 has no body. */
  readonly status?: number;
  /** Media types of a successful answer; default JSON alone. */
  readonly types?: readonly string[];
  /** Headers that it reads. All changes also take `Idempotency-Key`. */
  readonly reads?: readonly ('If-Match' | 'Last-Event-ID')[];
  /** Its answer has an `ETag`. */
  readonly isTagged?: boolean;
  /** It shows something and asks, answered with 409, before it acts. */
  readonly asks?: boolean;
  /** Where what it changes is this interface itself it answers 202 before that is done. */
  readonly isPending?: boolean;
}

export interface ApiAnswer extends RouteAnswer {
  /** The conversation that it tells of: where it is kept, it goes with that one. */
  readonly thread?: string | null;
}

export interface ApiRoute extends DescribedRoute {
  answer(request: ApiRequest): Promise<ApiAnswer>;
}

interface Shape<Body extends z.ZodType, Query extends z.ZodType> extends DescribedRoute {
  readonly body?: Body;
  readonly query?: Query;
}

/** A route below `/api` and what answers it. */
export function apiRoute<Body extends z.ZodType, Query extends z.ZodType>(
  shape: Shape<Body, Query>,
  answer: (request: ApiRequest<z.infer<Body>, z.infer<Query>>) => Promise<ApiAnswer>,
): ApiRoute {
  return { ...shape, answer: (request) => answer(request as ApiRequest<z.infer<Body>, z.infer<Query>>) };
}

/** The same for what nobody has and for what somebody else has. */
export function unknownThread(id: string): PithError {
  return new PithError('thread_unknown', `there is no thread '${id}'`, { cure: 'list the threads: GET /api/threads' });
}

/** The same for a turn that nobody has and for one of another conversation. */
export function unknownTurn(id: string | undefined): PithError {
  const what = id === undefined ? 'nothing was done in this conversation yet' : `there is no turn '${id}' in this conversation`;
  return new PithError('thread_unknown', what, { cure: 'send a message first, or leave out `turn`' });
}
