/** What one `guardedFetch` may reach, and its bounds. */
export interface OutgoingOptions {
  /**
   * Origins (scheme, host, port) that a person named: typed, or written into settings that are theirs or trusted. Only these may have
   * addresses that are not public. An address counts as its origin.
   */
  readonly allow?: readonly string[];
  /** `refused`: nothing but `allow` is asked, also where a redirect leads elsewhere. Default `public`. */
  readonly elsewhere?: 'public' | 'refused';
  /** Default 5. */
  readonly maxRedirects?: number;
  /** Of one body, unpacked; default 64 MiB. */
  readonly maxBytes?: number;
  /** Until the answer has come whole; absent: as long as something comes. */
  readonly timeoutMs?: number;
  /** How long nothing at all may come, from connecting to the last byte; default five minutes. */
  readonly silenceMs?: number;
  /** The addresses of a name; for tests. Default the system's resolver. */
  resolve?(host: string): Promise<readonly string[]>;
}

/** Can stand wherever `fetch` can. */
export type GuardedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * The way out for requests of Pith itself. The host is resolved once, only global unicast addresses are connected to, and to the very
 * address that was looked at; so at each redirect, which takes no headers with credentials to another origin and never leads from https
 * to http. Rejects `address_refused` for what it does not ask and `limit_reached` beyond its bounds; a lost connection is a TypeError,
 * as that of `fetch`.
 */
export function guardedFetch(options: OutgoingOptions = {}): GuardedFetch {
  let guard: Promise<GuardedFetch> | undefined;
  return async (input, init) =>
    (await (guard ??= import('./outgoing-requests.ts').then(({ createGuard }) => createGuard(options))))(input, init);
}

/** The global unicast addresses of a host, for programs that connect by themselves. Rejects `address_refused` where it has none. */
export async function publicAddresses(host: string, signal?: AbortSignal): Promise<readonly string[]> {
  return (await import('./outgoing-requests.ts')).publicAddressesOf(host, signal);
}
