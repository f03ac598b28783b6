import http, { type IncomingMessage, type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { PithError } from 'pith';
import { guardedFetch, isListening, publicAddresses, type OutgoingOptions } from '@pith/guarded-fetch';
import { isPublic } from '../../../packages/guarded-fetch/outgoing-requests.ts';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { serverOf } from '../../places.ts';
import { words } from '../../words.ts';

const PUBLIC = '93.184.215.14';
const OTHER = '203.1.2.3';

afterEach(() => vi.restoreAllMocks());

/** The port of a server on this machine. */
const serve = async (answer: RequestListener) => Number(new URL(await serverOf(answer)).port);

/** A network of its own: which server stands at an address. What is connected to is written down. */
function internet(places: Readonly<Record<string, number>>): string[] {
  const reached: string[] = [];
  vi.spyOn(http.Agent.prototype as unknown as { createConnection(options: Connecting): Socket }, 'createConnection').mockImplementation(
    (options) => {
      const host = options.hostname ?? options.host;
      options.lookup(host, { all: true }, (_error, found) => reached.push(...found.map(({ address }) => address)));
      const address = /^[\d.]+$/.test(host) ? host : reached.at(-1)!;
      return connect(places[address] ?? 1, '127.0.0.1');
    },
  );
  return reached;
}
interface Connecting {
  readonly host: string;
  readonly hostname?: string;
  lookup(host: string, options: object, done: (error: null, found: readonly { readonly address: string }[]) => void): void;
}

const names = (table: Readonly<Record<string, readonly string[]>>): Pick<OutgoingOptions, 'resolve'> => ({
  resolve: async (host) => table[host] ?? [],
});
const refused = (url: string, options: OutgoingOptions = {}) =>
  guardedFetch(options)(url).then(
    async (answer) => `answered ${answer.status}`,
    (error: unknown) => (error instanceof PithError ? error.code : `tried: ${String(error)}`),
  );

/** Spellings as they stand in an address; each leads to this machine, its network or its neighbours: IPv4, IPv6, and IPv4 within IPv6. */
const HOSTILE = words(`
  127.0.0.1 127.1 127.0.1 127.255.255.254 0.0.0.0 0 0.1.2.3 0x0 2130706433 0x7f000001 0x7f.1 0x7F.0.0.1 0177.0.0.1
  017700000001 127.0.0.1. 127%2e0%2e0%2e1 １２７.０.０.１ ①②⑦.0.0.1 127。0。0。1 0x7f.0x0.0x0.0x1 0300.0250.1.1 3232235777 10.0.0.1
  10.255.255.255 167772161 172.16.0.1 172.31.255.255 192.168.1.1 0xc0a80101 169.254.169.254 0xa9fea9fe 2852039166
  0251.0376.0251.0376 169.254.170.2 168.63.129.16 100.64.0.1 100.100.100.200 100.127.255.255 192.0.0.192 192.0.2.1
  198.51.100.7 203.0.113.9 198.18.0.1 198.19.255.255 192.88.99.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
  [::] [::1] [0:0:0:0:0:0:0:1] [0000::0001] [fe80::1] [febf::1] [fec0::1] [fc00::1] [fd00:ec2::254] [ff02::1] [ff0e::1]
  [100::1] [2001:db8::1] [3fff::1] [5f00::1] [2001::1] [2001:2::1] [2001:10::1]
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:8.8.8.8] [::FFFF:169.254.169.254] [::ffff:0:127.0.0.1] [::127.0.0.1] [::7f00:1]
  [64:ff9b::127.0.0.1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::1] [2002:7f00:1::] [2002:a9fe:a9fe::1]
  [2001:0:4136:e378:8000:63bf:3fff:fdd2] [4000::1] [8000::1] [e000::1]
`);

describe('what is not the public internet', () => {
  it(`T17 has ${HOSTILE.length} spellings here, at least sixty`, () => expect(new Set(HOSTILE).size).toBeGreaterThanOrEqual(60));

  it.each(HOSTILE)('T17 an address that is written as %s is refused before anything is connected', async (host) => {
    const reached = internet({});
    expect(await refused(`http://${host}:8080/latest/meta-data/`)).toBe('address_refused');
    expect(reached).toEqual([]);
  });

  it.each(HOSTILE.map((host) => new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, '')))(
    'T17 a name that leads to %s is refused',
    async (address) => {
      const reached = internet({});
      expect(isPublic(address)).toBe(false);
      expect(await refused('https://innocent.example/', names({ 'innocent.example': [address] }))).toBe('address_refused');
      expect(reached).toEqual([]);
    },
  );

  it.each([
    PUBLIC,
    OTHER,
    ...words('1.1.1.1 8.8.8.8 172.15.0.1 172.32.0.1 100.63.255.255 2606:4700::1111 2a00:1450::1 2001:4860:4860::8888'),
  ])('T17 %s is public', (address) => expect(isPublic(address)).toBe(true));

  it.each(['', 'localhost', '1.2.3', '1.2.3.4.5', '0x1.2.3.4', 'fe80::1%eth0', '2606:4700::1111%lo', '[::1]'])(
    'T17 %j is no public address, for it is none that a resolver gives',
    (address) => expect(isPublic(address)).toBe(false),
  );

  it('T17 the names of this machine are refused, whatever its resolver says', async () => {
    expect([await refused('http://localhost:1/'), await refused('http://LOCALHOST:2/')]).toEqual(['address_refused', 'address_refused']);
    const cure = expect.stringContaining('settings') as string;
    await expect(publicAddresses('localhost')).rejects.toMatchObject({ code: 'address_refused', cure });
    await expect(publicAddresses('[::1]')).rejects.toMatchObject({ code: 'address_refused' });
    expect(await publicAddresses('1.1.1.1')).toEqual(['1.1.1.1']);
  });

  const UNASKED = words(
    'ftp://1.1.1.1/ file:///etc/passwd gopher://1.1.1.1/ data:text/plain,x http://ada:Pa55@1.1.1.1/ http://ada@1.1.1.1/',
  );
  it.each(['no address', ...UNASKED])('T17 %s is not asked', async (url) => {
    const error = await guardedFetch()(url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'address_refused' });
    expect(String(error)).not.toContain('Pa55');
  });
});

