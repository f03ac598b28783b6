import { printableLine } from '@pith/plain-text';
import { codeOf, messageOf, type Logger, PithError, type Remote } from 'pith';
import type { Credential } from './tokens.ts';
import type { Route, RouteAnswer, RouteProvider, RouteRequest } from './contract.ts';

/** Who answers a route. */
export interface Answerer {
  /** The extension; null: the listener itself. */
  readonly extensionId: string | null;
  answer(request: RouteRequest, sender: Sender): Promise<RouteAnswer>;
}

/** Who sent a request, as the listener itself needs it. */
export interface Sender {
  readonly credential: Credential | null;
  /** What counts as one client. */
  readonly network: string;
  /** Behind TLS, as a trusted proxy says. */
  readonly isSecure: boolean;
}

export interface RouteEntry {
  readonly route: Route;
  readonly segments: readonly Segment[];
  readonly by: Answerer;
}

/** A literal, or the name of a parameter. */
type Segment = { readonly literal: string } | { readonly name: string; readonly isRest: boolean };

export interface FoundRoute {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly by: Answerer;
}

/** The routes of all providers, by method and path. */
export class Routes {
  readonly #entries: readonly RouteEntry[];

  constructor(entries: readonly RouteEntry[]) {
    this.#entries = entries.toSorted(byPrecision);
  }

  /** The most literal route of this path; else the methods of those that fit, in the order of the alphabet. */
  find(method: string, segments: readonly string[]): FoundRoute | readonly string[] {
    const fitting = this.#entries.flatMap((entry) => {
      const params = paramsOf(entry.segments, segments);
      return params === null ? [] : [{ ...entry, params }];
    });
    const asked = method === 'HEAD' ? 'GET' : method;
    return fitting.find(({ route }) => route.method === asked) ?? [...new Set(fitting.map(({ route }) => route.method))].toSorted();
  }

  has(method: string, path: string): boolean {
    return this.#entries.some(({ route }) => route.method === method && route.path === path);
  }
}

/** The routes of all providers, kept until the list of providers or what one of them answers has changed. */
export class RouteTable {
  #kept: { readonly providers: string; readonly routes: Promise<Routes> } | null = null;
  /** By extension, what it said last. */
  readonly #said = new Map<string, readonly RouteEntry[]>();

