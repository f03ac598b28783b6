import { defineProtocol } from 'pith';

/** A request as a provider of routes is given it: plain data. */
export interface HttpRequest {
  readonly method: string;
  /** With its leading slash, without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it came, in base64; empty where it is `tooLarge`. */
  readonly body: string;
  /** The body is longer than the provider takes. */
  readonly tooLarge: boolean;
  /** The address of whoever asks: of the other end, or what a proxy of the settings says. */
  readonly address: string;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text or JSON that is written already. */
  readonly body?: string;
}

/** Answers requests below its prefixes. */
export interface RouteProvider {
  /** `prefixes`: `/webhooks` is that path, and what is below it. `mostBytes`: of a body; more is not read. */
  routes(): Promise<{ readonly prefixes: readonly string[]; readonly mostBytes: number }>;
  /** A throw is answered with 500 and without its text. */
  answer(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse>;
}

export const RouteProvider = defineProtocol<RouteProvider>(
  'http.routes',
  {
    routes: { kind: 'method', signature: 'routes(): Promise<{ prefixes: string[], mostBytes: number }>' },
    answer: { kind: 'method', signature: 'answer(request: HttpRequest): Promise<HttpResponse>', timeoutMs: 30_000, signalAt: 1 },
  },
  { inProcessOnly: true },
);
