import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';
import type { AddressInfo } from 'node:net';
import { plainAddress, plainRange, isWithin } from '@pith/address-ranges';
import { codeOf, messageOf, PithError, type Clock, type Logger } from 'pith';
import { dropRest } from './body.ts';
import type { Config } from './config.ts';
import type { RouteAnswer } from './contract.ts';
import { INTERNAL } from './failures.ts';
import { limitHeaders } from './header-deadlines.ts';
import type { Requests, RequestOwners } from './requests.ts';
import { SAFE_HEADERS } from './safety.ts';

export interface ListenerOptions {
  readonly config: Config;
  readonly port: number;
  readonly requests: Requests;
  /** The ids of the tokens and sessions that are valid now. */
  readonly valid: () => Promise<ReadonlySet<string>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once it listens. A rejection ends it. */
  readonly listening: (port: number) => Promise<void>;
}

/** For how long a client may read nothing of an answer while more of it waits. */
const STALLED_MS = 120_000;

/** For how long answers that are being made when it stops may still be sent: a request may be what stops it, as a change of its settings is. */
const LAST_ANSWERS_MS = 10_000;

/** How often tokens of open answers are looked at again: another process may have revoked one. */
const LOOK_MS = 5_000;
const NOBODY: RequestOwners = { extensionId: null, route: null, credentialId: null };

/** Accepts requests, and ends them. */
export class Listener {
  readonly #open = new Map<AbortController, RequestOwners>();
  /** Of those the ones whose answer is a stream that is being sent. */
  readonly #streams = new Set<AbortController>();
  #isStopping = false;

  constructor(private readonly options: ListenerOptions) {}

  /** Runs until `signal` aborts; answers that are being made then are sent after that. Rejects `port_taken` where another program listens. */
  async run(signal: AbortSignal): Promise<void> {
    const { config, port, listening, clock } = this.options;
    const { host } = config;
    let cancel: () => void = () => undefined;
    const look = (): void => {
      if (!signal.aborted) cancel = clock.after(LOOK_MS, () => void this.#endInvalid().finally(look));
    };
    look();
    signal.addEventListener('abort', () => cancel(), { once: true });
    const server = createServer(
      {
        headersTimeout: 0, // both are limited here
        requestTimeout: 0,
        keepAlive: true, // so that a peer that vanished is noticed
        keepAliveInitialDelay: 30_000,
      },
      (incoming, outgoing) => void this.#handle(incoming, outgoing),
    );
    holdConnections(server, this.options);
    limitHeaders(server, config.header_seconds * 1000, clock);
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        this.#isStopping = true;
        const cancel = clock.after(LAST_ANSWERS_MS, () => {
          for (const leaving of this.#open.keys()) leaving.abort();
          server.closeAllConnections();
        });
        server.close(() => cancel());
        for (const leaving of this.#streams) leaving.abort();
        server.closeIdleConnections();
        resolve(); // its port is free from here on
      };
      const fail = (error: unknown): void => {
        reject(error);
        stop();
      };
      server.on('error', (error) => fail(cannotListen(host, port, error)));
      server.listen({ host, port }, () => void listening((server.address() as AddressInfo).port).catch(fail));
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  }

  /** Ends the streams that this extension sends: its code has been replaced or stopped. Its other answers end as its calls do. */
  cut(extensionId: string): void {
    for (const leaving of this.#streams) if (this.#open.get(leaving)?.extensionId === extensionId) leaving.abort();
  }

  /** Ends the answers whose tokens were revoked, or have expired, while they are sent. */
  async #endInvalid(): Promise<void> {
    const sent = [...this.#open].filter(([, { credentialId }]) => credentialId !== null);
    if (sent.length === 0) return;
    const valid = await this.options.valid().catch(() => null); // looked at again soon
    for (const [leaving, { credentialId }] of sent) if (valid?.has(credentialId as string) === false) leaving.abort();
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const leaving = new AbortController();
    this.#open.set(leaving, NOBODY);
    outgoing.on('error', () => undefined); // the client left while something was written
    outgoing.once('close', () => {
      this.#open.delete(leaving);
      this.#streams.delete(leaving);
      if (!outgoing.writableFinished) leaving.abort();
    });
    try {
      const answer = await this.options.requests.answer(incoming, leaving.signal, (by) => {
        if (!outgoing.closed) this.#open.set(leaving, by);
      });
      await this.#send(incoming, outgoing, answer, leaving);
    } catch (error) {
      if (!leaving.signal.aborted) this.#report('an answer was not sent', error, leaving);
      if (outgoing.headersSent) outgoing.destroy(); // the client sees that it is cut off
      else await this.#send(incoming, outgoing, INTERNAL, leaving);
    }
    if (!incoming.complete && !incoming.destroyed) dropRest(incoming, this.options.clock);
  }

  #report(what: string, error: unknown, leaving: AbortController): void {
    const { extensionId, route } = this.#open.get(leaving) ?? NOBODY;
    this.options.logger.error(what, { extension: extensionId ?? 'http', route, reason: messageOf(error) });
  }

  /** Throws for an answer that cannot be sent, before anything of it is. Whatever comes of it, its stream ends. */
  async #send(incoming: IncomingMessage, outgoing: ServerResponse, answer: RouteAnswer, leaving: AbortController): Promise<void> {
    const { signal } = leaving;
    const parts = partsOf(answer);
    if (parts !== null) this.#streams.add(leaving);
    if (parts !== null && this.#isStopping) leaving.abort();
    try {
      const { status, headers: checked, body } = checkedAnswer(answer);
      const headers = this.#isStopping ? { ...checked, connection: 'close' } : checked;
      if (signal.aborted) return void outgoing.destroy();
      if (parts === null) {
        const isBare = status === 204 || status === 304;
        outgoing.writeHead(status, isBare ? headers : { ...headers, 'content-length': Buffer.byteLength(body ?? '') });
        const isSent = !isBare && incoming.method !== 'HEAD' && body !== undefined;
        if (isSent && !outgoing.write(body)) await this.#drained(outgoing);
        outgoing.end();
        return;
      }
      outgoing.writeHead(status, headers);
      outgoing.flushHeaders();
      try {
        if (incoming.method !== 'HEAD') await this.#stream(outgoing, parts, signal);
      } catch (error) {
        const end = signal.aborted ? undefined : answer.failed?.(error);
        if (end === undefined) throw error;
        this.#report('a stream failed', error, leaving);
        outgoing.write(end);
      }
      if (signal.aborted) outgoing.destroy();
      else outgoing.end();
    } finally {
      void ended(parts);
    }
  }

  /** Until the last part, or `signal` aborts: then a part that is still being made is not waited for. */
  async #stream(outgoing: ServerResponse, parts: AsyncIterator<Uint8Array>, signal: AbortSignal): Promise<void> {
    let wake: () => void = () => undefined;
    signal.addEventListener('abort', () => wake(), { once: true });
    while (!signal.aborted) {
      const step = await new Promise<IteratorResult<Uint8Array> | null>((resolve, reject) => {
        wake = () => resolve(null);
        parts.next().then(resolve, reject);
      });
      if (step === null || step.done) return;
      if (!outgoing.write(step.value)) await this.#drained(outgoing);
    }
  }

  /** Resolves when the client has read what was written, or its connection is closed, as it is after two minutes. */
  async #drained(outgoing: ServerResponse): Promise<void> {
    const over = new AbortController();
    const cancel = this.options.clock.after(STALLED_MS, () => outgoing.destroy());
    try {
      await Promise.race(['drain', 'close'].map((event) => once(outgoing, event, { signal: over.signal }).catch(() => undefined)));
    } finally {
      cancel();
      over.abort();
    }
  }
}

