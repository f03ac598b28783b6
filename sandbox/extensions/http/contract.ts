import { defineProtocol, method } from 'pith';

/** A request as plain data. */
export interface HttpRequest {
  readonly method: string;
  /** With its leading slash, without the query; percent-encoded as received, `.` and `..` resolved. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The raw bytes in base64; empty where it is `tooLarge`. */
  readonly body: string;
  /** The body is longer than the provider accepts. */
  readonly tooLarge: boolean;
  /** The client's address: the peer's, or the one that a trusted proxy reports. */
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
  /**
   * `prefixes`: `/webhooks` means that path and all below it; if several providers name one, the first in the list of extensions answers.
   * `mostBytes`: the limit of a body; more is not read.
   */
  routes(): Promise<{ readonly prefixes: readonly string[]; readonly mostBytes: number }>;
  /** An error is answered with 500, without its message. */
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
