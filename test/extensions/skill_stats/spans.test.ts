import { AsyncLocalStorage } from 'node:async_hooks';
import { context, ROOT_CONTEXT, trace, type Attributes, type Context, type ContextManager, type Tracer } from '@opentelemetry/api';
import { afterEach, expect, it } from 'vitest';
import { call, skillKernel, skill } from '../skill_registry/skill-kernel.ts';

afterEach(() => {
  trace.disable();
  context.disable();
});

/** Spans as a program that collects them gets them, with what is active kept over waiting. */
function collect(): { readonly name: string; readonly attributes: Attributes }[] {
  const active = new AsyncLocalStorage<Context>();
  context.setGlobalContextManager({
    active: () => active.getStore() ?? ROOT_CONTEXT,
    with: (value: Context, run: (...values: unknown[]) => unknown, self: unknown, ...values: unknown[]) =>
      active.run(value, () => run.apply(self, values)),
    bind: (_value: Context, target: unknown) => target,
    enable: () => undefined,
    disable: () => undefined,
  } as unknown as ContextManager);
  const all: { name: string; attributes: Attributes }[] = [];
  const tracer = {
    startSpan(name: string, options: { attributes?: Attributes }) {
      const seen = { name, attributes: { ...options.attributes } };
      const spanId = String(all.push(seen)).padStart(16, '0');
      return {
        spanContext: () => ({ traceId: '1'.repeat(32), spanId, traceFlags: 1 }),
        setAttributes: (attributes: Attributes) => void Object.assign(seen.attributes, attributes),
        setStatus: () => undefined,
        end: () => undefined,
      };
    },
  };
  trace.setGlobalTracerProvider({ getTracer: () => tracer as unknown as Tracer });
  return all;
}

it('S90 the span of a tool call names the skill that it loaded, that of the turn the skills that it carries', async () => {
  const spans = collect();
  const world = await skillKernel({
    ...skill('alpha'),
    ...skill('beta'),
    ...skill('gamma', { name: 'Gamma Rays' }),
    'agents/reader/manifest.yaml': 'id: reader\nagent: { uses_tools: [skill_registry], uses_skills: [alpha, beta] }\n',
  });
  await world.chat('go', [call('read_skill', { skill_id: 'gamma' })]);
  await world.pith.stop();
  const of = (name: string) => spans.find((span) => span.name === name)?.attributes;
  expect(of('execute_tool read_skill')).toMatchObject({ 'skill.id': 'gamma', 'skill.name': 'Gamma Rays', 'skill.how': 'read_skill' });
  expect(of('invoke_agent reader')).toMatchObject({
    'skill.id': ['alpha', 'beta'],
    'skill.name': ['alpha', 'beta'],
    'skill.how': ['uses_skills', 'uses_skills'],
  });
});
