import { underTraceparent } from '@pith/genai-spans';
import { isWithin } from '@pith/address-ranges';
import { fieldProblems } from '@pith/checked-yaml';
import { isBounded, keepNewest, sha256 } from '@pith/plain-data';
import { messageOf, type Clock, type Logger } from 'pith';
import { hasBody, type Incoming, readBody } from './body.ts';
import type { Config } from './config.ts';
import type { Caller, Need, Route, RouteAnswer, RouteRequest } from './contract.ts';
import { failure, failureOf, INTERNAL, inWordsOf, type RefusedAnswer, UNKNOWN } from './failures.ts';
import type { MinuteLimit } from './limits.ts';
import { type FoundRoute, nameOf, readPath, type RouteTable, type Sender } from './routing.ts';
import { clientAddress, isNamedOrigin, isServed, networkOf, refusedSite } from './safety.ts';
import type { Credential, Tokens } from './tokens.ts';

export interface RequestPorts {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error' | 'warn'>;
  readonly routes: RouteTable;
  readonly tokens: Tokens;
  readonly limits: Limits;
  /** The name of the cookie that carries a session. */
  readonly cookieName: string;
  /** Takes folders of this machine out of errors. */
  readonly hide: <T>(error: T) => T;
}

export interface Limits {
  readonly perUser: MinuteLimit;
  readonly perAddress: MinuteLimit;
  /** Wrong tokens, codes and sessions of one address. */
  readonly failures: MinuteLimit;
}

/** A request before anything of it is believed. */
interface UncheckedRequest extends Omit<Sender, 'credential'> {
  readonly method: string;
  readonly hostname: string;
  readonly host: string;
  readonly path: string;
  readonly search: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly address: string;
}

/** A request that may be answered. */
interface AdmittedRequest {
  readonly credential: Credential | null;
  readonly request: Omit<RouteRequest, 'caller'>;
}

const MOST_BYTES = 256 * 1024;
/** Many small values cost more time than their bytes suggest. */
const MOST_PARTS = { levels: 200, parts: 50_000 };
const JSON_TYPE = 'application/json';
/** Tokens and sessions that were valid: guesses from their address do not lock their owners out. */
const MOST_KNOWN = 1000;
/** Headers that carry a token or a session, which no extension needs. */
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'x-pith-page']);

/** Who deals with a request: the extension that answers it by a route, and the token or session that it was sent with. */
export interface RequestOwners {
  readonly extensionId: string | null;
  readonly route: string | null;
  readonly credentialId: string | null;
}

/** Decides about each request: who sends it, whether it may be sent, and who answers it. */
export class Requests {
  readonly #known = new Map<string, true>();

  constructor(private readonly ports: RequestPorts) {}

  /** `taken`: called before the extension is asked. */
  async answer(incoming: Incoming, signal: AbortSignal, taken: (by: RequestOwners) => void): Promise<RouteAnswer> {
    const arrival = arrivalOf(incoming, this.ports.config);
    const { origin } = arrival.headers;
    const answer = await this.#answer(incoming, arrival, signal, taken);
    if (origin === undefined || !isNamedOrigin(origin, this.ports.config.origins)) return answer;
    return {
      ...answer,
      headers: { ...answer.headers, 'access-control-allow-origin': origin, 'access-control-expose-headers': '*', vary: 'Origin' },
    };
  }