describe('what a person named', () => {
  it('T17 is asked wherever it lies, and nothing but that very origin', async () => {
    const port = await serve((_request, response) => void response.end('here'));
    const fetch = guardedFetch({ allow: [`http://127.0.0.1:${port}/v1`] });
    expect(await (await fetch(`http://127.0.0.1:${port}/other`)).text()).toBe('here');
    const other = await serve((_request, response) => void response.end('not you'));
    const elsewhere = `http://127.0.0.1:${other}/ http://localhost:${port}/ http://127.0.0.2:${port}/ https://127.0.0.1:${port}/`;
    for (const url of words(elsewhere)) await expect(fetch(url)).rejects.toMatchObject({ code: 'address_refused' });
  });

  it('T17 can be all that is asked: also the public internet is refused then', async () => {
    const reached = internet({});
    const fetch = guardedFetch({ allow: ['https://api.example'], elsewhere: 'refused', ...names({ 'evil.example': [PUBLIC] }) });
    await expect(fetch('https://evil.example/')).rejects.toMatchObject({ code: 'address_refused' });
    expect(reached).toEqual([]);
  });

  it('T17 what one guard may reach, another may not, also while the connection is open', async () => {
    const port = await serve((_request, response) => void response.end('here'));
    const url = `http://127.0.0.1:${port}/`;
    await (await guardedFetch({ allow: [url] })(url)).text();
    await expect(guardedFetch()(url)).rejects.toMatchObject({ code: 'address_refused' });
  });
});

describe('a name whose answers change', () => {
  it('T17 is resolved once, and connected to at the address that was looked at', async () => {
    const port = await serve((_request, response) => void response.end('public'));
    const reached = internet({ [PUBLIC]: port });
    const answers = [[PUBLIC], ['127.0.0.1'], ['169.254.169.254']];
    let asked = 0;
    const fetch = guardedFetch({ resolve: async () => answers[asked++] ?? [] });
    expect(await (await fetch('http://rebind.example/')).text()).toBe('public');
    expect([asked, reached]).toEqual([1, [PUBLIC]]);
    await expect(fetch('http://rebind.example/')).rejects.toMatchObject({ code: 'address_refused' });
    expect(reached).toEqual([PUBLIC]);
  });

  it('T17 of several addresses only the public ones are connected to', async () => {
    const port = await serve((_request, response) => void response.end('public'));
    const reached = internet({ [PUBLIC]: port });
    const fetch = guardedFetch(names({ 'mixed.example': ['127.0.0.1', '::ffff:10.0.0.1', PUBLIC, '64:ff9b::1'] }));
    expect(await (await fetch('http://mixed.example/')).text()).toBe('public');
    expect(reached).toEqual([PUBLIC]);
  });
});

