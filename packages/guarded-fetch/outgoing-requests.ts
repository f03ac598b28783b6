import { lookup } from 'node:dns/promises';
import type { IncomingMessage, RequestOptions } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import zlib from 'node:zlib';
import { untilAborted } from '@pith/promises';
import ipaddr from 'ipaddr.js';
import { proxyFor, type Proxy, type Variable, RequestFailed } from './proxies.ts';
import type { ProxiedRequests } from './tunnel.ts';

// Not imported, because an import of one name loads the whole of `fetch` on Node 24.
const http = process.getBuiltinModule('node:http');

/** What a guard may reach, and its limits. */
export interface OutgoingOptions {
  /**
   * Origins (scheme, host, port) that a person named: typed, or in settings that are theirs or trusted. Only these may have addresses that
   * are not public. Of an address only the origin counts.
   */
  readonly allow?: readonly string[];
  /** `refused`: only `allow` may be asked, also after a redirect. Default `public`. */
  readonly elsewhere?: 'public' | 'refused';
  /** The most bytes of a body, unpacked; default 64 MiB. */
  readonly maxBytes?: number;
  /** Until the whole answer has arrived; absent: no limit while data arrives. */
  readonly timeoutMs?: number;
  /** The longest silence, from connecting to the last byte; default five minutes. */
  readonly silenceMs?: number;
  /** Reads `HTTPS_PROXY` and its like; absent: no proxy is used. */
  readonly proxies?: Variable;
  /** Resolves a host name; for tests. Default: the system's resolver. */
  resolve?(host: string): Promise<readonly string[]>;
}

export interface OutgoingRequest {
  /** Default GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | null;
  /** Default `follow`. */
  readonly redirect?: NonNullable<RequestInit['redirect']>;
  readonly signal?: AbortSignal | null;
}

export interface OutgoingAnswer {
  /** The address that answered, after redirects. */
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case; a name may occur several times. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** null: an answer with this status has no body. Rejects as the request does. */
  readonly body: AsyncIterable<Uint8Array> | null;
  /** The whole body. */
  text(): Promise<string>;
  /** Ends the connection; for a caller that does not read the whole body. */
  cancel(): void;
}

/** A request without the objects of `fetch`, which take 40 ms to load. */
export type GuardedRequest = (address: string | URL, request?: OutgoingRequest) => Promise<OutgoingAnswer>;

