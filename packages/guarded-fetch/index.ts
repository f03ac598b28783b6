import type { GuardedFetch } from './fetch.ts';
import type { GuardedRequest, OutgoingOptions } from './outgoing-requests.ts';

export { isListening } from './listening.ts';
export { overruled } from './overruled.ts';
export type { GuardedFetch, GuardedRequest, OutgoingOptions };

/**
 * Requests of Pith itself. The host is resolved once, only global unicast addresses are connected to, and to the very
 * address that was looked at; so at each redirect, which takes no headers with credentials to another origin and never leads from https
 * to http. Rejects `address_refused` for what it does not ask and `limit_reached` beyond its bounds; a lost connection is a TypeError,
 * as that of `fetch`.
 */
export function guardedRequest(options: OutgoingOptions = {}): GuardedRequest {
  let guard: Promise<GuardedRequest> | undefined;
  return async (address, request) =>
    (await (guard ??= import('./outgoing-requests.ts').then(({ createGuard }) => createGuard(options))))(address, request);
}

/** As `guardedRequest`, for whoever wants the objects of `fetch`. */
export function guardedFetch(options: OutgoingOptions = {}): GuardedFetch {
  const ask = guardedRequest(options);
  return async (input, init) => (await import('./fetch.ts')).fetchOver(ask)(input, init);
}

/** The global unicast addresses of a host, for programs that connect by themselves. Rejects `address_refused` where it has none. */
export async function publicAddresses(host: string, signal?: AbortSignal): Promise<readonly string[]> {
  return (await import('./outgoing-requests.ts')).publicAddressesOf(host, signal);
}
