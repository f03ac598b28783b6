import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address in one form: v4 within v6 as v4, without brackets and zones; null for what is none. */
export function plainAddress(text: string): string | null {
  return parsed(text.replace(/^\[|\]$|%.*$/g, ''))?.toString() ?? null;
}

/** Whether a text is an address, or a range such as `192.0.2.0/24`. */
export function isRange(text: string): boolean {
  return rangeOf(text) !== null;
}

/** Whether an address is one of these, or in one of these ranges. What is neither contains nothing. */
export function isWithin(address: string, ranges: readonly string[]): boolean {
  const found = parsed(address);
  if (found === null) return false;
  return ranges.some((text) => {
    const range = rangeOf(text);
    return range !== null && range[0].kind() === found.kind() && found.match(range as never);
  });
}

function rangeOf(text: string): readonly [Address, number] | null {
  const bare = text.trim();
  try {
    if (!bare.includes('/')) {
      const address = parsed(bare);
      return address === null ? null : [address, address.kind() === 'ipv4' ? 32 : 128];
    }
    const [address, bits] = ipaddr.parseCIDR(bare);
    const isMapped = address.kind() === 'ipv6' && (address as ipaddr.IPv6).isIPv4MappedAddress() && bits >= 96;
    return isMapped ? [(address as ipaddr.IPv6).toIPv4Address(), bits - 96] : [address, bits];
  } catch {
    return null; // it throws for what it cannot read
  }
}

/** v4 in four decimal parts, or v6: other ways to write v4 mean different things to different programs. */
function parsed(text: string): Address | null {
  const bare = text.trim();
  if (!ipaddr.isValid(bare) || (!bare.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(bare))) return null;
  return ipaddr.process(bare);
}
