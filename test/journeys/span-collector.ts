import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SpanKind } from '@opentelemetry/api';
import { onTestFinished } from 'vitest';
import { checkSpan } from '../span-collector.ts';

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly Value[] };
}
interface Pair {
  readonly key: string;
  readonly value: Value;
}
interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Pair[] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}
export interface SentSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly Pair[];
}

/** A collector on loopback, and what it was sent; each span has been held against the table. */
export async function spanCollector() {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    sent.push(JSON.parse(text) as Sent);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  const url = await addressOf(server);
  const resources = () => sent.flatMap(({ resourceSpans }) => resourceSpans);
  return {
    url,
    text: () => JSON.stringify(sent),
    resource: () => mapOf(resources()[0]?.resource.attributes ?? []),
    spans(): readonly SentSpan[] {
      const spans = resources().flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
      for (const { name, kind, attributes } of spans) checkSpan({ name, kind: (kind - 1) as SpanKind, attributes: mapOf(attributes) });
      return spans;
    },
  };
}

/** Listens on loopback until the test ends. */
export async function addressOf(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function plain(value: Value): unknown {
  const { stringValue, intValue, doubleValue, boolValue, arrayValue } = value;
  return stringValue ?? intValue ?? doubleValue ?? boolValue ?? arrayValue?.values.map(plain);
}

function mapOf(pairs: readonly Pair[]) {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, plain(value)])) as never;
}
