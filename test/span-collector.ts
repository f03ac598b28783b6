import { AsyncLocalStorage } from 'node:async_hooks';
import { ATTRIBUTES, SPANS, type Operation } from '@pith/genai-spans';
import {
  context,
  ROOT_CONTEXT,
  SpanKind,
  trace,
  type Attributes,
  type Context,
  type ContextManager,
  type SpanStatus,
} from '@opentelemetry/api';
import type { SpanOptions, Tracer } from '@opentelemetry/api';
import { expect, onTestFinished } from 'vitest';

export interface SeenSpan {
  name: string;
  readonly kind: SpanKind;
  readonly parent: string | null;
  readonly parentId: string | null;
  readonly traceId: string;
  readonly attributes: Attributes;
  readonly from: number | null;
  status?: SpanStatus;
  ended: boolean;
  to: number | null;
}

/** Registers a tracer provider, made with the API alone, until the test ends; returns the spans that it is asked for. */
export function collectSpans(): readonly SeenSpan[] {
  const active = new AsyncLocalStorage<Context>();
  context.setGlobalContextManager({
    active: () => active.getStore() ?? ROOT_CONTEXT,
    with: (value: Context, run: (...values: unknown[]) => unknown, self: unknown, ...values: unknown[]) =>
      active.run(value, () => run.apply(self, values)),
    bind:
      (value: Context, target: (...values: unknown[]) => unknown) =>
      (...values: unknown[]) =>
        active.run(value, () => target(...values)),
    enable: () => undefined,
    disable: () => undefined,
  } as unknown as ContextManager);
  const all: SeenSpan[] = [];
  const tracer = {
    startSpan(name: string, options: SpanOptions, from: Context = ROOT_CONTEXT) {
      const parent = trace.getSpanContext(from);
      const spanId = String(all.length + 1).padStart(16, '0');
      const seen: SeenSpan = {
        name,
        kind: options.kind ?? SpanKind.INTERNAL,
        parent: all[Number(parent?.spanId) - 1]?.name ?? null,
        parentId: parent?.spanId ?? null,
        traceId: parent?.traceId ?? spanId.padStart(32, 'a'),
        attributes: { ...options.attributes },
        from: (options.startTime as number | undefined) ?? null,
        ended: false,
        to: null,
      };
      all.push(seen);
      return {
        spanContext: () => ({ traceId: seen.traceId, spanId, traceFlags: 1 }),
        setAttributes: (attributes: Attributes) => void Object.assign(seen.attributes, attributes),
        setStatus: (status: SpanStatus) => void (seen.status = status),
        updateName: (next: string) => void (seen.name = next),
        end: (at?: number) => void Object.assign(seen, { ended: true, to: at ?? null }),
      };
    },
  };
  trace.setGlobalTracerProvider({ getTracer: () => tracer as unknown as Tracer });
  onTestFinished(() => {
    trace.disable();
    context.disable();
  });
  return all;
}

/** Checks name, kind and attributes of a span against the table. */
export function checkSpan({ name, kind, attributes }: Pick<SeenSpan, 'name' | 'kind' | 'attributes'>): void {
  const operation = name.split(' ')[0] as Operation;
  expect(Object.keys(SPANS)).toContain(operation);
  const { kind: known, named } = SPANS[operation];
  expect(SpanKind[kind].toLowerCase()).toBe(known);
  expect(name).toBe([operation, ...named.flatMap((each) => attributes[each] ?? [])].join(' '));
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    expect(Object.keys(ATTRIBUTES)).toContain(key);
    const type = ATTRIBUTES[key as keyof typeof ATTRIBUTES];
    const types: Readonly<Record<string, string>> = { id: 'string', code: 'string', 'code[]': 'object', text: 'string' };
    expect([key, typeof value]).toEqual([key, types[type] ?? type]);
    if (type === 'id' || type.startsWith('code')) expect(String(value)).not.toMatch(/\s/u);
  }
}
