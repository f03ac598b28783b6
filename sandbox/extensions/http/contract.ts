import { defineProtocol, method } from 'pith';

/** A request as plain data. */
export interface HttpRequest {
  readonly method: string;
  /** With its leading slash, without the query; percent-encoded as it came, `.` and `..` resolved. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The raw bytes in base64; empty where it is `tooLarge`. */
  readonly body: string;
  /** The body is longer than the provider takes. */
  readonly tooLarge: boolean;
  /** Of the client: the peer's address, or the one that a trusted proxy of the settings names. */
  readonly address: string;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text, or JSON as text. */
  readonly body?: string;
}

/** Answers requests below its prefixes. */
export interface RouteProvider {
  /** `prefixes`: `/webhooks` is that path, and what is below it; of several that name one, the first in the list of extensions answers. `mostBytes`: of a body; more is not read. */
  routes(): Promise<{ readonly prefixes: readonly string[]; readonly mostBytes: number }>;
  /** A throw is answered with 500 and without its text. */
  answer(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse>;
}

export const RouteProvider = defineProtocol<RouteProvider>(
  'http.routes',
  {
    routes: method(),
    answer: method({ timeoutMs: 30_000, signalAt: 1 }),
  },
  { inProcessOnly: true },
);
