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
  /** The parent span; absent: the program's current span. */
  readonly parent?: Span;
  /** In place of `parent`: the program's current span where that has the same trace as this one, or this `traceparent`; else this one. */
  readonly caller?: Span | string | undefined;
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

/** A `traceparent`, of the present version or a later one. */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}-(?<traceId>[\da-f]{32})-(?<spanId>[\da-f]{16})-(?<flags>[\da-f]{2})(?:-.*)?$/u;

const loadApi = once(() => createRequire(import.meta.url)('@opentelemetry/api') as typeof OpenTelemetry);

/** Whether the program has a tracer provider. */
export function isCollected(): boolean {
  return (globalThis as { [REGISTERED]?: { trace?: unknown } })[REGISTERED]?.trace !== undefined;
}

/** Whether the program has something that keeps the current span over waiting. Without it nothing is carried from place to place. */
function isKept(): boolean {
  return (globalThis as { [REGISTERED]?: { context?: unknown } })[REGISTERED]?.context !== undefined;
}

/** The W3C `traceparent` of the program's current span; undefined: there is none. */
export function activeTraceparent(): string | undefined {
  if (!isKept()) return undefined;
  const { trace, context, isSpanContextValid } = loadApi();
  const current = trace.getSpanContext(context.active());
  if (current === undefined || !isSpanContextValid(current)) return undefined;
  const flags = (current.traceFlags & 0xff).toString(16).padStart(2, '0');
  return `00-${current.traceId}-${current.spanId}-${flags}`;
}

/** Runs `work` below the span of a `traceparent`, of whatever process; below none where that is absent or malformed. */
export function underTraceparent<T>(traceparent: string | null | undefined, work: () => T): T {
  if (!isKept()) return work();
  const api = loadApi();
  return api.context.with(contextOf(api, traceparent), work);
}

function contextOf({ trace, ROOT_CONTEXT }: typeof OpenTelemetry, traceparent: string | null | undefined): OpenTelemetry.Context {
  const { traceId, spanId, flags } = TRACEPARENT.exec(traceparent ?? '')?.groups ?? {};
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number.parseInt(flags ?? '', 16), isRemote: true });
}

/** `work`, which keeps the span that is current now wherever it is run. */
export function carried<Work extends (...values: never[]) => unknown>(work: Work): Work {
  if (!isKept()) return work;
  const { context } = loadApi();
  return context.bind(context.active(), work);
}

/** Does nothing while no tracer provider is registered. */
export function startSpan(start: SpanStart): Span {
  return isCollected() ? new ApiSpan(loadApi(), start) : NO_SPAN;
}

export const NO_SPAN: Span = { run: (work) => work(), end: () => undefined };

/** `parts`, each of which is made below the span, whoever asks for it. */
export async function* partsUnder<Part, End>(
  span: Span,
  parts: AsyncGenerator<Part, End, undefined>,
): AsyncGenerator<Part, End, undefined> {
  if (span === NO_SPAN) return yield* parts;
  try {
    for (;;) {
      const next = await span.run(() => parts.next());
      if (next.done) return next.value;
      yield next.value;
    }
  } finally {
    await span.run(() => parts.return(undefined as never)); // nobody asks for more
  }
}

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
    const { trace, context, SpanKind } = (this.#api = otel);
    const active = context.active();
    const traceOf = (from: OpenTelemetry.Context) => trace.getSpanContext(from)?.traceId;
    const called = caller instanceof ApiSpan ? caller.#context : typeof caller === 'string' ? contextOf(otel, caller) : active;
    const above = traceOf(active) === traceOf(called) ? active : called;
    const outer = parent instanceof ApiSpan ? parent.#context : above;
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