it('isListening tells an address where something listens from one where nothing does', async () => {
  const address = `http://127.0.0.1:${await serve(() => expect.unreachable())}/v1`;
  expect(await isListening(address)).toBe(true);
  expect(await isListening('http://127.0.0.1:1/v1')).toBe(false);
});

describe('a redirect', () => {
  const TABLE = names({ 'a.example': [PUBLIC], 'b.example': [OTHER], 'inside.example': ['10.1.2.3'] });
  const leading =
    (location: string, status = 302): RequestListener =>
    (_request, response) =>
      void response.writeHead(status, { location }).end();

  it.each(
    words(`
    http://127.0.0.1/ http://169.254.169.254/latest/meta-data/iam/ http://[::1]:6379/ http://inside.example/ //2130706433/
    file:///etc/passwd ftp://b.example/ http://ada:word@b.example/ http://
  `),
  )('T17 to %s is not followed', async (location) => {
    const reached = internet({ [PUBLIC]: await serve(leading(location)) });
    expect(await refused('http://a.example/', TABLE)).toBe('address_refused');
    expect(reached).toEqual([PUBLIC]);
  });

  it('T17 is looked at each time, and at most five are followed', async () => {
    let hops = 0;
    const port = await serve((_request, response) => void response.writeHead(302, { location: `/${(hops += 1)}` }).end());
    internet({ [PUBLIC]: port });
    expect(await refused('http://a.example/', TABLE)).toBe('address_refused');
    expect(hops).toBe(6);
    const third = await serve(leading('http://127.0.0.1:1/'));
    const second = await serve(leading('http://b.example/three'));
    vi.restoreAllMocks();
    const reached = internet({ [PUBLIC]: second, [OTHER]: third });
    expect(await refused('http://a.example/', TABLE)).toBe('address_refused');
    expect(reached).toEqual([PUBLIC, OTHER]);
  });

  it('T17 takes no credential, cookie or header of its own to another origin, and all of them within one', async () => {
    const seen: IncomingMessage['headers'][] = [];
    const b = await serve((request, response) => (seen.push(request.headers), void response.end('b')));
    const a = await serve((request, response) => {
      seen.push(request.headers);
      void response.writeHead(302, { location: request.url === '/' ? '/second' : 'http://b.example/' }).end();
    });
    internet({ [PUBLIC]: a, [OTHER]: b });
    const headers = {
      authorization: 'Bearer k',
      cookie: 'k',
      'x-api-key': 'k',
      'proxy-authorization': 'k',
      'x-team': 'blue',
      accept: 'text/plain',
    };
    const answer = await guardedFetch(TABLE)('http://a.example/', { headers });
    expect([await answer.text(), answer.url]).toEqual(['b', 'http://b.example/']);
    for (const within of seen.slice(0, 2)) expect(within).toMatchObject(headers);
    expect(Object.keys(seen[2]!).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
  });

  it('T17 takes no body to another origin; within one it becomes what browsers make of it', async () => {
    const seen: string[] = [];
    const port = await serve((request, response) => {
      const status = Number(request.url?.slice(1)) || 200;
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        seen.push(`${request.method} ${request.url} ${body}`);
        response.writeHead(status, status === 200 ? {} : { location: request.headers['x-to'] as string }).end();
      });
    });
    const reached = internet({ [PUBLIC]: port, [OTHER]: port });
    const post = (status: number, to: string) =>
      guardedFetch(TABLE)(`http://a.example/${status}`, { method: 'POST', body: 'text', headers: { 'x-to': to } });
    for (const status of [301, 302, 303, 307, 308]) expect((await post(status, '/')).status).toBe(200);
    expect(seen.filter((line) => line.includes(' / '))).toEqual(['GET / ', 'GET / ', 'GET / ', 'POST / text', 'POST / text']);
    await expect(post(307, 'http://b.example/')).rejects.toMatchObject({ code: 'address_refused' });
    expect(reached).not.toContain(OTHER);
  });

  it('T17 from https to http is refused, and a caller may follow none', async () => {
    const reached = internet({ [PUBLIC]: await serve(leading('http://b.example/')) });
    vi.spyOn(await import('node:https').then(({ default: https }) => https), 'request').mockImplementation(((
      options: http.RequestOptions,
    ) => http.request({ ...options, protocol: 'http:', agent: new http.Agent() })) as never);
    await expect(guardedFetch(TABLE)('https://a.example/')).rejects.toMatchObject({
      message: expect.stringContaining('everybody on the way can read'),
    });
    expect(reached).toEqual([PUBLIC]);
    await expect(guardedFetch(TABLE)('http://a.example/', { redirect: 'error' })).rejects.toMatchObject({ code: 'address_refused' });
    expect((await guardedFetch(TABLE)('http://a.example/', { redirect: 'manual' })).status).toBe(302);
  });
});