  constructor(
    private readonly own: readonly RouteEntry[],
    private readonly providers: () => readonly Remote<RouteProvider>[],
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  forget(): void {
    this.#kept = null;
  }

  current(): Promise<Routes> {
    const found = this.providers();
    const providers = found.map(({ extensionId }) => extensionId).join(' ');
    if (this.#kept?.providers === providers) return this.#kept.routes;
    const kept = { providers, routes: this.#collect(found, () => (this.#kept === kept ? this.forget() : undefined)) };
    this.#kept = kept;
    return kept.routes;
  }

  /** Of two equal routes the first is taken. A provider that fails costs only its own, and those that it had are out of reach; `incomplete` is called then. */
  async #collect(providers: readonly Remote<RouteProvider>[], incomplete: () => void): Promise<Routes> {
    const listed = await Promise.all(
      providers.map(async (provider) => (await this.#entriesOf(provider)) ?? (incomplete(), this.#outOfReach(provider))),
    );
    const taken = new Map(this.own.map((entry) => [shapeOf(entry), entry]));
    for (const entry of listed.flat()) {
      const first = taken.get(shapeOf(entry));
      const why = first === undefined ? whyUnusable(entry) : `${first.by.extensionId ?? 'http'} answers it already`;
      if (why === null) taken.set(shapeOf(entry), entry);
      else this.logger.warn('a route was left out', { extension: entry.by.extensionId, route: nameOf(entry.route), why });
    }
    return new Routes([...taken.values()]);
  }

  async #entriesOf(provider: Remote<RouteProvider>): Promise<readonly RouteEntry[] | null> {
    const { extensionId } = provider;
    const answer: Answerer['answer'] = async (request) => {
      try {
        return await provider.answer(request);
      } catch (error) {
        const isGone = codeOf(error, '') === 'provider_unavailable' && (await this.#entriesOf(provider)) === null;
        throw isGone ? outOfReach(extensionId) : error;
      }
    };
    try {
      const entries = (await provider.routes()).map((route) => entryOf(route, { extensionId, answer }));
      this.#said.set(extensionId, entries);
      return entries;
    } catch (error) {
      this.logger.warn('an extension does not say which requests it answers', { extension: extensionId, reason: messageOf(error) });
      return null;
    }
  }

  /** The routes of a provider that stops, or could not be started. */
  #outOfReach({ extensionId }: Pick<Remote<RouteProvider>, 'extensionId'>): readonly RouteEntry[] {
    const answer = (): Promise<RouteAnswer> => Promise.reject(outOfReach(extensionId));
    return (this.#said.get(extensionId) ?? []).map((entry) => ({ ...entry, by: { extensionId, answer } }));
  }
}

function outOfReach(extensionId: string): PithError {
  return new PithError('stopped', `'${extensionId}' does not answer now: it is stopping, or could not be started`, {
    retryAfterMs: RETRY_MS,
    cure: 'ask again in a moment',
  });
}

const RETRY_MS = 2000;

function entryOf(route: Route, by: Answerer): RouteEntry {
  return { route, segments: segmentsOf(route.path), by };
}

export function ownRoute(route: Route, answer: Answerer['answer']): RouteEntry {
  return entryOf(route, { extensionId: null, answer });
}

export function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

/**
 * The decoded segments of a path, the last one empty after a slash; null where two programs could read it as two paths: it has an empty
 * segment, `.`, `..`, a backslash or a character that nobody sees, also encoded.
 */
export function readPath(path: string): readonly string[] | null {
  if (!path.startsWith('/')) return null;
  const raw = path.slice(1).split('/');
  const segments = raw.map(decoded);
  const isPlain = (text: string | null, at: number): text is string =>
    text !== null &&
    !text.includes('\\') &&
    printableLine(text) === text &&
    ((text === '' && at === raw.length - 1) || !text.split('/').some((part) => /^\.{0,2}$/.test(part)));
  return segments.every(isPlain) ? segments : null;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null; // a percent sign that encodes nothing
  }
}

function segmentsOf(path: string): readonly Segment[] {
  return path
    .slice(1)
    .split('/')
    .map((text) => {
      const [, name, rest] = /^\{(\w+)(\.\.\.)?\}$/.exec(text) ?? [];
      return name === undefined ? { literal: text } : { name, isRest: rest !== undefined };
    });
}

/** null: the path is another one. */
function paramsOf(pattern: readonly Segment[], segments: readonly string[]): Readonly<Record<string, string>> | null {
  const params: Record<string, string> = {};
  const last = pattern.at(-1);
  const hasRest = last !== undefined && 'name' in last && last.isRest;
  if (hasRest ? segments.length < pattern.length : segments.length !== pattern.length) return null;
  for (const [at, segment] of pattern.entries()) {
    const text = segments[at] as string;
    if ('literal' in segment) {
      if (segment.literal !== text) return null;
    } else {
      const part = segment.isRest ? segments.slice(at) : [text];
      // An encoded slash in the rest would be another path once it is joined.
      if (part.includes('') || (segment.isRest && part.some((each) => each.includes('/')))) return null;
      params[segment.name] = part.join('/');
    }
  }
  return params;
}

/** Routes with the same shape fit the same paths. */
function shapeOf({ route, segments }: RouteEntry): string {
  return `${route.method} ${segments.map((each) => ('literal' in each ? `/${each.literal}` : each.isRest ? '/{...}' : '/{}')).join('')}`;
}

const rankOf = (segment: Segment | undefined): number => (segment === undefined ? 3 : 'literal' in segment ? 0 : segment.isRest ? 2 : 1);

/** Literals come before parameters, and these before the rest of a path, from the left. */
function byPrecision(a: RouteEntry, b: RouteEntry): number {
  for (let at = 0; at < Math.max(a.segments.length, b.segments.length); at += 1) {
    const difference = rankOf(a.segments[at]) - rankOf(b.segments[at]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function whyUnusable({ route, segments }: RouteEntry): string | null {
  if (!route.path.startsWith('/')) return 'its path does not begin with a slash';
  const names = segments.flatMap((segment) => ('name' in segment ? [segment.name] : []));
  if (new Set(names).size < names.length) return 'two of its parameters have one name';
  const restAt = segments.findIndex((segment) => 'name' in segment && segment.isRest);
  if (restAt !== -1 && restAt < segments.length - 1) return 'only the last parameter may be the rest of the path';
  return route.fromServers && route.need !== 'public' ? 'only public routes are for other servers' : null;
}
