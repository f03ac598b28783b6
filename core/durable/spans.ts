import { createRequire } from 'node:module';
import type * as OpenTelemetry from '@opentelemetry/api';
import { messageOf } from '../contract/index.ts';
import { once } from '@pith/promises';

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A unit of work as OpenTelemetry shows it. */
export interface Span {
  /** Spans that `work` causes, such as HTTP requests, become children where the provider supports that. */
  run<T>(work: () => T): T;
  /** `failure`: why it did not succeed. */
  end(attributes?: Attributes, failure?: string): void;
}

export interface SpanStart {
  readonly name: string;
  readonly kind?: 'client' | 'consumer';
  readonly correlationId: string;
  readonly attributes: Attributes;
  /** The parent span; absent: the program's current span. */
  readonly parent?: Span;
}

/** Where OpenTelemetry's API stores what a program registered. Checked first, so that nothing is loaded without need. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

const loadApi = once(() => createRequire(import.meta.url)('@opentelemetry/api') as typeof OpenTelemetry);

/** Does nothing while no tracer provider is registered. */
export function startSpan(start: SpanStart): Span {
  if ((globalThis as { [REGISTERED]?: { trace?: unknown } })[REGISTERED]?.trace === undefined) return NO_SPAN;
  return new ApiSpan(loadApi(), start);
}

export const NO_SPAN: Span = { run: (work) => work(), end: () => undefined };

/** Ends the span with the outcome of `work`. */
export async function within<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    const result = await span.run(work);
    span.end();
    return result;
  } catch (error) {
    span.end({}, messageOf(error));
    throw error;
  }
}

class ApiSpan implements Span {
  readonly #api: typeof OpenTelemetry;
  readonly #span: OpenTelemetry.Span;
  readonly #context: OpenTelemetry.Context;

  constructor(otel: typeof OpenTelemetry, { name, kind, correlationId, attributes, parent }: SpanStart) {
    const { trace, context, SpanKind } = (this.#api = otel);
    const outer = parent instanceof ApiSpan ? parent.#context : context.active();
    const kinds = { client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER };
    this.#span = trace
      .getTracer('pith')
      .startSpan(
        name,
        { kind: kind ? kinds[kind] : SpanKind.INTERNAL, attributes: { ...attributes, 'pith.correlation_id': correlationId } },
        outer,
      );
    this.#context = trace.setSpan(outer, this.#span);
  }

  run<T>(work: () => T): T {
    return this.#api.context.with(this.#context, work);
  }

  end(attributes: Attributes = {}, failure?: string): void {
    this.#span.setAttributes(attributes);
    if (failure !== undefined) this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: failure });
    this.#span.end();
  }
}
