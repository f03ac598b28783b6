import { ROOT_CONTEXT, trace, type Attributes, type Context, type SpanStatus, type Tracer } from '@opentelemetry/api';
import { scriptedModel, testKernel } from 'pith/testing';
import { afterEach, expect, it } from 'vitest';
import { until } from '../../waiting.ts';

interface Seen {
  readonly name: string;
  readonly parent: string | null;
  readonly attributes: Attributes;
  status?: SpanStatus;
  ended: boolean;
}

afterEach(() => trace.disable());

/** Keeps the spans that it is asked for, made with the API alone. */
function collect(): readonly Seen[] {
  const all: Seen[] = [];
  const tracer = {
    startSpan(name: string, options: { attributes?: Attributes }, context: Context = ROOT_CONTEXT) {
      const parent = trace.getSpanContext(context)?.spanId;
      const seen: Seen = { name, parent: all[Number(parent) - 1]?.name ?? null, attributes: { ...options.attributes }, ended: false };
      const spanId = String(all.push(seen)).padStart(16, '0');
      return {
        spanContext: () => ({ traceId: '1'.repeat(32), spanId, traceFlags: 1 }),
        setAttributes: (attributes: Attributes) => void Object.assign(seen.attributes, attributes),
        setStatus: (status: SpanStatus) => void (seen.status = status),
        end: () => void (seen.ended = true),
      };
    },
  };
  trace.setGlobalTracerProvider({ getTracer: () => tracer as unknown as Tracer });
  return all;
}

const FILES = {
  'agents/main/manifest.yaml': 'id: main\nagent: { uses_tools: [mine] }\n',
  'pith.yaml': 'default_agent: main\n',
  'extensions/mine/manifest.yaml': JSON.stringify({
    id: 'mine',
    entrypoint: 'main.ts',
    provides: ['tool'],
    events: { handles: [{ topic: 'user.message', handler: 'hear' }] },
  }),
  'extensions/mine/main.ts': `import { defineTool, toolError, z } from 'pith';
export default class {
  getTools() { return [defineTool({ name: 'act', description: 'd', input: z.object({}), execute: () => toolError('no_luck', 'not today') })]; }
  async hear() {}
}
`,
};

it('K32 turns, model steps, tool calls and deliveries are spans with the correlation id', async () => {
  const spans = collect();
  const usage = { inputTokens: 11, outputTokens: 7 };
  const model = scriptedModel([
    { calls: [{ name: 'act', input: {} }], usage },
    { text: 'done', usage },
  ]);
  await using pith = await testKernel({ only: [], model, files: FILES });
  const ids: string[] = [];
  pith.kernel.events.handle('turn.started', ({ correlationId }) => void ids.push(correlationId));
  await pith.kernel.start();
  await pith.run('go');
  await until(() => expect(spans.filter(({ ended }) => ended)).toHaveLength(5));
  const turn = 'invoke_agent main';
  const [chat = ''] = spans.filter(({ name }) => name.startsWith('chat ')).map(({ name }) => name);
  expect(spans.map(({ name, parent }) => [name, parent])).toEqual(
    expect.arrayContaining([
      [turn, null],
      [chat, turn],
      ['execute_tool act', turn],
      ['process user.message', null],
    ]),
  );
  expect(new Set(spans.map(({ attributes }) => attributes['pith.correlation_id']))).toEqual(new Set(ids));
  const of = (name: string) => spans.find((span) => span.name === name);
  expect(of(chat)?.attributes).toMatchObject({
    'gen_ai.request.model': chat.slice('chat '.length),
    'gen_ai.usage.input_tokens': 11,
    'gen_ai.usage.output_tokens': 7,
  });
  expect(of('execute_tool act')).toMatchObject({
    attributes: { 'gen_ai.tool.name': 'mine/act', 'error.type': 'no_luck' },
    status: { message: 'not today' },
  });
  expect(of(turn)?.attributes).toMatchObject({ 'pith.turn.reason': 'done', 'gen_ai.usage.input_tokens': 22 });
  expect(of('process user.message')?.attributes).toMatchObject({ 'pith.handler': 'mine/hear', 'pith.attempt': 1 });
});
