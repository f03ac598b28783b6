import type { GuardedFetch } from './fetch.ts';
import type { GuardedRequest, OutgoingOptions } from './outgoing-requests.ts';

export { isListening } from './listening.ts';
export { askMeant, refuseOverruled, type Overriding } from './overruled.ts';
export type { GuardedFetch, GuardedRequest, OutgoingOptions };

/**
 * Pith's own requests. The host is resolved once; the connection goes to exactly the address that was checked, and only to global unicast
 * addresses. Redirects are checked likewise, carry no credentials to another origin and never lead from https to http. Rejects
 * `address_refused` for a forbidden address and `limit_reached` beyond a limit; a lost connection is a TypeError, as with `fetch`.
 */
export function guardedRequest(options: OutgoingOptions = {}): GuardedRequest {
  let guard: Promise<GuardedRequest> | undefined;
  return async (address, request) =>
    (await (guard ??= import('./outgoing-requests.ts').then(({ createGuard }) => createGuard(options))))(address, request);
}

/** `guardedRequest` with the objects of `fetch`. */
export function guardedFetch(options: OutgoingOptions = {}): GuardedFetch {
  const ask = guardedRequest(options);
  return async (input, init) => (await import('./fetch.ts')).fetchOver(ask)(input, init);
}

/** The global unicast addresses of a host, for programs that connect themselves. Rejects `address_refused` where it has none. */
export async function publicAddresses(host: string, signal?: AbortSignal): Promise<readonly string[]> {
  return (await import('./outgoing-requests.ts')).publicAddressesOf(host, signal);
}
