/** An address in the environment, which overrides one in the settings. */
export interface Overriding {
  /** The variable. */
  readonly name: string;
  /** null: it is not set. */
  readonly address: string | null;
  /** The provider's default address. */
  readonly defaultAddress: string;
  /** A suffix of the address that may be left out. */
  readonly version?: string;
  /** The command that sets up what is there. */
  readonly setup: string;
  problem(why: string, cure: string): Error;
}

/** Asks a server that a person means; address and key are null where they gave none. Throws as `refuseOverruled`, also where a key is wanted next. */
export async function askMeant<T>(
  overriding: Overriding,
  { address, key }: { readonly address: string | null; readonly key: string | null },
  ask: () => Promise<T>,
): Promise<T> {
  refuseOverruled(overriding, address, key !== null);
  try {
    return await ask();
  } catch (error) {
    if (WANTS_KEY.has((error as { readonly code?: unknown } | null)?.code)) refuseOverruled(overriding, address, true);
    throw error;
  }
}

/** Errors after which a person is asked for a key. */
const WANTS_KEY: ReadonlySet<unknown> = new Set(['model_auth', 'secret_not_given']);

/** Throws `problem` where a request, or a key for it, would go elsewhere than to this address; empty: the default one, null: whatever is set. */
export function refuseOverruled(overriding: Overriding, address: string | null, hasKey: boolean): void {
  const { name, address: wins, defaultAddress, version = '', setup } = overriding;
  if (wins === null || address === null) return;
  const { host, origin } = new URL(defaultAddress);
  const goesThere = address === '' ? !hasKey || new URL(wins).origin === origin : normal(wins, version) === normal(address, version);
  if (goesThere) return;
  const why = address === '' ? `where a key for ${host} would be sent` : 'which overrides an address in the settings';
  const cure = `unset ${name} first${hasKey ? `, or set up what is there: ${setup}` : ''}`;
  throw overriding.problem(`${name} is set to ${wins}, ${why}`, cure);
}

function normal(address: string, version: string): string {
  const text = (URL.canParse(address) ? new URL(address).href : address).replace(/\/+$/, '');
  return text.endsWith(version) ? text.slice(0, text.length - version.length) : text;
}
