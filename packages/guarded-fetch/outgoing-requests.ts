import { lookup } from 'node:dns/promises';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import zlib from 'node:zlib';
import ipaddr from 'ipaddr.js';

/** What one `guardedFetch` may reach, and its bounds. */
export interface OutgoingOptions {
  /**
   * Origins (scheme, host, port) that a person named: typed, or written into settings that are theirs or trusted. Only these may have
   * addresses that are not public. An address counts as its origin.
   */
  readonly allow?: readonly string[];
  /** `refused`: nothing but `allow` is asked, also where a redirect leads elsewhere. Default `public`. */
  readonly elsewhere?: 'public' | 'refused';
  /** Default 5. */
  readonly maxRedirects?: number;
  /** Of one body, unpacked; default 64 MiB. */
  readonly maxBytes?: number;
  /** Until the answer has come whole; absent: as long as something comes. */
  readonly timeoutMs?: number;
  /** How long nothing at all may come, from connecting to the last byte; default five minutes. */
  readonly silenceMs?: number;
  /** The addresses of a name; for tests. Default the system's resolver. */
  resolve?(host: string): Promise<readonly string[]>;
}

/** Can be used wherever `fetch` can. */
export type GuardedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

const DEFAULTS = { elsewhere: 'public', maxRedirects: 5, maxBytes: 64 * 1024 * 1024, silenceMs: 300_000, resolve: resolved } as const;
/** An unused connection is kept for so long: servers close theirs after five seconds and more. */
const IDLE_MS = 4_000;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);
/** All that goes along to another origin. Whatever else a caller sends may be a credential. */
const HARMLESS: ReadonlySet<string> = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent']);
/** What belongs to a connection, not to a request. */
const OF_CONNECTIONS = ['connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

interface Asked {
  readonly method: string;
  readonly headers: Headers;
  readonly body: Buffer | null;
}

type Bounds = Required<Pick<OutgoingOptions, 'elsewhere' | 'maxRedirects' | 'maxBytes' | 'silenceMs'>> & {
  readonly allowed: ReadonlySet<string>;
  readonly timeoutMs: number | undefined;
  resolve(host: string): Promise<readonly string[]>;
};

/** As `guardedFetch`. Connections are kept by this guard alone: what one may reach, another may not. */
export function createGuard({ allow = [], timeoutMs, ...given }: OutgoingOptions): GuardedFetch {
  const bounds: Bounds = { ...DEFAULTS, ...given, timeoutMs, allowed: new Set(allow.map((address) => new URL(address).origin)) };
  const agents = {
    'http:': new http.Agent({ keepAlive: true, timeout: IDLE_MS }),
    'https:': new https.Agent({ keepAlive: true, timeout: IDLE_MS }),
  };
  return async (input, init) => {
    const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    const given = init?.signal ?? (input instanceof Request ? input.signal : undefined);
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
      const { url, message } = await follow(addressOf(input), await askedOf(input, init), init?.redirect ?? 'follow');
      return responseOf(message, url, bounds, (error) => failureOf(error, 'terminated'));
    } catch (error) {
      throw failureOf(error, 'fetch failed');
    }

    async function follow(
      url: URL,
      asked: Asked,
      redirect: NonNullable<RequestInit['redirect']>,
    ): Promise<{ readonly url: URL; readonly message: IncomingMessage }> {
      for (let hops = 0; ; hops += 1) {
        const addresses = await orAborted(reachable(url, bounds), signal);
        const message = await connected(
          url,
          asked,
          { addresses, agent: agents[url.protocol as 'http:'], silenceMs: bounds.silenceMs },
          signal,
        );
        const { location } = message.headers;
        if (redirect === 'manual' || location === undefined || !REDIRECTS.has(message.statusCode ?? 0)) return { url, message };
        message.destroy(); // a redirect may have an endless body
        if (redirect === 'error')
          throw refused(`${url.origin} answers with a redirect, which Pith does not follow here`, 'name the address that it leads to');
        if (hops === bounds.maxRedirects)
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
  return publicOf(plain, await orAborted(resolved(plain), signal));
}

/**
 * Global unicast. ipaddr.js knows what is special, also what stands for an address of IPv4 within one of IPv6; of IPv6 only 2000::/3 is
 * given to anybody, so that ranges which nobody knows yet are not public.
 */
export function isPublic(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' ? address !== AZURE : (parsed as ipaddr.IPv6).match(ipaddr.IPv6.parse('2000::'), 3);
}

/** Global by its number, and yet the host of a virtual machine, which hands out its credentials. */
const AZURE = '168.63.129.16';

/** Where a connection may go. Names and spellings do not matter: an address is what is resolved. */
async function reachable(url: URL, { allowed, elsewhere, resolve }: Bounds): Promise<readonly string[]> {
  if (!/^https?:$/.test(url.protocol)) throw refused(`${url.protocol} is not http or https`, 'name an http or https address');
  if (url.username !== '' || url.password !== '')
    throw refused(`the address of ${url.host} contains a user's name or a password`, 'leave them out, and send them as a header');
  const host = bare(url.hostname);
  const isAllowed = allowed.has(url.origin);
  if (!isAllowed && elsewhere === 'refused')
    throw refused(`${url.origin} is none of the addresses that are set`, 'if you trust it, set it as the address');
  const found = isIP(host) === 0 ? await resolve(host) : [host];
  return isAllowed ? found : publicOf(host, found);
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

/** `address_refused` or `limit_reached`, with what to do about it where something can be done. */
class RequestFailed extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly cure?: string,
    readonly retryable = false,
  ) {
    super(message);
  }
}

function refused(why: string, cure: string): RequestFailed {
  return new RequestFailed('address_refused', why, cure);
}

function addressOf(input: string | URL | Request): URL {
  const text = input instanceof Request ? input.url : String(input);
  if (URL.canParse(text)) return new URL(text);
  throw refused('what is to be asked is no address', 'write it as https://host/path');
}

/** The body is read whole: a redirect may want it again. */
async function askedOf(input: string | URL | Request, init: RequestInit = {}): Promise<Asked> {
  const { signal: _, redirect: __, ...rest } = init;
  // Of the address only Request's own rules matter here; it would refuse, and repeat, one with a password.
  const request = new Request(input instanceof Request ? input : 'http://localhost/', rest);
  const headers = new Headers(request.headers);
  for (const name of OF_CONNECTIONS) headers.delete(name);
  for (const [name, value] of [
    ['accept', '*/*'],
    ['accept-encoding', 'identity'],
    ['user-agent', 'pith'],
  ] as const)
    if (!headers.has(name)) headers.set(name, value);
  return { method: request.method, headers, body: request.body === null ? null : Buffer.from(await request.arrayBuffer()) };
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

/** What a redirect makes of a request, as browsers do it. */
function askedNext({ method, headers, body }: Asked, status: number, within: boolean): Asked {
  const reads = status === 303 ? method !== 'HEAD' : (status === 301 || status === 302) && method === 'POST';
  const kept = new Headers();
  headers.forEach((value, name) => {
    if (within ? !(reads && name.startsWith('content-')) : HARMLESS.has(name)) kept.set(name, value);
  });
  return reads ? { method: 'GET', headers: kept, body: null } : { method, headers: kept, body };
}

interface Route {
  readonly addresses: readonly string[];
  readonly agent: http.Agent;
  readonly silenceMs: number;
}

/** Connects to one of these addresses, whatever the name may resolve to by now. */
function connected(
  url: URL,
  { method, headers, body }: Asked,
  { addresses, agent, silenceMs }: Route,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { request: ask } = url.protocol === 'https:' ? https : http;
    const request = ask({ ...urlToHttpOptions(url), method, headers: Object.fromEntries(headers), agent, lookup: pinnedTo(addresses) });
    const stop = (): void => void request.destroy(new Error('it was stopped'));
    signal.addEventListener('abort', stop, { once: true });
    request.once('close', () => signal.removeEventListener('abort', stop));
    request.setTimeout(silenceMs, () =>
      request.destroy(Object.assign(new Error(`nothing came for ${silenceMs / 1000} s`), { code: 'ETIMEDOUT' })),
    );
    request.once('response', resolve);
    request.on('error', reject); // one that comes after the answer is reported by its stream
    request.end(body ?? undefined);
  });
}

function pinnedTo(addresses: readonly string[]): LookupFunction {
  const list = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all }, done) => {
    if (all) done(null, list);
    else done(null, list[0]?.address ?? '', list[0]?.family ?? 0);
  };
}