/** The parts of a stream; null: it is no stream. */
function partsOf({ json, body }: RouteAnswer): AsyncIterator<Uint8Array> | null {
  if (json !== undefined || body === undefined || typeof body === 'string' || body instanceof Uint8Array) return null;
  return body[Symbol.asyncIterator]();
}

async function ended(parts: AsyncIterator<Uint8Array> | null): Promise<void> {
  try {
    await parts?.return?.();
  } catch {
    // what it throws while it ends concerns nobody
  }
}

/** With all its headers, and the body where it is no stream. Throws where they cannot be sent. */
function checkedAnswer({ status, headers: given = {}, json, body }: RouteAnswer) {
  const whole = json !== undefined ? JSON.stringify(json) : typeof body === 'string' || body instanceof Uint8Array ? body : undefined;
  const hasBody = json !== undefined || body !== undefined;
  const type = json === undefined ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8';
  const own = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
  const headers = { 'cache-control': 'no-store', ...(hasBody ? { 'content-type': type } : {}), ...own, ...SAFE_HEADERS };
  if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError(`no status of an answer: ${status}`);
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  return { status, headers, body: whole };
}

function cannotListen(host: string, port: number, error: Error): Error {
  const code = codeOf(error, '');
  if (code === 'EADDRINUSE') return portTaken({ host, port });
  const cure = {
    EACCES: 'choose a port from 1024 on: pith serve --port N',
    EADDRNOTAVAIL: `this machine has no address ${host}; choose another: pith serve --host ADDRESS`,
    ENOTFOUND: `nothing is called ${host}; give an address: pith serve --host ADDRESS`,
  }[code];
  if (cure === undefined) return error;
  return new PithError('not_listening', `cannot listen on ${host}, port ${port}: ${code}`, { cure, cause: error });
}

export function portTaken({ host, port }: Pick<Config, 'host' | 'port'>): PithError {
  return new PithError('port_taken', `port ${port} of ${host} is taken`, {
    cure: 'stop what listens there, or choose another port with --port N',
  });
}

/** Limits connections. Each uses a descriptor, and a process without free ones cannot open a file. Excess ones are closed at once. */
function holdConnections(server: Server, { config, logger }: Pick<ListenerOptions, 'config' | 'logger'>): void {
  const { connections, connections_per_address: perAddress, trusted_proxies: proxies } = config;
  for (const text of proxies)
    if (plainRange(text) === null) logger.warn('extensions.http.trusted_proxies does not name an address or range', { text });
  server.maxConnections = connections;
  let isSaid = false;
  const refuse = (why: string, address: string | undefined): void => {
    if (!isSaid) logger.warn('connections were closed: too many at once', { why, address: address ?? '' });
    isSaid = true; // once, so that a flood of connections does not flood the log
  };
  server.on('drop', (dropped) => refuse(`${connections} in all`, dropped?.remoteAddress));
  const open = new Map<string, number>();
  server.on('connection', (socket) => {
    const address = plainAddress(socket.remoteAddress ?? '') ?? '';
    const count = (open.get(address) ?? 0) + 1;
    if (count > perAddress && !isWithin(address, proxies)) {
      refuse(`${perAddress} of one address`, address);
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
      if (open.size === 0) isSaid = false;
    });
  });
}
