import { plainAddress, plainRange, isWithin } from '@pith/address-ranges';
import { domainToASCII } from 'node:url';
import type { Config } from './config.ts';

const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1'];
/** Addresses to listen on that stand for all of this machine's, and that nobody calls. */
const WILDCARDS = ['0.0.0.0', '::'];

/** Sent with every answer. What is shown in a browser runs no script but that of its own origin, and nobody frames it. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    ...['script', 'style', 'img', 'connect'].map((kind) => `${kind}-src 'self'`),
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** A host in the form of URLs: in lower case, without brackets. */
function plainName(host: string): string {
  return plainAddress(host) ?? domainToASCII(host);
}

/**
 * Whether this name is served. A web page can point a name of its choice at this machine, so only known ones are; `at` is the address that
 * the client reached.
 */
export function isServed(hostname: string, at: string, { host, hosts }: Pick<Config, 'host' | 'hosts'>): boolean {
  const name = plainName(hostname);
  return name !== '' && !WILDCARDS.includes(name) && [...LOCAL_NAMES, host, ...hosts, at].map(plainName).includes(name);
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || isWithin(host, ['127.0.0.0/8', '::1']);
}

export interface FromBrowser {
  /** Host with its port, as the client wrote it. */
  readonly host: string;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  /** A public route that is read, as opening a page does. */
  readonly opensPage: boolean;
}

/** Why a browser may not send this; null: it may, or no browser sends it. `origins`: of other sites that a person named. */
export function refusedSite({ host, origin, fetchSite, opensPage }: FromBrowser, origins: readonly string[]): string | null {
  const isNamed = origin !== undefined && isNamedOrigin(origin, origins);
  if (origin !== undefined && !isNamed && !isOwnOrigin(origin, host)) return 'the request comes from another origin';
  const known = isNamed || fetchSite === undefined || fetchSite === 'same-origin' || (fetchSite === 'none' && opensPage);
  return known ? null : 'the request comes from another site';
}

export function isNamedOrigin(origin: string, origins: readonly string[]): boolean {
  return origins.some((each) => new URL(each).origin === origin);
}

function isOwnOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false; // such as null
  const { protocol, host: own } = new URL(origin);
  return ['http:', 'https:'].includes(protocol) && URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === own;
}

/** The client's address: the peer's, or behind trusted proxies the nearest address that is not one of them. */
export function clientAddress(peer: string, forwarded: string | undefined, proxies: readonly string[]): string {
  let nearest = plainAddress(peer) ?? peer;
  for (const named of (forwarded ?? '').split(',').toReversed()) {
    const address = plainAddress(named);
    if (address === null || !isWithin(nearest, proxies)) break;
    nearest = address;
  }
  return nearest;
}

/** What counts as one client: an IPv4 address, or the 64 bits of an IPv6 network that one household or machine gets. */
export function networkOf(address: string): string {
  return (address.includes(':') ? plainRange(`${address}/64`) : null) ?? address;
}
