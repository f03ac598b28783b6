import { isWithin, plainAddress } from '@pith/address-ranges';

/** Who asks: the other end, or behind proxies that are believed the nearest address that is none of them. */
export function clientAddress(peer: string, forwarded: string | undefined, proxies: readonly string[]): string {
  let nearest = plainAddress(peer) ?? peer;
  for (const named of (forwarded ?? '').split(',').toReversed()) {
    const address = plainAddress(named);
    if (address === null || !isWithin(nearest, proxies)) break;
    nearest = address;
  }
  return nearest;
}