const DEFAULTS = { elsewhere: 'public', maxBytes: 64 * 1024 * 1024, silenceMs: 300_000, resolve: resolved } as const;
const MOST_REDIRECTS = 5;
/** How long an idle connection is kept: servers close theirs after five seconds or more. */
const IDLE_MS = 4_000;
const KEPT = { keepAlive: true, timeout: IDLE_MS };
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);
/** The only headers that follow a redirect to another origin. Any other may be a credential. */
const HARMLESS: ReadonlySet<string> = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent']);
/** Headers of the connection, not of the request. */
const OF_CONNECTIONS = ['connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

interface Asked {
  readonly method: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string | Uint8Array | null;
}

type Bounds = Required<Pick<OutgoingOptions, 'elsewhere' | 'maxBytes' | 'silenceMs'>> & {
  readonly allowed: ReadonlySet<string>;
  readonly timeoutMs: number | undefined;
  readonly proxies: Variable | undefined;
  resolve(host: string): Promise<readonly string[]>;
};

/** As `guardedRequest`. Each guard has its own connections: one guard may reach what another may not. */
export function createGuard({ allow = [], timeoutMs, proxies, ...given }: OutgoingOptions): GuardedRequest {
  const bounds: Bounds = { ...DEFAULTS, ...given, timeoutMs, proxies, allowed: new Set(allow.map((address) => new URL(address).origin)) };
  const agents = { 'http:': new http.Agent(KEPT), 'https:': new https.Agent(KEPT) };
  let proxied: Promise<ProxiedRequests> | undefined;
  return async (address, request = {}) => {
    const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    const given = request.signal;
    const signal = AbortSignal.any([late, given].filter((one) => one !== undefined && one !== null));
    const failureOf = (error: unknown, text: string): unknown => {
      if (late?.aborted && !given?.aborted)
        return new RequestFailed('limit_reached', `the answer took longer than ${(timeoutMs ?? 0) / 1000} s`, undefined, true);
      if (signal.aborted) return signal.reason;
      if (error instanceof RequestFailed) return error;
      return new TypeError(text, { cause: error instanceof AggregateError ? (error.errors[0] as unknown) : error });
    };
    try {
      signal.throwIfAborted();
      const { url, message } = await follow(addressOf(String(address)), askedOf(request), request.redirect ?? 'follow');
      return answerOf(message, url, bounds, (error) => failureOf(error, 'terminated'));
    } catch (error) {
      throw failureOf(error, 'fetch failed');
    }

    async function optionsFor(url: URL, { addresses, proxy, isChecked }: Way): Promise<RequestOptions> {
      if (proxy === null) return { ...urlToHttpOptions(url), agent: agents[url.protocol as 'http:'], lookup: pinnedTo(addresses) };
      proxied ??= import('./tunnel.ts').then((module) => new module.ProxiedRequests(KEPT));
      const address = isChecked ? addresses[0]! : null;
      return (await proxied).options({ url, proxy, address, silenceMs: bounds.silenceMs }, signal);
    }

    async function follow(
      url: URL,
      asked: Asked,
      redirect: NonNullable<RequestInit['redirect']>,
    ): Promise<{ readonly url: URL; readonly message: IncomingMessage }> {
      for (let hops = 0; ; hops += 1) {
        const way = await untilAborted(wayTo(url, bounds), signal); // a resolver cannot be cancelled
        const message = await connected(await optionsFor(url, way), asked, bounds.silenceMs, signal);
        const { location } = message.headers;
        if (redirect === 'manual' || location === undefined || !REDIRECTS.has(message.statusCode ?? 0)) return { url, message };
        message.destroy(); // the body of a redirect may be endless
        if (redirect === 'error')
          throw refused(`${url.origin} answers with a redirect, which Pith does not follow here`, 'name the address that it leads to');
        if (hops === MOST_REDIRECTS)
          throw refused(`${url.origin} redirects without end: Pith followed ${hops} redirects`, 'name the address that it leads to');
        const next = redirected(url, location);
        asked = askedNext(asked, message.statusCode ?? 0, next.origin === url.origin);
        if (next.origin !== url.origin && asked.body !== null)
          throw refused(
            `${url.origin} redirects to ${next.origin}; Pith does not send your request there`,
            'name that address, if you trust it',
          );
        url = next;
      }
    }
  };
}

/** As `publicAddresses`. */
export async function publicAddressesOf(host: string, signal: AbortSignal = new AbortController().signal): Promise<readonly string[]> {
  const plain = bare(host);
  return publicOf(plain, await untilAborted(resolved(plain), signal));
}

/**
 * Global unicast. ipaddr.js knows the special ranges, also IPv4 addresses within IPv6. Of IPv6 only 2000::/3 is assigned, so all else
 * counts as not public.
 */
export function isPublic(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' ? address !== AZURE : (parsed as ipaddr.IPv6).match(ipaddr.IPv6.parse('2000::'), 3);
}

/** A public address that on a virtual machine reaches its host, which hands out credentials. */
const AZURE = '168.63.129.16';

interface Way {
  /** The addresses for the connection; empty where a proxy resolves the name. */
  readonly addresses: readonly string[];
  /** Only these addresses may be connected to, by us or by the proxy. */
  readonly isChecked: boolean;
  readonly proxy: Proxy | null;
}

/**
 * Decides by the resolved addresses, not by names and spellings. A proxy gets the checked address, and a name only where a person named it.
 */
async function wayTo(url: URL, { allowed, elsewhere, resolve, proxies }: Bounds): Promise<Way> {
  if (!/^https?:$/.test(url.protocol)) throw refused(`${url.protocol} is not http or https`, 'name an http or https address');
  if (url.username !== '' || url.password !== '')
    throw refused(`the address of ${url.host} contains a user's name or a password`, 'leave them out, and send them as a header');
  const host = bare(url.hostname);
  const isAllowed = allowed.has(url.origin);
  if (!isAllowed && elsewhere === 'refused')
    throw refused(`${url.origin} is not one of the addresses that are set`, 'if you trust it, set it as the address');
  const proxy = proxies === undefined ? null : proxyFor(url, proxies);
  if (isAllowed && proxy !== null) return { addresses: [], isChecked: false, proxy };
  const found = isIP(host) === 0 ? await resolve(host).catch((error: unknown) => unresolved(host, proxy, error)) : [host];
  return { addresses: isAllowed ? found : publicOf(host, found), isChecked: !isAllowed, proxy };
}

function unresolved(host: string, proxy: Proxy | null, error: unknown): never {
  if (proxy === null) throw error;
  throw refused(
    `${host} cannot be looked up on this machine, so nobody knows where the proxy ${proxy.host} would go`,
    'if you trust it, write the address into the settings',
  );
}

function publicOf(host: string, found: readonly string[]): readonly string[] {
  const open = found.filter(isPublic);
  if (open.length > 0) return open;
  const where = found.length === 1 && found[0] === host ? host : `${host} (${found.join(', ') || 'no address'})`;
  throw refused(`${where} is not on the public internet`, 'if it is meant, type the address yourself or write it into the settings');
}

async function resolved(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

function refused(why: string, cure: string): RequestFailed {
  return new RequestFailed('address_refused', why, cure);
}

function addressOf(text: string): URL {
  if (URL.canParse(text)) return new URL(text);
  throw refused('the request has no valid address', 'write it as https://host/path');
}

function askedOf({ method = 'GET', headers: given = {}, body = null }: OutgoingRequest): Asked {
  const headers = new Map([
    ['accept', '*/*'],
    ['accept-encoding', 'identity'],
    ['user-agent', 'pith'],
    ...Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const),
  ]);
  for (const name of OF_CONNECTIONS) headers.delete(name);
  return { method, headers, body };
}

function redirected(url: URL, location: string): URL {
  if (!URL.canParse(location, url.href)) throw refused(`${url.origin} redirects to something that is not an address`, 'tell its owner');
  const next = new URL(location, url);
  if (url.protocol === 'https:' && next.protocol === 'http:')
    throw refused(
      `${url.origin} redirects to ${next.origin}, where everybody on the way can read and change the answer`,
      'name an https address',
    );
  return next;
}

/** The request after a redirect, as browsers make it. */
function askedNext({ method, headers, body }: Asked, status: number, within: boolean): Asked {
  const reads = status === 303 ? method !== 'HEAD' : (status === 301 || status === 302) && method === 'POST';
  const kept = new Map([...headers].filter(([name]) => (within ? !(reads && name.startsWith('content-')) : HARMLESS.has(name))));
  return reads ? { method: 'GET', headers: kept, body: null } : { method, headers: kept, body };
}

/** Sends the request with these options. */
function connected(
  { headers: more, ...options }: RequestOptions,
  { method, headers, body }: Asked,
  silenceMs: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { request: ask } = options.protocol === 'https:' ? https : http;
    const request = ask({ ...options, method, headers: { ...Object.fromEntries(headers), ...(more as Record<string, string>) } });
    const stop = (): void => void request.destroy(new Error('it was stopped'));
    signal.addEventListener('abort', stop, { once: true });
    request.once('close', () => signal.removeEventListener('abort', stop));
    request.setTimeout(silenceMs, () =>
      request.destroy(Object.assign(new Error(`nothing came for ${silenceMs / 1000} s`), { code: 'ETIMEDOUT' })),
    );
    request.once('response', resolve);
    request.on('error', reject); // the response stream reports an error that comes after the answer
    request.end(body ?? undefined);
  });
}

