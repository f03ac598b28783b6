/** The server that a person wants to use. */
export interface MeantServer {
  /** Empty: the default address; null: the one that is set, if any. */
  readonly address: string | null;
  /** The person enters a key for it, now or next. */
  readonly hasKey: boolean;
  /** The provider's default address. */
  readonly defaultAddress: string;
  /** A suffix of the address that may be left out. */
  readonly version?: string;
}

/**
 * Why requests would go to another server: an address in the environment overrides one in the settings, so the settings would have no
 * effect, and a key entered for one server would reach another. null: they go where the person wants, or the person named no server.
 */
export function overruled(
  { name, address: wins }: { readonly name: string; readonly address: string | null },
  { address, hasKey, defaultAddress, version = '' }: MeantServer,
): string | null {
  if (wins === null || address === null) return null;
  if (address !== '')
    return normal(wins, version) === normal(address, version)
      ? null
      : `${name} is set to ${wins}, which overrides an address in the settings`;
  if (!hasKey || new URL(wins).origin === new URL(defaultAddress).origin) return null;
  return `${name} is set to ${wins}, where a key for ${new URL(defaultAddress).host} would be sent`;
}

function normal(address: string, version: string): string {
  const text = (URL.canParse(address) ? new URL(address).href : address).replace(/\/+$/, '');
  return text.endsWith(version) ? text.slice(0, text.length - version.length) : text;
}
