import https from 'node:https';
import type { Agent, AgentOptions, ClientRequestArgs, RequestOptions } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Proxy, RequestFailed } from './proxies.ts';

const http = process.getBuiltinModule('node:http');

/** The destination of a request, and its proxy. */
interface Leg {
  readonly url: URL;
  readonly proxy: Proxy;
  /** The address that the proxy connects to; null: the proxy resolves the host's name. */
  readonly address: string | null;
  readonly silenceMs: number;
}

/** Makes the `options` for Node of requests through a proxy. The guard that made this object owns the connections. */
export class ProxiedRequests {
  private readonly agents: Readonly<Record<string, Agent>>;

  constructor(kept: AgentOptions) {
    this.agents = { 'http:': new PlainTunnel(kept), 'https:': new SecureTunnel(kept) };
  }

  /** Through a tunnel the proxy sees only host and port. For an unencrypted address that a person named, the proxy gets the whole URL. */
  options(leg: Leg, signal: AbortSignal): RequestOptions & { readonly headers: Readonly<Record<string, string>> } {
    const { url, proxy, address } = leg;
    const { pathname, search, host, origin, protocol } = url;
    const isTunnel = protocol === 'https:' || address !== null;
    if (!isTunnel) return { ...placeOf(proxy.url), path: `${origin}${pathname}${search}`, headers: { host, ...authorization(proxy.url) } };
    const tunnel: Tunnel = { proxy, target: targetOf(leg), silenceMs: leg.silenceMs, signal };
    return Object.assign({ ...placeOf(url), path: `${pathname}${search}`, headers: {}, agent: this.agents[protocol] }, { tunnel });
  }
}

interface Tunnel {
  readonly proxy: Proxy;
  /** `host:port`. */
  readonly target: string;
  readonly silenceMs: number;
  readonly signal: AbortSignal;
}

type Done = (error: Error | null, stream: Duplex) => void;

class PlainTunnel extends http.Agent {
  override createConnection(options: ClientRequestArgs, done?: Done): null {
    connect(options, (socket) => socket, done);
    return null;
  }
}

class SecureTunnel extends https.Agent {
  override createConnection(options: https.RequestOptions, done?: Done): null {
    connect(options, (socket) => super.createConnection({ ...options, socket } as typeof options)!, done);
    return null;
  }
}

function connect(options: object, finished: (socket: Socket) => Duplex, done: Done = () => undefined): void {
  opened((options as { readonly tunnel: Tunnel }).tunnel).then(
    (socket) => done(null, finished(socket)),
    (error: Error) => done(error, undefined as never),
  );
}

function opened({ proxy, target, silenceMs, signal }: Tunnel): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { request: ask } = proxy.url.protocol === 'https:' ? https : http;
    const headers = { host: target, ...authorization(proxy.url) };
    const request = ask({ ...placeOf(proxy.url), method: 'CONNECT', path: target, headers, agent: false, signal });
    request.setTimeout(silenceMs, () => request.destroy(new Error(`nothing came for ${silenceMs / 1000} s`)));
    request.once('error', (error: NodeJS.ErrnoException) => reject(unreachable(proxy, error)));
    request.once('connect', ({ statusCode = 0, statusMessage = '' }, socket) => {
      if (statusCode >= 200 && statusCode < 300) return resolve(socket as Socket);
      socket.destroy();
      reject(refusal(proxy, target, `${statusCode} ${statusMessage}`.trim()));
    });
    request.end();
  });
}

function unreachable({ host, variable }: Proxy, { code, message }: NodeJS.ErrnoException): RequestFailed {
  if (/^(?:ECONNRESET|EPIPE|HPE_\w+)$/u.test(code ?? '')) {
    const why = `${host}, which ${variable} names as a proxy, closed the connection (${code})`;
    return new RequestFailed('proxy_failed', why, `see whether it is a proxy; correct or unset ${variable}`, true);
  }
  const why = `the proxy ${host}, which ${variable} names, cannot be reached (${code ?? message})`;
  return new RequestFailed('proxy_failed', why, `start it, or correct or unset ${variable}`, true);
}

function refusal({ host, variable }: Proxy, target: string, words: string): RequestFailed {
  const why = `the proxy ${host}, which ${variable} names, does not connect to ${target} (${words})`;
  const cure = words.startsWith('407')
    ? `put a user and a password into it: ${variable}=http://user:password@${host}`
    : 'have the address allowed there, or name its host in NO_PROXY';
  return new RequestFailed('proxy_failed', why, cure, /^(?:429|5)/.test(words));
}

function targetOf({ url, address }: Leg): string {
  const host = address ?? url.hostname;
  return `${isIP(host) === 6 ? `[${host}]` : host}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
}

function placeOf({ hostname, port, protocol }: URL): Pick<RequestOptions, 'host' | 'port' | 'protocol'> {
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port || (protocol === 'https:' ? 443 : 80), protocol };
}

function authorization({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {};
  return { 'proxy-authorization': `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a literal %
  }
}