/** Resolves every name to these addresses, whatever DNS answers by now. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const list = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all }, done) => {
    if (all) done(null, list);
    else done(null, list[0]?.address ?? '', list[0]?.family ?? 0);
  };
}

function answerOf(message: IncomingMessage, url: URL, { maxBytes }: Bounds, failureOf: (error: unknown) => unknown): OutgoingAnswer {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = message;
  const headers = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ''] as const] : []));
  const isEmpty = BODILESS.has(status);
  if (isEmpty) message.resume();
  const packing =
    headers
      .find(([name]) => name === 'content-encoding')?.[1]
      .trim()
      .toLowerCase() ?? '';
  const unpack = UNPACKED.get(packing)?.(); // no compression was asked for, but some servers compress anyway
  const source = unpack ?? message;
  if (unpack) pipeline(message, unpack, () => undefined); // the reader of the output gets the error
  source.on('error', () => undefined); // the reader gets the error
  const body = isEmpty ? null : bytesOf(source, maxBytes, failureOf);
  return {
    url: url.href,
    status,
    statusText,
    headers: unpack ? headers.filter(([name]) => name !== 'content-encoding' && name !== 'content-length') : headers,
    body,
    text: () => textOf(body),
    cancel: () => void source.destroy(),
  };
}

const { Z_SYNC_FLUSH: flush, BROTLI_OPERATION_FLUSH: brotliFlush } = zlib.constants;
const UNPACKED: ReadonlyMap<string, () => zlib.Gunzip | zlib.Inflate | zlib.BrotliDecompress> = new Map([
  ['gzip', () => zlib.createGunzip({ flush })],
  ['deflate', () => zlib.createInflate({ flush })],
  ['br', () => zlib.createBrotliDecompress({ flush: brotliFlush })],
]);

async function textOf(body: OutgoingAnswer['body']): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  return new TextDecoder().decode(Buffer.concat(chunks));
}

async function* bytesOf(source: Readable, maxBytes: number, failureOf: (error: unknown) => unknown): AsyncGenerator<Uint8Array> {
  let size = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new RequestFailed('limit_reached', `the answer has more than ${maxBytes} bytes`);
      yield chunk;
    }
  } catch (error) {
    source.destroy();
    throw failureOf(error);
  }
}
