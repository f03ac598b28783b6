/** Which server a person means. */
export interface MeantServer {
  /** Empty: the usual one; null: whichever is set. */
  readonly address: string | null;
  /** As the person typed it for that server; null: none was typed. */
  readonly key: string | null;
  /** The usual address. */
  readonly usual: string;
}

/**
 * Why what a person means would go elsewhere: the address in the environment wins over one in the settings, which would be written and
 * never asked, and a key that was typed for one server would reach another. null: it goes where they mean, or they mean none.
 */
export function overruled(
  { name, address: wins }: { readonly name: string; readonly address: string | null },
  { address, key, usual }: MeantServer,
): string | null {
  if (wins === null || address === null) return null;
  if (address !== '')
    return trimmed(wins) === trimmed(address) ? null : `${name} is set to ${wins}, and wins over an address in the settings`;
  if (key === null || key === '' || new URL(wins).origin === new URL(usual).origin) return null;
  return `${name} is set to ${wins}, where a key for ${new URL(usual).host} would be sent`;
}

function trimmed(address: string): string {
  return address.trim().replace(/\/+$/, '');
}
