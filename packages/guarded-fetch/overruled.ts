/** Which server a person means. */
export interface MeantServer {
  /** Empty: the usual one; null: whichever is set. */
  readonly address: string | null;
  /** A key is typed for it, or is about to be. */
  readonly hasKey: boolean;
  /** The usual address. */
  readonly defaultAddress: string;
  /** The end of an address that may be left out. */
  readonly version?: string;
}

/**
 * Why what a person means would go elsewhere: the address in the environment wins over one in the settings, which would be written and
 * never asked, and a key that was typed for one server would reach another. null: it goes where they mean, or they mean none.
 */
export function overruled(
  { name, address: wins }: { readonly name: string; readonly address: string | null },
  { address, hasKey, defaultAddress, version = '' }: MeantServer,
): string | null {
  if (wins === null || address === null) return null;
  if (address !== '')
    return normal(wins, version) === normal(address, version)
      ? null
      : `${name} is set to ${wins}, and wins over an address in the settings`;
  if (!hasKey || new URL(wins).origin === new URL(defaultAddress).origin) return null;
  return `${name} is set to ${wins}, where a key for ${new URL(defaultAddress).host} would be sent`;
}

function normal(address: string, version: string): string {
  const text = (URL.canParse(address) ? new URL(address).href : address).replace(/\/+$/, '');
  return text.endsWith(version) ? text.slice(0, text.length - version.length) : text;
}