function responseOf(message: IncomingMessage, url: URL, { maxBytes }: Bounds, failureOf: (error: unknown) => unknown): Response {
  const headers = new Headers();
  for (let at = 0; at < message.rawHeaders.length; at += 2) headers.append(message.rawHeaders[at] ?? '', message.rawHeaders[at + 1] ?? '');
  const body = unpacked(message, headers);
  body.on('error', () => undefined); // the reader gets it, whenever it comes
  try {
    const { statusCode: status = 0, statusMessage: statusText = '' } = message;
    const isEmpty = BODILESS.has(status);
    if (isEmpty) message.resume();
    const response = new Response(isEmpty ? null : streamOf(body, maxBytes, failureOf), { status, statusText, headers });
    return Object.defineProperty(response, 'url', { value: url.href });
  } catch (error) {
    message.destroy(); // a status or a header that there is not
    throw error;
  }
}

/** Nothing packed was asked for; some servers pack all the same. */
function unpacked(message: IncomingMessage, headers: Headers): Readable {
  const packing = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  const unpack = UNPACKED.get(packing)?.();
  if (unpack === undefined) return message;
  headers.delete('content-encoding');
  headers.delete('content-length');
  pipeline(message, unpack, () => undefined); // the reader of the output gets it
  return unpack;
}

const { Z_SYNC_FLUSH: flush, BROTLI_OPERATION_FLUSH: brotliFlush } = zlib.constants;
const UNPACKED: ReadonlyMap<string, () => zlib.Gunzip | zlib.Inflate | zlib.BrotliDecompress> = new Map([
  ['gzip', () => zlib.createGunzip({ flush })],
  ['deflate', () => zlib.createInflate({ flush })],
  ['br', () => zlib.createBrotliDecompress({ flush: brotliFlush })],
]);

function streamOf(source: Readable, maxBytes: number, failureOf: (error: unknown) => unknown): ReadableStream<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let size = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (done) return controller.close();
          size += value.length;
          if (size > maxBytes) throw new RequestFailed('limit_reached', `the answer has more than ${maxBytes} bytes`);
          controller.enqueue(value);
        } catch (error) {
          source.destroy();
          controller.error(failureOf(error));
        }
      },
      cancel: () => void source.destroy(),
    },
    { highWaterMark: 0 },
  );
}

/** A resolver cannot be stopped; whoever waits for it can. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
