import type { GuardedFetch, OutgoingOptions } from './outgoing-requests.ts';

export { isListening } from './listening.ts';
export type { GuardedFetch, OutgoingOptions };

/**
 * Requests of Pith itself. The host is resolved once, only global unicast addresses are connected to, and to the very
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
