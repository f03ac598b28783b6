import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The canonical form of an address: v4 within v6 as v4, without brackets and zones. null: not an address. */
export function plainAddress(text: string): string | null {
  return parsed(text.replace(/^\[|\]$|%.*$/g, ''))?.toString() ?? null;
}

/** The canonical form of an address or of a range such as `192.0.2.0/24`, with the host bits cleared. null: neither of them. */
export function plainRange(text: string): string | null {
  const range = rangeOf(text);
  if (range === null) return null;
  const [address, bits] = range;
  if (!text.includes('/')) return address.toString();
  const bytes = address.toByteArray().map((byte, at) => byte & (0xff << Math.max(0, Math.min(8, 8 * (at + 1) - bits))));
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`;
}

/** The first and the last address of a range, or of an address alone. null: neither of them. */
export function endsOf(text: string): { readonly first: string; readonly last: string } | null {
  const plain = plainRange(text);
  if (plain === null) return null;
  if (!plain.includes('/')) return { first: plain, last: plain };
  const kind = plain.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4;
  return { first: kind.networkAddressFromCIDR(plain).toString(), last: kind.broadcastAddressFromCIDR(plain).toString() };
}

/** Whether an address is in the list or in one of its ranges. False where `address` is not an address. */
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
    const [, start = '', length = ''] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(bare) ?? [];
    const address = parsed(start);
    if (address === null) return null; // such as 0/0, which some programs take for every address
    const bits = Number(length);
    if (!start.includes(':') || address.kind() === 'ipv6') return bits > (address.kind() === 'ipv4' ? 32 : 128) ? null : [address, bits];
    return bits < 96 || bits > 128 ? null : [address, bits - 96];
  } catch {
    return null; // the constructor throws for text that it cannot read
  }
}

/** Only v4 in four decimal parts and v6: programs disagree about other ways to write v4. */
function parsed(text: string): Address | null {
  const bare = text.trim();
  if (!ipaddr.isValid(bare) || (!bare.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(bare))) return null;
  return ipaddr.process(bare);
}