  async #answer(
    incoming: Incoming,
    arrival: UncheckedRequest,
    signal: AbortSignal,
    taken: (by: RequestOwners) => void,
  ): Promise<RouteAnswer> {
    const { config, routes, limits } = this.ports;
    const { method, hostname, path, network } = arrival;
    const reached = incoming.socket.localAddress ?? '';
    if (!isServed(hostname, reached, config)) return failure(421, 'host_unknown', 'this name is not served here');
    const segments = readPath(path);
    const found = segments === null ? null : (await routes.current()).find(method, segments);
    const route = found !== null && 'route' in found ? found.route : null;
    const wait = limits.perAddress.wait(network);
    limits.perAddress.count(network);
    if (wait !== null) return inWordsOf(route ?? {}, tooMany(wait, 'too many requests from this address'));
    const twice = sentTwice(incoming);
    if (twice !== undefined) return inWordsOf(route ?? {}, failure(400, 'headers_invalid', `the header '${twice}' was sent twice`));
    if (found === null) return failure(400, 'path_invalid', 'the path can be read in several ways');
    if (!('route' in found)) return this.#unrouted(arrival, found);
    const admitted = await this.#admitted(incoming, arrival, found, signal);
    if ('status' in admitted) return inWordsOf(found.route, admitted);
    const { credential, request } = admitted;
    taken({ extensionId: found.by.extensionId, route: nameOf(found.route), credentialId: credential?.id ?? null });
    return this.#ask(found, { ...request, caller: credential?.caller ?? null }, { ...arrival, credential });
  }

  /** Who sends it, and the request as its route states it; or why it is refused. */
  async #admitted(
    incoming: Incoming,
    arrival: UncheckedRequest,
    found: FoundRoute,
    signal: AbortSignal,
  ): Promise<AdmittedRequest | RefusedAnswer> {
    const { config } = this.ports;
    const { method, host, headers } = arrival;
    const { route } = found;
    const { origin, 'sec-fetch-site': fetchSite } = headers;
    const opensPage = route.need === 'public' && (method === 'GET' || method === 'HEAD');
    const why = route.fromServers ? null : refusedSite({ host, origin, fetchSite, opensPage }, config.origins);
    if (why !== null) return failure(403, 'not_allowed', why);
    const credential = route.fromServers ? null : await this.#credential(arrival, route.need);
    if (credential !== null && 'status' in credential) return credential;
    const refused = refusal(route.need, credential?.caller ?? null) ?? this.#overUser(credential);
    if (refused !== null) return refused;
    const request = await this.#read(incoming, arrival, found, signal);
    return 'status' in request ? request : { credential, request };
  }

  /** Nothing answers this method, or this path. */
  #unrouted({ method, headers }: UncheckedRequest, methods: readonly string[]): RouteAnswer {
    if (methods.length === 0) return UNKNOWN;
    const { origin } = headers;
    if (method === 'OPTIONS' && origin !== undefined && isNamedOrigin(origin, this.ports.config.origins))
      return {
        status: 204,
        headers: {
          'access-control-allow-methods': methods.join(', '),
          'access-control-allow-headers': headers['access-control-request-headers'] ?? '*',
          'access-control-max-age': '600',
        },
      };
    return failure(405, 'method_unknown', `use ${methods.join(' or ')}`, { headers: { allow: methods.join(', ') } });
  }

  /** null: there is no valid one. An answer: it may not even be looked at. */
  async #credential({ headers, network }: UncheckedRequest, need: Need): Promise<Credential | RefusedAnswer | null> {
    const { tokens, cookieName, limits } = this.ports;
    const { authorization, cookie = '', 'x-pith-page': page } = headers;
    const token = authorization === undefined ? null : (/^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '');
    const session = cookieIn(cookie, cookieName);
    const given = token ?? session;
    if (given === null) return null;
    const digest = sha256(given);
    const wait = need === 'public' || this.#known.has(digest) ? null : limits.failures.wait(network);
    if (wait !== null) return tooMany(wait, 'too many wrong tokens from this address');
    const found = token === null ? await tokens.ofSession(given, page ?? '') : await tokens.ofToken(given);
    if (found === 'outdated') return need === 'public' ? null : OUTDATED;
    if (found !== null) keepNewest(this.#known, digest, true, MOST_KNOWN);
    else if (need !== 'public') limits.failures.count(network);
    return found;
  }

  #overUser(credential: Credential | null): RefusedAnswer | null {
    if (credential === null) return null;
    const { perUser } = this.ports.limits;
    const { userId } = credential.caller;
    const wait = perUser.wait(userId);
    perUser.count(userId);
    return wait === null ? null : tooMany(wait, 'too many requests of this user');
  }

  /** The request as its route states it, or why it is not that. */
  async #read(
    incoming: Incoming,
    arrival: UncheckedRequest,
    { route, params }: FoundRoute,
    signal: AbortSignal,
  ): Promise<Omit<RouteRequest, 'caller'> | RefusedAnswer> {
    const { headers, path, search, address } = arrival;
    const isSent = hasBody(incoming);
    const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
    const why = isSent && route.fromServers !== true ? unreadable(headers) : null;
    if (why !== null) return failure(415, 'type_unknown', why);
    const isUpload = route.fromServers === true || (route.upload?.includes(type) ?? false);
    if (isSent && !isUpload && !(route.body !== undefined && type === JSON_TYPE)) return failure(415, 'type_unknown', whatIsTaken(route));
    const bytes = isSent ? await readBody(incoming, route.mostBytes ?? MOST_BYTES, this.ports.clock) : new Uint8Array();
    if (bytes === 'too large') return failure(413, 'body_too_large', `the body is longer than ${route.mostBytes ?? MOST_BYTES} bytes`);
    if (bytes === 'late' || bytes === 'gone')
      return failure(408, 'body_late', 'the body did not arrive', { headers: { connection: 'close' } });
    const query = checked(route.query, queryOf(search), 'query');
    if ('status' in query) return query;
    const json = isUpload || route.body === undefined ? { value: undefined } : jsonIn(bytes);
    if (!isBounded(json?.value, MOST_PARTS))
      return failure(
        413,
        'body_too_large',
        `the body has more than ${MOST_PARTS.parts} values, or is nested more than ${MOST_PARTS.levels} levels deep`,
      );
    const body =
      json === null
        ? failure(400, 'body_invalid', 'the body is not JSON in UTF-8')
        : isUpload
          ? json
          : checked(route.body, json.value, 'body');
    if ('status' in body) return body;
    const shown = route.fromServers ? headers : Object.fromEntries(Object.entries(headers).filter(([name]) => !SECRET_HEADERS.has(name)));
    return {
      route: nameOf(route),
      path,
      params,
      query: query.value as Readonly<Record<string, unknown>>,
      headers: shown,
      ...(body.value === undefined ? {} : { body: body.value }),
      bytes: isUpload ? bytes : new Uint8Array(),
      address,
      signal,
    };
  }

  async #ask(found: FoundRoute, request: RouteRequest, sender: Sender): Promise<RouteAnswer> {
    return this.#hidden(await this.#asked(found, request, sender));
  }

  /** What it says of a failure, also at the end of a stream, has no path of this machine. */
  #hidden(answer: RouteAnswer): RouteAnswer {
    const { hide } = this.ports;
    const { status, json, failed } = answer;
    const end = failed && { failed: (error: unknown) => Buffer.from(hide(Buffer.from(failed(error)).toString())) };
    return { ...answer, ...(status >= 400 && json !== undefined && { json: hide(json) }), ...end };
  }

  async #asked({ by, route }: FoundRoute, request: RouteRequest, sender: Sender): Promise<RouteAnswer> {
    const { logger } = this.ports;
    try {
      return await underTraceparent(request.headers['traceparent'], () => by.answer(request, sender));
    } catch (error) {
      const known = failureOf(error);
      if (known !== null) return inWordsOf(route, known);
      if (!request.signal.aborted)
        logger.error('a request was not answered', { extension: by.extensionId ?? 'http', route: nameOf(route), reason: messageOf(error) });
      return inWordsOf(route, INTERNAL);
    }
  }
}

