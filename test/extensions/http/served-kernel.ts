import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';
import type { JsonValue } from 'pith';
import type { TestKernel, TestKernelOptions } from 'pith/testing';
import type { TokenInfo } from 'pith/http';
import { kernelOf } from '../../places.ts';
import { until } from '../../waiting.ts';

export interface Asked {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string;
  readonly json?: JsonValue;
  /** Several: sent in chunks, without a length. */
  readonly body?: string | Uint8Array | readonly string[];
  /** The address of this machine that it comes from, such as 127.0.0.2. */
  readonly from?: string;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** undefined: the text is not JSON. */
  readonly json: JsonValue | undefined;
}

/** An answer whose body is read as it comes. */
export interface Opened extends Omit<Answered, 'text' | 'json'> {
  readonly parts: AsyncIterator<string>;
  /** Closes the connection. */
  leave(): void;
}

export interface ServedKernel {
  readonly pith: TestKernel;
  /** Waits until it listens. */
  port(): Promise<number>;
  /** What `service.ready` said last. */
  ready(): string;
  request(path: string, asked?: Asked): Promise<Answered>;
  open(path: string, asked?: Asked): Promise<Opened>;
  /** A new token, made by the command. */
  token(options?: Partial<Pick<TokenInfo, 'userId' | 'role' | 'may'>> & { readonly expires?: string }): Promise<string>;
  log(): Promise<string>;
  /** Stops the kernel, and serves the same sandbox again. */
  restart(): Promise<void>;
}

/** A kernel that listens on a free port of 127.0.0.1. `settings`: those of `extensions.http`. */
export async function servedKernel({
  settings = {},
  files = {},
  ...options
}: TestKernelOptions & { readonly settings?: object } = {}): Promise<ServedKernel> {
  const pith = await kernelOf({
    only: ['http'],
    serve: { port: 0 },
    ...options,
    files: { 'pith.yaml': JSON.stringify({ extensions: { http: settings } }), ...files },
  });
  let text = '';
  const start = async (): Promise<void> => {
    text = '';
    pith.kernel.events.handle('service.ready', (event) => void (event.extensionId === 'http' && (text = event.text)));
    await pith.kernel.start();
  };
  await start();
  const port = async () => Number(/:(\d+)/u.exec(await until(() => text !== '' && text))?.[1]);
  const send = async (path: string, { method = 'GET', headers = {}, token, json, body, from }: Asked): Promise<IncomingMessage> => {
    const at = await port();
    const sent = json === undefined ? body : JSON.stringify(json);
    return new Promise((resolve, reject) => {
      const asked = httpRequest(
        {
          port: at,
          host: '127.0.0.1',
          path,
          method,
          ...(from === undefined ? {} : { localAddress: from }),
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(json === undefined ? {} : { 'content-type': 'application/json' }),
            ...(typeof sent === 'string' ? { 'content-length': Buffer.byteLength(sent) } : {}), // which Node leaves out for DELETE
            ...headers,
          },
          agent: false,
        },
        resolve,
      );
      asked.on('error', reject);
      const isWhole = sent === undefined || typeof sent === 'string' || sent instanceof Uint8Array;
      for (const part of isWhole ? [] : sent) asked.write(part);
      asked.end(isWhole ? sent : undefined);
    });
  };
  return {
    pith,
    port,
    ready: () => text,
    async request(path, asked = {}) {
      const answer = await send(path, asked);
      const parts: string[] = [];
      for await (const part of answer.setEncoding('utf8')) parts.push(String(part));
      const whole = parts.join('');
      return { ...headOf(answer), text: whole, json: jsonOf(whole) };
    },
    async open(path, asked = {}) {
      const answer = await send(path, asked);
      const leave = (): void => void answer.destroy();
      onTestFinished(leave);
      return { ...headOf(answer), parts: answer.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>, leave };
    },
    async token({ userId, role, may, expires } = {}) {
      const named = { user: userId, role, may, expires };
      const words = Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
      const { values } = await pith.command(['tokens', 'new', ...words], { json: true });
      return (values.at(-1) as { readonly token: string }).token;
    },
    log: () => readFile(`${pith.sandbox}/data/logs/pith.log`, 'utf8').catch(() => ''), // nothing was logged yet
    async restart() {
      await pith.restart();
      await start();
    },
  };
}

function headOf({ statusCode = 0, headers }: IncomingMessage) {
  return { status: statusCode, headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])) };
}

function jsonOf(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined; // an answer of another type
  }
}
