import { isWithin, plainAddress } from '@pith/address-ranges';

/** A proxy that a person set. */
export interface Proxy {
  /** With its port, and without what it is opened with. */
  readonly host: string;
  readonly url: URL;
  /** Where it was set. */
  readonly variable: string;
}

/** A variable of a person's environment, in capitals; null: it is not set. */
export type Variable = (name: string) => string | null;

/**
 * The proxy for an address, as `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY` name it; null where none is set, where `NO_PROXY` names the
 * host, and for this machine itself. Throws `proxy_failed` for what names no proxy.
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

/** `*`, names with the names below them, also as `.name` and `*.name`, addresses and ranges of them, each also with a port. */
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

/** `address_refused`, `limit_reached` or `proxy_failed`, with what to do about it where something can be done. */
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
