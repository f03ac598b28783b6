import { isWithin, plainAddress } from '@pith/address-ranges';

/** A configured proxy. */
export interface Proxy {
  /** Host and port, without credentials. */
  readonly host: string;
  readonly url: URL;
  /** The environment variable that sets it. */
  readonly variable: string;
}

/** Reads an environment variable by its name in capitals; null: not set. */
export type Variable = (name: string) => string | null;

/**
 * The proxy for an address according to `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`. null: no proxy is set, `NO_PROXY` names the host, or
 * the host is this machine. Throws `proxy_failed` for a value that is not a proxy address.
 */
export function proxyFor(url: URL, variable: Variable): Proxy | null {
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
  if (isLoopback(host)) return null;
  const names = [url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY', 'ALL_PROXY'];
  for (const name of names) {
    const value = variable(name)?.trim() ?? '';
    if (value === '') continue;
    return isExcepted(host, portOf(url), variable('NO_PROXY') ?? '') ? null : proxyAt(value, name);
  }
  return null;
}

function proxyAt(value: string, variable: string): Proxy {
  const text = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && url.hostname !== '' && /^https?:$/.test(url.protocol))
    return { url, variable, host: `${url.hostname}:${portOf(url)}` };
  const kind = url === null ? 'no address' : `an address of the kind ${url.protocol.slice(0, -1)}, which is not supported`;
  throw new RequestFailed('proxy_failed', `${variable} is ${kind}`, `set ${variable} to http://host:port, or unset it`);
}

/** `NO_PROXY` takes `*`, names with their subdomains (also as `.name` and `*.name`), addresses and address ranges; each may have a port. */
function isExcepted(host: string, port: string, list: string): boolean {
  return list
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, bracketed, named, only] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d+))?$/.exec(entry) ?? [];
      if (only !== undefined && only !== port) return false;
      const name = (bracketed ?? named ?? entry)
        .toLowerCase()
        .replace(/^\*?\./, '')
        .replace(/\.$/, '');
      if (plainAddress(host) !== null) return isWithin(host, [name]);
      return name !== '' && (host === name || host.endsWith(`.${name}`));
    });
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || isWithin(host, ['127.0.0.0/8', '::1']);
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80');
}

/** Code `address_refused`, `limit_reached` or `proxy_failed`, with a cure where there is one. */
export class RequestFailed extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly cure?: string,
    readonly retryable = false,
  ) {
    super(message);
  }
}
