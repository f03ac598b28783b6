import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { AuthorizationServerMetadata, FetchLike } from '@modelcontextprotocol/client';
import { guardedFetch } from '@pith/guarded-fetch';
import { printableLine } from '@pith/plain-text';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { messageOf, PithError, type Places, z } from 'pith';
import { sha256 } from '@pith/plain-data';

const MOST_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;

const kept = z.object({
  /** The server that gets the token, and nobody else. */
  url: z.string(),
  /** Who gives new ones. */
  issuer: z.string(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  resource: z.string().optional(),
  client: z.looseObject({ client_id: z.string() }),
  tokens: z.looseObject({ access_token: z.string(), token_type: z.string(), refresh_token: z.string().optional() }),
});

export type KeptLogin = z.infer<typeof kept>;

/**
 * Logins to servers, in files of `~/.pith` that nobody else may read. Each is for one address: a server of another address, whatever its
 * name, does not get it.
 */
export class Logins {
  readonly #folder: StateFolder | null;

  constructor({ home }: Pick<Places, 'home'>) {
    const place = home === null ? null : path.join(home, '.pith');
    this.#folder = place === null ? null : stateFolder(existsSync(place) ? realpathSync(place) : place, 'mcp-logins');
  }

  /** null: nobody has logged in there. */
  of(url: string, name: string): Login | null {
    const write = (login: KeptLogin | null) => this.#write(url, login);
    return this.#read(url) === null ? null : new Login(name, () => this.#read(url), write);
  }

  keep(login: KeptLogin): void {
    this.#write(login.url, login);
  }

  /** False when there was none. */
  forget(url: string): boolean {
    const isThere = this.#read(url) !== null;
    this.#folder?.remove(fileOf(url));
    return isThere;
  }

  #read(url: string): KeptLogin | null {
    try {
      const bytes = this.#folder?.read(fileOf(url), MOST_BYTES) ?? null;
      const read = bytes === null ? null : kept.safeParse(JSON.parse(String(bytes))).data;
      return read?.url === url ? read : null;
    } catch {
      return null; // a damaged file is no login: a new one replaces it
    }
  }

  #write(url: string, login: KeptLogin | null): void {
    if (this.#folder === null)
      throw new PithError('settings_invalid', 'a login cannot be kept: this Pith has no home folder', { cure: 'set HOME' });
    if (login === null) this.#folder.remove(fileOf(url));
    else this.#folder.writeNow(fileOf(url), `${JSON.stringify(login, null, 2)}\n`);
  }
}

function fileOf(url: string): string {
  return `${sha256(url).slice(0, 32)}.json`;
}

/** A login as a connection uses it. */
export class Login {
  #used: string | undefined;
  #renewing: Promise<void> | null = null;

  constructor(
    private readonly name: string,
    private readonly read: () => KeptLogin | null,
    private readonly write: (login: KeptLogin | null) => void,
  ) {}

  /** As it is now: another process may have renewed it. */
  token(): string | undefined {
    return (this.#used = this.read()?.tokens.access_token);
  }

  /** Gets a new token for one that the server refused. Rejects with what a person must do. */
  renew(): Promise<void> {
    return (this.#renewing ??= this.#renewed().finally(() => (this.#renewing = null)));
  }

  async #renewed(): Promise<void> {
    const login = this.read();
    if (login !== null && login.tokens.access_token !== this.#used) return;
    const again = `run: pith mcp login ${this.name}`;
    if (login?.tokens.refresh_token === undefined) throw new Error(`its login has ended; ${again}`);
    const { OAuthError, refreshAuthorization } = await import('@modelcontextprotocol/client');
    try {
      const tokens = await refreshAuthorization(login.issuer, {
        metadata: login.metadata as AuthorizationServerMetadata | undefined,
        clientInformation: login.client,
        refreshToken: login.tokens.refresh_token,
        ...(login.resource !== undefined && { resource: new URL(login.resource) }),
        fetchFn: loginFetch(login.url),
      });
      this.write({ ...login, tokens: { ...login.tokens, ...tokens } });
    } catch (error) {
      const isOver = error instanceof OAuthError && ['invalid_grant', 'invalid_client', 'unauthorized_client'].includes(error.code);
      if (isOver) this.write(null);
      throw new Error(`its login ${isOver ? 'has ended' : 'could not be renewed'} (${printableLine(messageOf(error), 200)}); ${again}`, {
        cause: error,
      });
    }
  }
}

/** Requests to whoever a server names for its logins: where a person wrote the server's address, that one may be private, no other. */
export function loginFetch(url: string): FetchLike {
  const fetch = guardedFetch({ allow: [url], maxBytes: MOST_BYTES, timeoutMs: TIMEOUT_MS });
  return (address, init) => fetch(address, init);
}