export function tooMany(seconds: number, why: string): RefusedAnswer {
  return failure(429, 'limit_reached', why, { headers: { 'retry-after': String(seconds) } });
}

function arrivalOf({ method = 'GET', url = '', headers: given, socket }: Incoming, config: Config): UncheckedRequest {
  const headers = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'string' ? value : value.join(', ')]],
    ),
  );
  const base = url.startsWith('/') ? `http://${headers['host'] ?? ''}` : url;
  const { hostname = '', host = '', pathname = '', search = '' } = URL.canParse(base) ? new URL(base) : {};
  const [ownPath = '', ...ownSearch] = url.split('?');
  const peer = socket.remoteAddress ?? '';
  const address = clientAddress(peer, headers['x-forwarded-for'], config.trusted_proxies);
  const isAbsolute = !url.startsWith('/');
  return {
    method,
    hostname,
    host,
    path: isAbsolute ? pathname : ownPath,
    search: isAbsolute ? search : ownSearch.join('?'),
    headers,
    address,
    network: networkOf(address),
    isSecure: isWithin(peer, config.trusted_proxies) && headers['x-forwarded-proto'] === 'https',
  };
}

const OUTDATED = failure(401, 'token_outdated', 'whose token this is has become an administrator since it was made', {
  cure: 'make a new one: pith tokens new',
  headers: { 'www-authenticate': 'Bearer' },
});

