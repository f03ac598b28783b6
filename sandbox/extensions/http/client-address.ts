import { isWithin, plainAddress } from '@pith/address-ranges';

/** The address of the client: of the peer, or behind trusted proxies the nearest address that is not one of them. */
export function clientAddress(peer: string, forwarded: string | undefined, proxies: readonly string[]): string {
  let nearest = plainAddress(peer) ?? peer;
  for (const named of (forwarded ?? '').split(',').toReversed()) {
    const address = plainAddress(named);
    if (address === null || !isWithin(nearest, proxies)) break;
    nearest = address;
  }
  return nearest;
}