describe('the bounds of an answer', () => {
  const asked = async (answer: RequestListener, options: OutgoingOptions = {}, init?: RequestInit) => {
    const url = `http://127.0.0.1:${await serve(answer)}/`;
    return guardedFetch({ allow: [url], ...options })(url, init);
  };
  const drip: RequestListener = (_request, response) => {
    response.writeHead(200);
    const more = (): void => void (response.destroyed || (response.write('.'), setImmediate(more)));
    more();
  };

  it('T17 a body that is too long is cut, also where it was packed small', async () => {
    const endless: RequestListener = (_request, response) => {
      const more = (): void => void (response.destroyed || response.write(Buffer.alloc(65_536), more));
      more();
    };
    await expect(asked(endless, { maxBytes: 200_000 }).then((answer) => answer.text())).rejects.toMatchObject({ code: 'limit_reached' });
    const bomb = gzipSync(Buffer.alloc(2_000_000));
    const packed: RequestListener = (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    await expect(asked(packed, { maxBytes: 200_000 }).then((answer) => answer.text())).rejects.toMatchObject({ code: 'limit_reached' });
    expect((await (await asked(packed)).arrayBuffer()).byteLength).toBe(2_000_000);
  });

  it('T17 an answer that comes a byte at a time, or not at all, ends', async () => {
    await expect(asked(drip, { timeoutMs: 80 }).then((answer) => answer.text())).rejects.toMatchObject({ code: 'limit_reached' });
    await expect(asked(() => undefined, { timeoutMs: 40 })).rejects.toMatchObject({ code: 'limit_reached' });
    await expect(asked(() => undefined, { silenceMs: 40 })).rejects.toMatchObject({
      message: 'fetch failed',
      cause: { code: 'ETIMEDOUT' },
    });
    const half: RequestListener = (_request, response) => void response.writeHead(200).write('half');
    await expect(asked(half, { silenceMs: 500 }).then((answer) => answer.text())).rejects.toMatchObject({ message: 'terminated' });
    const never = guardedFetch({ resolve: () => new Promise(() => undefined), timeoutMs: 20 });
    await expect(never('http://slow.example/')).rejects.toMatchObject({ code: 'limit_reached' });
  });

  it('T17 who asks can stop it, before and while it comes, and is told their own reason', async () => {
    const why = new Error('enough');
    await expect(asked(drip, {}, { signal: AbortSignal.abort(why) })).rejects.toBe(why);
    const stop = new AbortController();
    const answer = await asked(drip, {}, { signal: stop.signal });
    const reading = answer.text();
    stop.abort(why);
    await expect(reading).rejects.toBe(why);
  });

  it('T17 a connection that is refused or breaks is told as fetch tells it', async () => {
    const url = 'http://127.0.0.1:1/';
    await expect(guardedFetch({ allow: [url] })(url)).rejects.toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNREFUSED' } });
    const breaks: RequestListener = (_request, response) => (
      response.writeHead(200).write('x'),
      void setImmediate(() => response.destroy())
    );
    await expect(asked(breaks).then((answer) => answer.text())).rejects.toMatchObject({
      message: 'terminated',
      cause: { code: 'ECONNRESET' },
    });
  });

  it('T17 sends what fetch sends, and gives what fetch gives', async () => {
    const answer = await asked(
      (request, response) => {
        response.writeHead(201, 'Made', [
          ['set-cookie', 'a=1'],
          ['set-cookie', 'b=2'],
          ['x-got', `${request.method} ${request.headers['content-type']}`],
        ] as never);
        request.pipe(response);
      },
      {},
      { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ a: 'ä' }) },
    );
    expect([answer.status, answer.ok, answer.headers.get('x-got'), answer.headers.getSetCookie()]).toEqual([
      201,
      true,
      'PUT application/json',
      ['a=1', 'b=2'],
    ]);
    expect(await answer.json()).toEqual({ a: 'ä' });
    expect(await (await asked((_request, response) => void response.writeHead(204).end())).text()).toBe('');
    expect(await (await asked((request, response) => void response.end(request.method), {}, { method: 'HEAD' })).text()).toBe('');
  });
});