const RANKS: Readonly<Record<Caller['may'], number>> = { chat: 0, approve: 1, admin: 2 };

/** Why this caller may not call such a route; null: it may. */
function refusal(need: Need, caller: Caller | null): RefusedAnswer | null {
  if (need === 'public') return null;
  if (caller === null)
    return failure(401, 'token_needed', 'this needs a valid token', { cure: 'pith tokens new', headers: { 'www-authenticate': 'Bearer' } });
  const needed = need === 'user' ? 0 : RANKS[need];
  const isEnough = RANKS[caller.may] >= needed && (need !== 'admin' || caller.role === 'admin');
  return isEnough
    ? null
    : failure(403, 'not_allowed', `this needs a token that may ${need === 'admin' ? 'administer' : 'answer questions'}`, {
        cure: `pith tokens new --may ${need}`,
      });
}

function cookieIn(header: string, name: string): string | null {
  const pairs = header.split(';').map((each) => each.trim());
  return pairs.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
}

/** Headers that say who asks, where and how: of two, another program could have read the other one. */
const ONCE: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'x-pith-page',
  'origin',
  'sec-fetch-site',
  'content-type',
  'content-encoding',
]);

function sentTwice({ rawHeaders }: Incoming): string | undefined {
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  return names.find((name, at) => ONCE.has(name) && names.indexOf(name) < at);
}

/** Why a body is not read as its type says; null: it is. */
function unreadable(headers: Readonly<Record<string, string>>): string | null {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') return 'the body must not be compressed';
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/iu.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  return /^utf-?8$/iu.test(charset) ? null : 'the body must be in UTF-8';
}

function whatIsTaken({ body, upload = [] }: Route): string {
  const types = [...(body === undefined ? [] : [JSON_TYPE]), ...upload];
  return types.length === 0 ? 'this takes no body' : `the body must be ${types.join(' or ')}`;
}

/** null: not JSON. Without bytes, there is no value. */
function jsonIn(bytes: Uint8Array): { readonly value: unknown } | null {
  if (bytes.length === 0) return { value: undefined };
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown };
  } catch {
    return null; // neither JSON nor UTF-8, perhaps
  }
}

/** A name that comes several times has all its values. */
function queryOf(search: string): Readonly<Record<string, string | readonly string[]>> {
  const given = new URLSearchParams(search);
  return Object.fromEntries(
    [...new Set(given.keys())].map((name) => {
      const [first = '', ...more] = given.getAll(name);
      return [name, more.length > 0 ? [first, ...more] : first];
    }),
  );
}

/** The path of the first text or name with a NUL, at which texts of a database end; null: there is none. */
function nulIn(value: unknown): readonly (string | number)[] | null {
  if (typeof value === 'string') return value.includes('\0') ? [] : null;
  if (Array.isArray(value)) return firstOf(value.entries());
  return typeof value === 'object' && value !== null ? firstOf(Object.entries(value)) : null;
}

function firstOf(entries: Iterable<readonly [string | number, unknown]>): readonly (string | number)[] | null {
  for (const [name, each] of entries) {
    if (String(name).includes('\0')) return [String(name).replaceAll('\0', '\u2400')];
    const below = nulIn(each);
    if (below !== null) return [name, ...below];
  }
  return null;
}

/** The value as its schema gives it, or the answer that says where it is wrong. */
function checked(schema: Route['body'], value: unknown, what: 'body' | 'query'): { readonly value: unknown } | RefusedAnswer {
  const nul = nulIn(value);
  if (nul !== null) {
    const message = 'has a character U+0000';
    return failure(400, `${what}_invalid`, `${[what, ...nul].join('.')}: ${message}`, { problems: [{ path: nul, message }] });
  }
  if (schema === undefined) return { value };
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return { value: data };
  const problems = fieldProblems(error.issues, schema, value);
  const places = problems.slice(0, 3).map(({ path, message }) => `${[what, ...path].join('.')}: ${message}`);
  return failure(400, `${what}_invalid`, places.join('; '), { problems });
}
