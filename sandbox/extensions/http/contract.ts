import { type AgentSpec, defineProtocol, method, type JsonValue, type PithError, type TurnEvent, type z } from 'pith';

/** Who may call a route: anybody, any user, a user whose token may answer questions, or an administrator's token. Each includes the next. */
export type Need = 'public' | 'user' | 'approve' | 'admin';

export type Role = 'user' | 'admin';
export type May = 'chat' | 'approve' | 'admin';

/** Who calls, by the stored token or session alone. */
export interface Caller {
  readonly userId: string;
  /** The person's. */
  readonly role: Role;
  /** The token's: `chat` cannot answer questions. */
  readonly may: May;
}

/** Why the listener refuses a request of a route, or an error that its provider threw and that the client may read. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly cure?: string;
  /** As of `PithError`. */
  readonly problems?: PithError['problems'];
}

/** A route as data. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/api/threads/{id}`: a name in braces stands for one segment, a last `{name...}` for one or more. Of two that fit, the more literal one answers. */
  readonly path: string;
  readonly need: Need;
  /** For people, as an imperative. */
  readonly summary: string;
  /** Of the JSON body, the query, and the JSON of a successful answer. The first two are checked before the provider is asked. */
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
  readonly result?: z.ZodType;
  /** Media types of a body other than JSON, which the request then has as `bytes`. */
  readonly upload?: readonly string[];
  /** The limit of a body; default 256 KiB. A longer one is answered 413. */
  readonly mostBytes?: number;
  /** The body of an answer by which the listener refuses a request; default `{error: {code, message, cure?: {text?, command?}, problems?}}`. */
  refused?(why: Refusal): JsonValue;
  /** Other servers call it, so neither Origin nor the type of its body is checked; `public` only. The request has `bytes`. */
  readonly fromServers?: true;
}

export interface RouteRequest {
  /** The route's method and path, such as `POST /api/threads/{id}`. */
  readonly route: string;
  /** As received, without the query. */
  readonly path: string;
  /** Decoded; the value of `{name}` may have slashes. */
  readonly params: Readonly<Record<string, string>>;
  /** By its schema; without one, texts. A name that comes several times has a list. */
  readonly query: Readonly<Record<string, unknown>>;
  /** Names are in lower case. Without those that carry a token or a session. */
  readonly headers: Readonly<Record<string, string>>;
  /** By its schema; undefined without one. */
  readonly body?: unknown;
  /** The raw body of `upload` and `fromServers`, else empty. */
  readonly bytes: Uint8Array;
  /** The client's address: the peer's, or the one that a trusted proxy reports. */
  readonly address: string;
  /** null: a public route, called without a valid token. */
  readonly caller: Caller | null;
  /** Aborts when the client leaves or Pith stops, also while a stream is read. */
  readonly signal: AbortSignal;
}

export interface RouteAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Either this or `body`, or neither. */
  readonly json?: JsonValue;
  /** A stream is pulled as the client reads; `return` is called when the client leaves, its extension is reloaded or Pith stops. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** What a stream that throws ends with, so that the client learns of it; the listener writes the error to the log. Absent: the connection is cut. */
  failed?(error: unknown): Uint8Array;
}

/** Answers requests. Publishes `provider.changed` when its routes change without a reload. */
export interface RouteProvider {
  routes(): Promise<readonly Route[]>;
  /** A `PithError` is answered as `refused` says, with the status of its code (422 without one), another error with 500 without its message. */
  answer(request: RouteRequest): Promise<RouteAnswer>;
}

export const RouteProvider = defineProtocol<RouteProvider>(
  'http.routes',
  {
    routes: method({ byReference: true }),
    answer: method({ byReference: true, timeoutMs: null }),
  },
  { inProcessOnly: true },
);

/**
 * What a client is told of a turn: `hide` puts names in place of what it may not know. What the model said and called stays as it is, and so
 * does what a person is asked to allow.
 */
export function shownEvent(event: TurnEvent, hide: <T>(shown: T) => T): TurnEvent {
  if (event.type === 'text-delta' || event.type === 'tool-call' || event.type === 'approval-request') return event;
  if (event.type !== 'turn-end') return hide(event);
  return event.error === undefined ? event : { ...event, error: hide(event.error) };
}

/** A token, or the session of a page. Times are milliseconds; null: never. */
export interface TokenInfo extends Caller {
  readonly id: string;
  readonly kind: 'token' | 'session';
  readonly made: number;
  readonly expires: number | null;
  /** Within a minute. */
  readonly lastUsed: number | null;
}

export interface WantedToken {
  /** Default `local`, the person at the terminal. */
  readonly userId?: string;
  /** Default `admin` for administrators of the settings, else `user`. */
  readonly role?: Role;
  /** Default `chat`. */
  readonly may?: May;
  /** For how long it is valid; absent: until it is revoked. */
  readonly validMs?: number;
}

/** Who may call, and whom they reach: tokens and sessions, for pages and commands that manage them, and agents. */
export interface HttpUsers {
  /** The agents that people of this role reach and that can run; first the one that answers who names none. */
  agents(role: Role): Promise<readonly AgentSpec[]>;
  /** One of them; without an id the first. Rejects `agent_unknown`, also for one that only others reach. */
  agent(id: string | undefined, role: Role): Promise<AgentSpec>;
  /**
   * A one-time address that opens the page as `local`, valid for five minutes: `http://127.0.0.1:7484/#code=…`. `port`: only of a server there;
   * absent or 0: of any. Rejects `not_listening`, or `port_taken` where something else has the port (absent: that of the settings).
   */
  signInAddress(port?: number): Promise<string>;
  /** Oldest first. */
  tokens(): Promise<readonly TokenInfo[]>;
  /** The only time that the token is given. Rejects `token_invalid`. */
  newToken(wanted: WantedToken): Promise<TokenInfo & { readonly token: string }>;
  /** False: there is no such token or session. Sessions that a token opened end with it. */
  revoke(id: string): Promise<boolean>;
}

export const HttpUsers = defineProtocol<HttpUsers>(
  'http.users',
  { agents: method(), agent: method(), signInAddress: method(), tokens: method(), newToken: method(), revoke: method() },
  { inProcessOnly: true },
);
