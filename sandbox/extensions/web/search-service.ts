import { type ExtensionContext, messageOf, PithError } from 'pith';
import { guardedFetch, type OutgoingOptions } from '@pith/guarded-fetch';
import { printableLine } from '@pith/plain-text';
import { fieldsOf } from '@pith/plain-data';
import type { Config } from './config.ts';

export interface FoundPage {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/** A configured web search service. */
export interface SearchService {
  readonly id: ServiceId;
  readonly name: string;
  /** Without a path. */
  readonly host: string;
  /** At most `count` pages. Rejects with an error that has a cure. */
  search(query: string, count: number, signal?: AbortSignal): Promise<readonly FoundPage[]>;
}

type ServiceId = 'brave' | 'tavily' | 'searxng';
type GetSecret = ExtensionContext['getSecret'];
type SecretUse = NonNullable<Parameters<GetSecret>[1]>;

/** The request format of one kind of service, and the fields of its answer. */
interface Manner {
  readonly name: string;
  /** null: everybody who runs one has their own address. */
  readonly address: string | null;
  readonly keyName: string | null;
  request(base: string, query: { readonly text: string; readonly count: number }, key: string): readonly [URL, RequestInit];
  found(body: unknown): unknown;
  /** The field of a result with its text. */
  readonly snippet: 'description' | 'content';
}

const MANNERS: Readonly<Record<ServiceId, Manner>> = {
  searxng: {
    name: 'SearXNG',
    address: null,
    keyName: null,
    request: (base, { text }) => [withQuery(`${base}/search`, { q: text, format: 'json' }), {}],
    found: (body) => fieldsOf(body)['results'],
    snippet: 'content',
  },
  brave: {
    name: 'Brave Search',
    address: 'https://api.search.brave.com',
    keyName: 'BRAVE_API_KEY',
    request: (base, { text, count }, key) => [
      withQuery(`${base}/res/v1/web/search`, { q: text, count: String(count) }),
      { headers: { accept: 'application/json', 'x-subscription-token': key } },
    ],
    found: (body) => fieldsOf(fieldsOf(body)['web'])['results'],
    snippet: 'description',
  },
  tavily: {
    name: 'Tavily',
    address: 'https://api.tavily.com',
    keyName: 'TAVILY_API_KEY',
    request: (base, { text, count }, key) => [
      new URL(`${base}/search`),
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ query: text, max_results: count }),
      },
    ],
    found: (body) => fieldsOf(body)['results'],
    snippet: 'content',
  },
};
const ORDER: readonly ServiceId[] = ['searxng', 'brave', 'tavily'];

const TIMEOUT_MS = 15_000;
const MOST_BYTES = 2 * 1024 * 1024;
const LONGEST = { title: 200, url: 1000, snippet: 500 };

/** The service in use; null: none is set up. Throws `secret_not_given` where a key was stored for another recipient. */
export function searchService(config: Config, getSecret: GetSecret): SearchService | null {
  for (const id of config.search === undefined ? ORDER : ORDER.filter((one) => one === config.search)) {
    const place = placeOf(id, config);
    if (place === null) continue;
    const { keyName } = MANNERS[id];
    const key = keyName === null ? '' : getSecret(keyName, place);
    if (key !== null) return serviceOf(id, place.to, key, (name) => getSecret(name));
  }
  return null;
}

/** The addresses that get the keys. */
export function searchSecrets(config: Config): readonly { readonly name: string; readonly use: SecretUse }[] {
  return ORDER.flatMap((id) => {
    const { keyName } = MANNERS[id];
    const use = placeOf(id, config);
    return keyName === null || use === null ? [] : [{ name: keyName, use }];
  });
}

function placeOf(id: ServiceId, { searxng_url: own, base_url: other }: Config): SecretUse | null {
  const { address } = MANNERS[id];
  if (address === null) return own === undefined ? null : { part: id, to: own };
  const to = other ?? address;
  return { part: id, to, isDefault: new URL(to).origin === address };
}

function serviceOf(id: ServiceId, address: string, key: string, proxies: NonNullable<OutgoingOptions['proxies']>): SearchService {
  const manner = MANNERS[id];
  const base = address.replace(/\/+$/, '');
  const { host } = new URL(base);
  const fetch = guardedFetch({ allow: [base], elsewhere: 'refused', proxies, timeoutMs: TIMEOUT_MS, maxBytes: MOST_BYTES });

  async function answerTo(text: string, count: number, signal?: AbortSignal): Promise<unknown> {
    const [url, init] = manner.request(base, { text, count }, key);
    let answer: Response;
    try {
      answer = await fetch(url, { ...init, ...(signal && { signal }) });
      if (answer.ok) return JSON.parse(await answer.text());
      await answer.body?.cancel();
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof SyntaxError) throw noJson(manner, host);
      const why = printableLine(messageOf(error instanceof TypeError ? (error.cause ?? error) : error), 300);
      throw new PithError('web_failed', `${manner.name} at ${host} cannot be asked: ${why}`, { cure: 'check the connection' });
    }
    throw refusal(answer.status, manner, host);
  }

  return {
    id,
    name: manner.name,
    host,
    async search(query, count, signal) {
      const found = manner.found(await answerTo(query, count, signal));
      return (Array.isArray(found) ? found : []).flatMap((result) => foundPage(result, manner.snippet)).slice(0, count);
    },
  };
}

function refusal(status: number, manner: Manner, host: string): PithError {
  const { name, keyName } = manner;
  if (keyName === null && status === 403) return noJson(manner, host);
  if (keyName !== null && (status === 401 || status === 403 || status === 422))
    return new PithError('web_failed', `${name} refused the key in ${keyName} or the request (${status})`, {
      cure: `set a valid key: pith secrets set ${keyName}`,
    });
  if (status === 429 || status === 432 || status === 433)
    return new PithError('web_failed', `${name} has reached its request limit (${status})`, {
      cure: 'wait, or see what your plan allows',
    });
  return new PithError('web_failed', `${name} at ${host} answered ${status}`, { cure: 'try later' });
}

function noJson({ name, keyName }: Manner, host: string): PithError {
  const cure = keyName === null ? "add json to 'search: formats:' in the server's settings.yml" : 'check extensions.web.base_url';
  return new PithError('web_failed', `${name} at ${host} does not answer in JSON`, { cure });
}

function foundPage(result: unknown, snippet: Manner['snippet']): readonly FoundPage[] {
  const { title, url, [snippet]: text } = fieldsOf(result);
  if (typeof url !== 'string' || url.length > LONGEST.url || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return [];
  return [{ title: plain(title, LONGEST.title), url: new URL(url).href, snippet: plain(text, LONGEST.snippet) }];
}

/** Services mark the searched words with tags. */
function plain(text: unknown, most: number): string {
  if (typeof text !== 'string') return '';
  const bare = text
    .slice(0, 4 * most)
    .replace(/<\/?[a-z][^<>]{0,100}>/gi, '')
    .replace(/&(#?\w{1,8});/g, characterOf);
  return printableLine(bare.replace(/\s+/g, ' ').trim(), most);
}

function characterOf(entity: string, name: string): string {
  const known = new Map([
    ['amp', '&'],
    ['lt', '<'],
    ['gt', '>'],
    ['quot', '"'],
    ['apos', "'"],
    ['nbsp', ' '],
    ['#39', "'"],
    ['#x27', "'"],
  ]);
  return known.get(name.toLowerCase()) ?? entity;
}

function withQuery(address: string, values: Readonly<Record<string, string>>): URL {
  const url = new URL(address);
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
  return url;
}
