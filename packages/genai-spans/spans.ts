import { createRequire } from 'node:module';
import type * as OpenTelemetry from '@opentelemetry/api';
import { once } from '@pith/promises';
import { exportable, type ExportedAttributes } from './exportable.ts';
import { type Attributes, type Operation, SPANS } from './names.ts';

/** A unit of work as OpenTelemetry shows it. */
export interface Span {
  /** Spans that `work` causes, such as HTTP requests, become children where the provider supports that. */
  run<T>(work: () => T): T;
  /** `error.type` among the attributes: it did not succeed. `at`: when, in milliseconds; absent: now. */
  end(attributes?: Attributes, at?: number): void;
}

export interface SpanStart {
  readonly operation: Operation;
  readonly correlationId?: string | null;
  readonly attributes: Attributes;
  /** A person wants texts in spans; absent: they are left out. */
  readonly texts?: boolean | undefined;
  /** The parent span; null: none, the span begins a trace; absent: the program's current span. */
  readonly parent?: Span | null;
  /** In place of `parent`: the program's current span where that has the same trace as this one, else this one. */
  readonly caller?: Span | undefined;
  /** When it began, in milliseconds; absent: now. */
  readonly at?: number;
}

/** The span of the work that runs now. */
export interface ActiveSpan {
  /** null: it is not one of these. */
  readonly operation: Operation | null;
  /** Those that are in its name are added to it; texts are left out. */
  set(attributes: Attributes): void;
}

/** Where OpenTelemetry's API stores what a program registered. Checked first, so that nothing is loaded without need. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');
/** Carries a span's start to whoever asks for the active span, also from another copy of this module. */
const STARTED = Symbol.for('pith.span');

const loadApi = once(() => createRequire(import.meta.url)('@opentelemetry/api') as typeof OpenTelemetry);

/** Whether the program has a tracer provider. */
export function isCollected(): boolean {
  return (globalThis as { [REGISTERED]?: { trace?: unknown } })[REGISTERED]?.trace !== undefined;
}

/** Does nothing while no tracer provider is registered. */
export function startSpan(start: SpanStart): Span {
  return isCollected() ? new ApiSpan(loadApi(), start) : NO_SPAN;
}

export const NO_SPAN: Span = { run: (work) => work(), end: () => undefined };

/** Ends the span with the outcome of `work`; `typeOf` says what kind of error it was. */
export async function traced<T>(span: Span, work: () => Promise<T>, typeOf: (error: unknown) => string): Promise<T> {
  try {
    const result = await span.run(work);
    span.end();
    return result;
  } catch (error) {
    span.end({ 'error.type': typeOf(error) });
    throw error;
  }
}

export function activeSpan(): ActiveSpan | null {
  if (!isCollected()) return null;
  const { trace, context } = loadApi();
  const active = context.active();
  const span = trace.getSpan(active);
  if (span === undefined) return null;
  const started = active.getValue(STARTED) as { operation: Operation; attributes: ExportedAttributes } | undefined;
  return {
    operation: started?.operation ?? null,
    set(attributes) {
      const added = exportable(attributes, false);
      span.setAttributes(added);
      if (started !== undefined) span.updateName(nameOf(started.operation, { ...started.attributes, ...added }));
    },
  };
}

function nameOf(operation: Operation, attributes: ExportedAttributes): string {
  const named = SPANS[operation].named.flatMap((name) => attributes[name] ?? []);
  return [operation, ...named].join(' ');
}

class ApiSpan implements Span {
  readonly #api: typeof OpenTelemetry;
  readonly #span: OpenTelemetry.Span;
  readonly #context: OpenTelemetry.Context;
  readonly #texts: boolean;

  constructor(otel: typeof OpenTelemetry, { operation, correlationId, attributes: given, texts = false, parent, caller, at }: SpanStart) {
    const { trace, context, ROOT_CONTEXT, SpanKind } = (this.#api = otel);
    const active = context.active();
    const traceOf = (from: OpenTelemetry.Context) => trace.getSpanContext(from)?.traceId;
    const isCalled = caller instanceof ApiSpan && traceOf(active) !== traceOf(caller.#context);
    const above = isCalled ? caller.#context : active;
    const outer = parent instanceof ApiSpan ? parent.#context : parent === null ? ROOT_CONTEXT : above;
    const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER };
    const all = { ...operationOf(operation), ...given, 'pith.correlation_id': correlationId ?? undefined };
    const attributes = exportable(all, (this.#texts = texts));
    const options = { kind: kinds[SPANS[operation].kind], attributes, ...(at === undefined ? {} : { startTime: at }) };
    this.#span = trace.getTracer('pith').startSpan(nameOf(operation, attributes), options, outer);
    this.#context = trace.setSpan(outer, this.#span).setValue(STARTED, { operation, attributes });
  }

  run<T>(work: () => T): T {
    return this.#api.context.with(this.#context, work);
  }

  end(attributes: Attributes = {}, at?: number): void {
    const added = exportable(attributes, this.#texts);
    this.#span.setAttributes(added);
    const { 'error.type': failure, 'exception.message': message = failure } = added;
    if (failure !== undefined) this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: String(message) });
    this.#span.end(at);
  }
}

/** What messages and agents' work call the operation. */
function operationOf(operation: Operation): Attributes {
  return operation === 'process'
    ? { 'messaging.system': 'pith', 'messaging.operation.name': operation, 'messaging.operation.type': operation }
    : { 'gen_ai.operation.name': operation };
}
